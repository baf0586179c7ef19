//! Memory of a virtual machine that starts from a snapshot: its pages come from the snapshot's file when they are touched.
//!
//! The hand-over is Firecracker's: over a Unix socket, the list of memory regions as JSON, and with it the userfault descriptor. The virtual
//! machine's process registers its memory itself. Pages leave only where it gives them up (a balloon): a page
//! of its private memory cannot be taken from outside without the risk that a write is lost, so that there is no budget.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use pagemill_linux::OsError;
use pagemill_linux::channel::{Channel, wait_readable};
use pagemill_linux::userfault::{Guest, GuestEvent};
use pagemill_policy::paging::{ReadAhead, ReadAheadEntry};
use serde::Deserialize;

use crate::UNIT_BYTES;

/// Bytes of a hand-over: regions of a machine with hundreds of them.
const HAND_OVER_BYTES: usize = 64 << 10;

/// How long a process may take for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a file that cannot be read is left alone.
const PAUSE: Duration = Duration::from_millis(100);

/// Pages of the kernel's stock of huge ones.
const HUGE_BYTES: u64 = 2 << 20;

/// Why a guest is not served.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// Linux refused something.
    #[error(transparent)]
    Os(#[from] OsError),
    /// No hand-over as Firecracker's.
    #[error("what came is no hand-over of a guest's memory: {0}")]
    HandOver(String),
    /// Regions and snapshot do not belong together.
    #[error("{0}")]
    Region(String),
}

/// A region of guest memory, as it is handed over.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Region {
    /// Where it is in the process of the virtual machine.
    base_host_virt_addr: u64,
    /// Its bytes.
    size: u64,
    /// Where they are in the file.
    offset: u64,
    /// Bytes of its pages.
    #[serde(default = "usual_page_bytes")]
    page_size: u64,
}

const fn usual_page_bytes() -> u64 {
    UNIT_BYTES as u64
}

impl Region {
    fn end(&self) -> u64 {
        self.base_host_virt_addr + self.size
    }

    /// Says what is wrong with it, for a file of so many bytes.
    fn check(&self, file_bytes: u64) -> Result<(), String> {
        let page = self.page_size;
        if page != UNIT_BYTES as u64 && page != HUGE_BYTES {
            return Err(format!(
                "pages of {page} bytes are neither of 4 KiB nor of 2 MiB"
            ));
        }
        let numbers = [self.base_host_virt_addr, self.size, self.offset];
        if self.size == 0 || numbers.iter().any(|number| number % page != 0) {
            return Err(format!(
                "its address, size and offset are not whole pages of {page} bytes"
            ));
        }
        let is_short = |end: Option<u64>| end.is_none_or(|end| end > file_bytes);
        if is_short(self.offset.checked_add(self.size))
            || self.base_host_virt_addr.checked_add(self.size).is_none()
        {
            return Err(format!(
                "its {} bytes from {} on are not in the snapshot, which has {file_bytes}: name the memory file of this snapshot",
                self.size, self.offset
            ));
        }
        Ok(())
    }
}

/// What a guest was served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Touches of pages that were not there.
    pub faults: u64,
    /// Units of 4 KiB that were read from the file.
    pub read_units: u64,
    /// Units of zeros, where the guest had given memory up.
    pub zero_units: u64,
}

/// A guest, and the file that its memory comes from.
struct Restore<'a> {
    guest: Guest,
    regions: Vec<Region>,
    /// By region, whether each page was given up.
    removed: Vec<Vec<bool>>,
    file: &'a File,
    read_ahead: Box<dyn ReadAhead>,
    buffer: Vec<u8>,
    served: Served,
}

/// Serves the guest that is handed over on `connection` from the snapshot's memory `file`, until the connection ends with the virtual
/// machine. `begun` gets the bytes of its memory once it is taken over. A file that cannot be read is tried again: the guest waits, and
/// sees no wrong byte.
///
/// # Errors
/// There is no hand-over, or it and the file do not belong together.
pub fn serve_guest(
    connection: UnixStream,
    file: &File,
    read_ahead: &ReadAheadEntry,
    begun: impl FnOnce(u64),
) -> Result<Served, GuestError> {
    let channel = Channel::from(connection);
    let (guest, regions) = take_over(&channel)?;
    let failed = |error| OsError::new("look at the snapshot", error);
    let file_bytes = file.metadata().map_err(failed)?.len();
    for (index, region) in regions.iter().enumerate() {
        let wrong = region.check(file_bytes).err();
        if let Some(wrong) = wrong {
            return Err(GuestError::Region(format!("region {index}: {wrong}")));
        }
    }
    begun(regions.iter().map(|region| region.size).sum());
    let pages = |region: &Region| vec![false; (region.size / region.page_size) as usize];
    let mut restore = Restore {
        guest,
        removed: regions.iter().map(pages).collect(),
        regions,
        file,
        read_ahead: (read_ahead.build)(),
        buffer: Vec::new(),
        served: Served::default(),
    };
    restore.run(&channel)?;
    Ok(restore.served)
}

/// The descriptor and the regions, which may come in several pieces.
fn take_over(channel: &Channel) -> Result<(Guest, Vec<Region>), GuestError> {
    let wrong = |text: &str| GuestError::HandOver(text.to_owned());
    let mut text = Vec::new();
    let mut descriptor = None;
    loop {
        if !wait_readable(&[channel.as_fd()], Some(PATIENCE))?[0] {
            return Err(wrong("nothing came within 10 s"));
        }
        let mut buffer = vec![0; HAND_OVER_BYTES];
        let received = channel.receive(&mut buffer, true)?;
        text.extend_from_slice(&buffer[..received.bytes]);
        for one in received.descriptors {
            if descriptor.replace(one).is_some() {
                return Err(wrong("more than one descriptor"));
            }
        }
        let parsed: Result<Vec<Region>, _> = serde_json::from_slice(&text);
        match (parsed, &descriptor) {
            (Ok(regions), _) if regions.is_empty() => return Err(wrong("no region")),
            (Ok(regions), Some(_)) => {
                let taken = descriptor.take().map(Guest::new);
                return taken.map_or_else(
                    || Err(wrong("no descriptor")),
                    |guest| Ok((guest?, regions)),
                );
            }
            (Err(error), _) if !error.is_eof() => return Err(wrong(&error.to_string())),
            _ if received.bytes == 0 => return Err(wrong("the connection ended")),
            _ if text.len() > HAND_OVER_BYTES => return Err(wrong("more than 64 KiB")),
            _ => {}
        }
    }
}

impl Restore<'_> {
    fn run(&mut self, channel: &Channel) -> Result<(), GuestError> {
        let mut touched = VecDeque::new();
        loop {
            // What waits for events to be read is tried again soon, whether or not there are any.
            let limit = (!touched.is_empty()).then_some(Duration::from_millis(1));
            let ready = wait_readable(&[self.guest.as_fd(), channel.as_fd()], limit)?;
            let failed = |error| OsError::new("read page faults of a guest", error);
            while let Some(event) = self.guest.next().map_err(failed)? {
                match event {
                    GuestEvent::Touched(address) => touched.push_back(address),
                    GuestEvent::Removed(range) => self.remove(&range),
                    GuestEvent::Other => {}
                }
            }
            for _ in 0..touched.len() {
                let Some(address) = touched.pop_front() else {
                    break;
                };
                if !self.serve(address) {
                    touched.push_back(address);
                }
            }
            // Nothing more is sent: it is the end.
            if ready[1]
                && channel
                    .receive(&mut [0; 64], true)
                    .map_or(true, |got| got.bytes == 0)
            {
                return Ok(());
            }
        }
    }

    fn remove(&mut self, gone: &Range<u64>) {
        for (region, removed) in self.regions.iter().zip(&mut self.removed) {
            let start = gone.start.max(region.base_host_virt_addr);
            let end = gone.end.min(region.end());
            for address in (start..end).step_by(region.page_size as usize) {
                let page = (address - region.base_host_virt_addr) / region.page_size;
                removed[page as usize] = true;
            }
        }
    }

    /// Brings the page at `address`, and what is read ahead; `false`: events have to be read first.
    fn serve(&mut self, address: u64) -> bool {
        let around =
            |region: &Region| (region.base_host_virt_addr..region.end()).contains(&address);
        let Some(index) = self.regions.iter().position(around) else {
            // No memory of the hand-over: another handler has registered it.
            return true;
        };
        let region = self.regions[index].clone();
        let page_units = region.page_size / UNIT_BYTES as u64;
        let page = (address - region.base_host_virt_addr) / region.page_size;
        let base_unit = region.offset / UNIT_BYTES as u64;
        let wanted = self.read_ahead.faulted(base_unit + page * page_units);
        let removed = &self.removed[index];
        // Pages around the touched one, as far as all of them are in the file, or it alone.
        let page_of = |unit: u64| unit.saturating_sub(base_unit) / page_units;
        let end = (page_of(wanted.end - 1) + 1).min(removed.len() as u64);
        let is_kept = |page: &u64| !removed[*page as usize];
        let first = (page_of(wanted.start)..page)
            .rev()
            .take_while(is_kept)
            .last();
        let last = (page + 1..end).take_while(is_kept).last();
        let is_zero = removed[page as usize];
        let run = match is_zero {
            true => page..page + 1,
            false => first.unwrap_or(page)..last.unwrap_or(page) + 1,
        };
        let bytes = (run.end - run.start) * region.page_size;
        self.buffer.clear();
        self.buffer.resize(bytes as usize, 0);
        if !is_zero {
            self.read(region.offset + run.start * region.page_size);
        }
        let is_placed = self.place(
            &region,
            region.base_host_virt_addr + run.start * region.page_size,
        );
        if is_placed {
            let units = bytes / UNIT_BYTES as u64;
            self.served.faults += 1;
            self.served.read_units += if is_zero { 0 } else { units };
            self.served.zero_units += if is_zero { units } else { 0 };
        }
        is_placed
    }

    /// Fills the buffer with the file's bytes from `offset` on.
    fn read(&mut self, offset: u64) {
        let mut was_said = false;
        while let Err(error) = self.file.read_exact_at(&mut self.buffer, offset) {
            if !was_said {
                eprintln!(
                    "pagemill pager: cannot read the snapshot at {offset}: {error}; the guest waits"
                );
                was_said = true;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Makes the buffer's bytes pages from `to` on, but for those that are there; `false`: events have to be read first.
    fn place(&self, region: &Region, to: u64) -> bool {
        let mut done = 0;
        while done < self.buffer.len() as u64 {
            let (placed, stopped) = self.guest.place(to + done, &self.buffer[done as usize..]);
            done += placed;
            match stopped {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.guest.wake(to + done..to + done + region.page_size);
                    done += region.page_size;
                }
                // Unmapped, or its process has ended.
                Err(_) => return true,
                Ok(()) => {}
            }
        }
        true
    }
}
