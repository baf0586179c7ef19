//! Memory of virtual machines from a snapshot: this process plays the virtual machine, which hands over as Firecracker does.

use std::fs::File;
use std::io::{IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr::null_mut;
use std::thread::JoinHandle;

use pagemill_pager::{GuestError, Served, serve_guest};
use pagemill_policy::paging::READ_AHEADS;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

const PAGE: usize = 4096;
const PAGES: usize = 600;

/// `UFFD_FEATURE_EVENT_REMOVE`, and the requests of linux/userfaultfd.h.
const EVENT_REMOVE: u64 = 1 << 3;
const API: libc::c_ulong = 0xc018_aa3f;
const REGISTER: libc::c_ulong = 0xc020_aa00;

/// Guest memory as a virtual machine has it: private, registered, with no page.
struct Machine {
    memory: *mut u8,
    userfault: OwnedFd,
}

impl Machine {
    fn new() -> Option<Self> {
        // SAFETY: new memory and a new descriptor, of which this value is the owner; the requests are those of the header.
        unsafe {
            let userfault =
                libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK);
            if userfault < 0 {
                pagemill_testkit::skip("this user may not answer page faults");
                return None;
            }
            let userfault = OwnedFd::from_raw_fd(userfault as i32);
            let mut api = [0xaa, EVENT_REMOVE, 0];
            assert_eq!(libc::ioctl(userfault.as_raw_fd(), API, &mut api), 0);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let memory = libc::mmap(null_mut(), PAGES * PAGE, access, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            let mut register = [memory as u64, (PAGES * PAGE) as u64, 1, 0];
            assert_eq!(
                libc::ioctl(userfault.as_raw_fd(), REGISTER, &mut register),
                0
            );
            Some(Self {
                memory: memory.cast(),
                userfault,
            })
        }
    }

    fn byte(&self, page: usize) -> u8 {
        assert!(page < PAGES);
        // SAFETY: within the mapping.
        unsafe { self.memory.add(page * PAGE + page % PAGE).read_volatile() }
    }

    fn write(&self, page: usize, byte: u8) {
        assert!(page < PAGES);
        // SAFETY: within the mapping.
        unsafe {
            self.memory
                .add(page * PAGE + page % PAGE)
                .write_volatile(byte)
        }
    }

    /// What a balloon does.
    fn give_up(&self, pages: std::ops::Range<usize>) {
        assert!(pages.end <= PAGES);
        // SAFETY: within the mapping, to which there are no references.
        let given = unsafe {
            let start = self.memory.add(pages.start * PAGE).cast();
            libc::madvise(start, pages.len() * PAGE, libc::MADV_DONTNEED)
        };
        assert_eq!(given, 0);
    }

    /// The list of Firecracker 1.12 for two regions, the second of which is first in the file.
    fn regions(&self) -> String {
        let (base, half) = (self.memory as usize, PAGES / 2 * PAGE);
        let region = |at: usize, offset: usize| {
            format!(
                r#"{{"base_host_virt_addr":{at},"size":{half},"offset":{offset},"page_size":4096,"page_size_kib":4096}}"#
            )
        };
        format!("[{},{}]", region(base, half), region(base + half, 0))
    }

    fn hand_over(&self, connection: &UnixStream, text: &str) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let descriptors = [self.userfault.as_fd()];
        assert!(rights.push(SendAncillaryMessage::ScmRights(&descriptors)));
        // In two pieces, as a stream may have it.
        let (first, rest) = text.as_bytes().split_at(text.len() / 2);
        let sent = sendmsg(
            connection,
            &[IoSlice::new(first)],
            &mut rights,
            SendFlags::empty(),
        );
        assert_eq!(sent, Ok(first.len()));
        let mut connection = connection;
        connection.write_all(rest).expect("sent");
    }
}

// SAFETY: the memory is used by its address alone.
unsafe impl Sync for Machine {}

/// Every byte of page `n` of the file is `n % 251 + 1`.
fn snapshot(pages: usize) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    for page in 0..pages {
        file.write_all(&[(page % 251 + 1) as u8; PAGE])
            .expect("written");
    }
    file
}

/// What the guest's page has, by the regions of [`Machine::regions`].
fn expected(page: usize) -> u8 {
    ((page + PAGES / 2) % PAGES % 251 + 1) as u8
}

fn serve(
    file: File,
    read_ahead: &'static str,
) -> (UnixStream, JoinHandle<Result<Served, GuestError>>) {
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    let serve = move || {
        let read_ahead = READ_AHEADS.find(read_ahead).expect("a policy");
        serve_guest(theirs, &file, read_ahead, |_| {})
    };
    (ours, std::thread::spawn(serve))
}

#[test]
fn every_page_has_the_bytes_of_the_snapshot_or_what_the_guest_made_of_it() {
    for read_ahead in ["streams", "none"] {
        let Some(machine) = Machine::new() else {
            return;
        };
        let (connection, server) = serve(snapshot(PAGES), read_ahead);
        machine.hand_over(&connection, &machine.regions());
        let pages: Vec<usize> = (0..PAGES / 2).map(|index| index * 7 % PAGES).collect();
        std::thread::scope(|scope| {
            for part in pages.chunks(100) {
                let machine = &machine;
                scope.spawn(move || {
                    part.iter()
                        .for_each(|&page| assert_eq!(machine.byte(page), expected(page)))
                });
            }
        });
        machine.write(3, 99);
        machine.give_up(10..40);
        for page in 0..PAGES {
            let expected = match page {
                3 => 99,
                10..40 => 0,
                _ => expected(page),
            };
            assert_eq!(machine.byte(page), expected, "page {page}");
        }
        machine.write(12, 7);
        machine.give_up(12..13);
        assert_eq!((machine.byte(12), machine.byte(13)), (0, 0));
        drop(connection);
        let served = server.join().expect("no panic").expect("served");
        assert_eq!(served.zero_units, 31, "{served:?}");
        assert!(served.read_units >= (PAGES - 30) as u64, "{served:?}");
        let is_ahead = served.faults < served.read_units + served.zero_units;
        assert_eq!(is_ahead, read_ahead == "streams", "{served:?}");
    }
}

#[test]
fn what_is_no_hand_over_is_refused() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let regions = machine.regions();
    let cases = [
        (
            snapshot(PAGES - 1),
            regions.clone(),
            "name the memory file of this snapshot",
        ),
        (
            snapshot(PAGES),
            regions.replace("\"page_size\":4096", "\"page_size\":5000"),
            "neither of 4 KiB nor",
        ),
        (snapshot(PAGES), "[]".to_owned(), "no region"),
        (
            snapshot(PAGES),
            "{\"mappings\":[]}".to_owned(),
            "no hand-over",
        ),
    ];
    for (file, text, why) in cases {
        let (connection, server) = serve(file, "none");
        machine.hand_over(&connection, &text);
        let error = server.join().expect("no panic").expect_err("refused");
        assert!(error.to_string().contains(why), "{error}");
    }
    let (connection, server) = serve(snapshot(PAGES), "none");
    let mut without = &connection;
    without.write_all(regions.as_bytes()).expect("sent");
    drop(connection);
    let error = server.join().expect("no panic").expect_err("refused");
    assert!(
        error.to_string().contains("the connection ended"),
        "{error}"
    );
}
