//! Ending a loop that waits for messages, from another thread.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Ends a running daemon, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<UnixStream>);

/// What the loop waits for, beside messages: readable once it is to end.
#[derive(Debug)]
pub struct StopSignal(UnixStream);

/// A stopper, and what it makes readable.
///
/// # Errors
/// This process has too many open files.
pub fn stopper() -> io::Result<(Stopper, StopSignal)> {
    let (stopper, signal) = UnixStream::pair()?;
    Ok((Stopper(Arc::new(stopper)), StopSignal(signal)))
}

impl Stopper {
    /// Has the daemon's loop return.
    pub fn stop(&self) {
        // Once is enough, and a closed socket means that it has returned.
        let _ = (&*self.0).write(&[1]);
    }
}

impl AsFd for StopSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
