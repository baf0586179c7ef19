//! Files of huge pages: what is proven about their holders.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pagemill_linux::channel::{Channel, Listener};
use pagemill_linux::hugetlb::{Holders, HugeFile, HugeSize, Reserve, Stock};
use pagemill_linux::{Backing, Mapping, pagemap};
use pagemill_testkit::skip;

const SIZE: HugeSize = HugeSize::Mib2;

/// The stock of huge pages is one number of the machine: tests of this program change it one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Some huge pages for the time of a test.
struct Reserved {
    // Given back before the turn ends.
    _reserve: Reserve,
    _turn: MutexGuard<'static, ()>,
}

fn reserve(pages: usize) -> Option<Reserved> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match Reserve::more(SIZE, pages) {
        Ok(reserve) => Some(Reserved {
            _reserve: reserve,
            _turn: turn,
        }),
        Err(error) => {
            skip(&format!("no huge pages: {error}"));
            None
        }
    }
}

#[test]
fn a_file_is_ours_alone_until_lent_and_again_after_the_last_descriptor_and_mapping() {
    let Some(_reserve) = reserve(2) else { return };
    let file = HugeFile::create(SIZE, 2).expect("a file");
    file.populate().expect("two pages");
    assert_eq!(file.holders(), Holders::OnlyUs);
    let lent = file.lend(0, 0).expect("a descriptor");
    assert_eq!(file.holders(), Holders::Others);
    let copy = lent.try_clone().expect("a duplicate");
    drop(lent);
    assert_eq!(file.holders(), Holders::Others, "a duplicate is left");
    let mapping = Mapping::new(Backing::File(copy.as_fd()), file.bytes(), true).expect("mapped");
    drop(copy);
    file.revoke().expect("ours");
    assert_eq!(file.holders(), Holders::Others, "a mapping is left");
    drop(mapping);
    assert_eq!(file.holders(), Holders::OnlyUs);
    let ours = file.map(false).expect("mapped");
    assert_eq!(file.holders(), Holders::OnlyUs, "our own mapping is ours");
    drop(ours);
}

#[test]
fn a_descriptor_on_its_way_counts_as_held() {
    let Some(_reserve) = reserve(1) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = Listener::bind(&path, 0o600).expect("a listener");
    let sender = Channel::connect(&path).expect("connected");
    let receiver = listener.accept().expect("accepted");
    let file = HugeFile::create(SIZE, 1).expect("a file");
    let lent = file.lend(0, 0).expect("a descriptor");
    sender.send(b"x", &[lent.as_fd()]).expect("sent");
    drop(lent);
    assert_eq!(file.holders(), Holders::Others, "it has not been received");
    let received = receiver.receive(&mut [0; 8], true).expect("received");
    assert_eq!(received.descriptors.len(), 1);
    drop(received);
    assert_eq!(file.holders(), Holders::OnlyUs);
}

#[test]
fn another_opening_by_path_counts_as_held_even_to_read() {
    let Some(_reserve) = reserve(1) else { return };
    let file = HugeFile::create(SIZE, 1).expect("a file");
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let reader = std::fs::File::open(path).expect("root or owner may");
    assert_eq!(file.holders(), Holders::Others);
    drop(reader);
    assert_eq!(file.holders(), Holders::OnlyUs);
}

#[test]
fn a_lent_file_keeps_its_length_against_cutting_and_tells_of_growth() {
    let Some(_reserve) = reserve(2) else { return };
    let file = HugeFile::create(SIZE, 1).expect("a file");
    file.populate().expect("a page");
    let lent = file.lend(0, 0).expect("a descriptor");
    assert!(rustix::fs::ftruncate(&lent, 0).is_err());
    assert!(rustix::fs::ftruncate(&lent, 4 << 20).is_err());
    assert!(file.has_its_length().expect("known"));
    drop(Mapping::new(Backing::File(lent.as_fd()), 4 << 20, false));
    // Kernels differ in whether mapping past the end makes the file longer. Either is noticed.
    let bytes = rustix::fs::fstat(&lent).expect("known").st_size;
    assert_eq!(
        file.has_its_length().expect("known"),
        bytes as usize == SIZE.bytes()
    );
}

#[test]
fn files_are_mapped_one_behind_the_other_and_aligned() {
    let Some(_reserve) = reserve(3) else { return };
    let files = [1, 2].map(|pages| HugeFile::create(SIZE, pages).expect("a file"));
    for file in &files {
        file.populate().expect("pages");
    }
    let parts = files.each_ref().map(|file| (file.as_fd(), file.bytes()));
    let mut mapping = Mapping::of_files(&parts, SIZE.bytes(), true).expect("mapped");
    assert_eq!(mapping.address() % SIZE.bytes(), 0);
    assert_eq!(mapping.len(), 3 * SIZE.bytes());
    assert!(mapping.bytes().iter().all(|&byte| byte == 0));
    mapping.bytes_mut()[SIZE.bytes()] = 7;
    let second = files[1].map(false).expect("mapped");
    assert_eq!(second.bytes()[0], 7);
    assert!(
        pagemap::entry(mapping.address())
            .expect("readable")
            .is_present
    );
}

#[test]
fn a_reserve_gives_back_what_it_added() {
    let Some(reserve) = reserve(2) else { return };
    assert!(Stock::read(SIZE).expect("a stock").available_pages() >= 2);
    drop(reserve);
}

#[test]
fn too_many_pages_is_an_error_that_says_so() {
    if Stock::read(SIZE).is_err() {
        skip("this kernel has no huge pages");
        return;
    }
    // It takes every page there is before it fails.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let file = HugeFile::create(SIZE, 1 << 20).expect("a file takes no pages");
    let error = file.populate().expect_err("2 TiB");
    assert!(error.is_out_of_pages(), "{error}");
    assert!(error.to_string().contains("HugePages_Free"), "{error}");
}
