use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

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
    pub fn wait(&self) -> bool {
        let mut events = [Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(FAULT),
        }; 2];
        match epoll::wait(&self.epoll, &mut events, None) {
            Ok(count) => events[..count].iter().all(|event| event.data.u64() != STOP),
            // Interrupted.
            Err(_) => true,
        }
    }
}
