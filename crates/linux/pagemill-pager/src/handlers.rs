use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use pagemill_linux::OsError;

/// The threads that answer faults.
#[derive(Debug, Default)]
pub struct Handlers {
    pub threads: Vec<JoinHandle<()>>,
    /// Readable from when they are to end. A child of `fork` has another: it must not end those of its parent.
    pub stop: Option<Arc<OwnedFd>>,
}

/// A descriptor that has something to read once it is written to.
pub fn event() -> pagemill_linux::Result<OwnedFd> {
    rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)
        .map_err(|error| OsError::new("make an event", error))
}
