use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::Userfault;
use crate::{OsError, Result};

const FAULT: u64 = 0;
const STOP: u64 = 1;

/// Lets one thread wait for faults. Of several that wait, each with a waiter of its own, a fault wakes one.
#[derive(Debug)]
pub struct FaultWaiter {
    epoll: OwnedFd,
}

impl FaultWaiter {
    /// Waits for faults of `userfault`, until `stop` has something to read.
    ///
    /// # Errors
    /// The process has too many descriptors.
    pub fn new(userfault: &Userfault, stop: BorrowedFd<'_>) -> Result<Self> {
        let failed = |error: rustix::io::Errno| OsError::new("wait for page faults", error);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        let one_of_all = EventFlags::IN | EventFlags::EXCLUSIVE;
        epoll::add(&epoll, userfault, EventData::new_u64(FAULT), one_of_all).map_err(failed)?;
        epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN).map_err(failed)?;
        Ok(Self { epoll })
    }

    /// Returns when there may be a fault; `false` when it is time to stop.
    ///
    /// # Errors
    /// The descriptor is gone: the program has closed it.
    pub fn wait(&self) -> io::Result<bool> {
        let mut events = [Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(FAULT),
        }; 2];
        match epoll::wait(&self.epoll, &mut events, None) {
            Ok(count) => Ok(events[..count].iter().all(|event| event.data.u64() != STOP)),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// Holds `userfault` until `stop` has something to read. Where a program closes its last descriptor, the kernel answers faults with
/// zeros; the calling thread has one in a table of its own, which no other thread can close. `ready` runs once that table has nothing
/// of the program's. It returns earlier once `end`, if there is one, has something to read, and then says so.
pub fn hold_open(
    userfault: &Userfault,
    stop: BorrowedFd<'_>,
    end: Option<BorrowedFd<'_>>,
    ready: impl FnOnce(),
) -> bool {
    // SAFETY: this thread gets a copy of the table; those of other threads stay as they are.
    let has_own = unsafe { libc::unshare(libc::CLONE_FILES) } == 0;
    if has_own {
        let kept = [Some(userfault.as_fd()), Some(stop), end];
        close_others(
            kept.into_iter()
                .flatten()
                .map(|kept| kept.as_raw_fd() as u32),
        );
    }
    ready();
    let mut polled: Vec<_> = std::iter::once(stop)
        .chain(end)
        .map(|polled| PollFd::from_borrowed_fd(polled, PollFlags::IN))
        .collect();
    while poll(&mut polled, None) == Err(Errno::INTR) {}
    let is_readable = |polled: &PollFd<'_>| polled.revents().contains(PollFlags::IN);
    !is_readable(&polled[0]) && polled.get(1).is_some_and(is_readable)
}

/// Closes all but these descriptors of this thread's own table.
fn close_others(kept: impl Iterator<Item = u32>) {
    let mut kept: Vec<u32> = kept.collect();
    kept.sort_unstable();
    let mut first = 0;
    for end in kept.into_iter().chain([u32::MAX]) {
        if first < end {
            // SAFETY: the table is this thread's own; it uses those that are kept. By number: the C library has it from 2.34 on.
            unsafe { libc::syscall(libc::SYS_close_range, first, end - 1, 0) };
        }
        first = end.saturating_add(1);
    }
}
