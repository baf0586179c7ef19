//! Page faults of another process, whose userfault descriptor came over a socket.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::raw::{self, EVENT_PAGEFAULT, EVENT_REMOVE, TransferRequest, ioctl};
use crate::{OsError, Result};

/// Answers the faults of another process's memory, a virtual machine's guest.
#[derive(Debug)]
pub struct Guest {
    descriptor: OwnedFd,
}

/// What happened to a guest's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// A touch of a page that is not there, at this address.
    Touched(u64),
    /// The process gave these addresses up: they are zeros from now on.
    Removed(Range<u64>),
    /// Something that changes no bytes.
    Other,
}

impl Guest {
    /// The guest of a descriptor that another process has set up: its memory is registered, for missing pages.
    ///
    /// # Errors
    /// It is no userfault descriptor.
    pub fn new(descriptor: OwnedFd) -> Result<Self> {
        let failed = |error| OsError::new("take over page faults", error);
        let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
        let kind = std::fs::read_link(link).map_err(failed)?;
        if kind.as_os_str() != "anon_inode:[userfaultfd]" {
            let text = format!("the descriptor is of {}", kind.display());
            return Err(failed(io::Error::other(text)));
        }
        rustix::io::ioctl_fionbio(&descriptor, true).map_err(|error| failed(error.into()))?;
        Ok(Self { descriptor })
    }

    /// The next event, if there is one.
    ///
    /// # Errors
    /// Those of `read(2)`.
    pub fn next(&self) -> io::Result<Option<GuestEvent>> {
        let Some(message) = raw::next_message(&self.descriptor)? else {
            return Ok(None);
        };
        Ok(Some(match message.event {
            EVENT_PAGEFAULT => GuestEvent::Touched(message.address),
            // The start is where a fault has its flags, the end where it has its address.
            EVENT_REMOVE => GuestEvent::Removed(message.flags..message.address),
            _ => GuestEvent::Other,
        }))
    }

    /// Makes pages of `bytes` from address `to` on, as far as there are none; returns how many bytes that is.
    ///
    /// # Errors
    /// There is a page at the end of these (`AlreadyExists`); the process changes its mappings, and its events are to be read first
    /// (`WouldBlock`); or the memory or the process is gone.
    pub fn place(&self, to: u64, bytes: &[u8]) -> (u64, io::Result<()>) {
        let mut transfer = TransferRequest {
            to,
            from: bytes.as_ptr().expose_provenance() as u64,
            bytes: bytes.len() as u64,
            mode: 0,
            done: 0,
        };
        // SAFETY: the request is the one that IOCTL_COPY takes; the bytes are borrowed, and the kernel checks the other process's address.
        let result = unsafe { ioctl(self.descriptor.as_raw_fd(), raw::IOCTL_COPY, &mut transfer) };
        (u64::try_from(transfer.done).unwrap_or(0), result)
    }

    /// Lets those try again who wait for a touch of `range`.
    pub fn wake(&self, range: Range<u64>) {
        // It fails only for ranges that are none.
        let _ = raw::wake(&self.descriptor, &range);
    }
}

impl AsFd for Guest {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
