use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

use super::raw::{
    self, EVENT_PAGEFAULT, FEATURE_MINOR_SHMEM, FEATURE_MISSING_SHMEM, IOCTL_REGISTER,
    IOCTL_UNREGISTER, Message, REGISTER_MINOR, REGISTER_MISSING, RangeRequest, RegisterRequest,
    ioctl,
};

/// Watches pages of shared memory files: a thread that touches one waits until it is released.
#[derive(Debug)]
pub struct FaultWatch {
    descriptor: OwnedFd,
}

impl FaultWatch {
    /// A watch over no pages yet.
    ///
    /// # Errors
    /// If the kernel has no such thing (before 5.14), or this user may not handle faults of system calls: that takes
    /// `CAP_SYS_PTRACE`, `/dev/userfaultfd` or the setting `vm.unprivileged_userfaultfd`.
    pub fn open() -> io::Result<Self> {
        let descriptor = raw::descriptor(0)?;
        raw::agree(&descriptor, FEATURE_MISSING_SHMEM | FEATURE_MINOR_SHMEM)?;
        Ok(Self { descriptor })
    }

    /// From now on, a thread that touches a page of `range` waits. Its bytes stay in the file that it is a mapping of.
    ///
    /// # Errors
    /// If it is no such mapping, or the kernel has no room for more ranges.
    ///
    /// # Safety
    /// `range` is of whole pages, within shared mappings of memory files: other memory loses its bytes.
    pub unsafe fn watch(&self, range: Range<u64>) -> io::Result<()> {
        let bytes = range.end.saturating_sub(range.start);
        let mut request = RegisterRequest {
            range: RangeRequest {
                start: range.start,
                bytes,
            },
            mode: REGISTER_MISSING | REGISTER_MINOR,
            ioctls: 0,
        };
        // SAFETY: the request is the one that IOCTL_REGISTER takes.
        unsafe { ioctl(self.descriptor.as_raw_fd(), IOCTL_REGISTER, &mut request)? };
        // SAFETY: by the contract of this function, the bytes are in the file; only their mapping goes.
        match unsafe { libc::madvise(range.start as *mut _, bytes as usize, libc::MADV_DONTNEED) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Lets all threads touch the pages of `range` again, and wakes those that wait.
    ///
    /// # Errors
    /// If nothing is mapped there, or the kernel has no room for more ranges.
    pub fn release(&self, range: Range<u64>) -> io::Result<()> {
        let mut request = RangeRequest {
            start: range.start,
            bytes: range.end.saturating_sub(range.start),
        };
        // SAFETY: the request is the one that IOCTL_UNREGISTER takes.
        unsafe { ioctl(self.descriptor.as_raw_fd(), IOCTL_UNREGISTER, &mut request) }
    }

    /// Waits for the next touch of a watched page, and returns its address.
    ///
    /// # Errors
    /// Those of `read(2)`.
    pub fn next_touch(&self) -> io::Result<u64> {
        loop {
            let mut message = Message::default();
            // SAFETY: there is room for one message, which is numbers only.
            let read = unsafe {
                libc::read(
                    self.descriptor.as_raw_fd(),
                    std::ptr::from_mut(&mut message).cast(),
                    size_of::<Message>(),
                )
            };
            match usize::try_from(read) {
                Ok(bytes) if bytes == size_of::<Message>() && message.event == EVENT_PAGEFAULT => {
                    return Ok(message.address);
                }
                Ok(_) => {}
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }
}
