use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

use super::raw::{
    self, EVENT_PAGEFAULT, FEATURE_FLAG_WP, FEATURE_MINOR_SHMEM, FEATURE_MISSING_SHMEM,
    FEATURE_WP_SHMEM, IOCTL_REGISTER, IOCTL_UNREGISTER, IOCTL_WRITEPROTECT, MODE_WP,
    ProtectRequest, REGISTER_MINOR, REGISTER_MISSING, REGISTER_WP, RangeRequest, RegisterRequest,
    ioctl,
};

/// Watches pages of shared memory files: a thread that touches one waits until it is released.
#[derive(Debug)]
pub struct FaultWatch {
    descriptor: OwnedFd,
    /// Whether the kernel can watch for writes alone (since 5.19).
    tells_writes: bool,
}

impl FaultWatch {
    /// A watch over no pages yet.
    ///
    /// # Errors
    /// If the kernel has no such thing (before 5.14), or this user may not handle faults of system calls: that takes
    /// `CAP_SYS_PTRACE`, `/dev/userfaultfd` or the setting `vm.unprivileged_userfaultfd`.
    pub fn open() -> io::Result<Self> {
        let touches = FEATURE_MISSING_SHMEM | FEATURE_MINOR_SHMEM;
        let descriptor = raw::descriptor(0)?;
        if raw::agree(&descriptor, touches | FEATURE_FLAG_WP | FEATURE_WP_SHMEM).is_ok() {
            return Ok(Self {
                descriptor,
                tells_writes: true,
            });
        }
        // A descriptor agrees once.
        let descriptor = raw::descriptor(0)?;
        raw::agree(&descriptor, touches)?;
        Ok(Self {
            descriptor,
            tells_writes: false,
        })
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
        self.register(&range, REGISTER_MISSING | REGISTER_MINOR)?;
        // SAFETY: all bytes of the range are in its file, so that only their mapping goes, and a touch brings them again.
        match unsafe { libc::madvise(range.start as *mut _, bytes as usize, libc::MADV_DONTNEED) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn register(&self, range: &Range<u64>, mode: u64) -> io::Result<()> {
        let mut request = RegisterRequest {
            range: request_of(range),
            mode,
            ioctls: 0,
        };
        // SAFETY: the request is the one that IOCTL_REGISTER takes.
        unsafe { ioctl(self.descriptor.as_raw_fd(), IOCTL_REGISTER, &mut request) }
    }

    /// From now on, a thread that writes to a page of `range` waits; all may read. Wakes those that wait.
    ///
    /// # Errors
    /// If the kernel cannot do that (before 5.19), `range` is not within mappings of memory files, or the kernel has no room
    /// for more ranges.
    pub fn watch_writes(&self, range: Range<u64>) -> io::Result<()> {
        if !self.tells_writes {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.register(&range, REGISTER_WP)?;
        let mut request = ProtectRequest {
            range: request_of(&range),
            mode: MODE_WP,
        };
        let descriptor = self.descriptor.as_raw_fd();
        // SAFETY: the request is the one that IOCTL_WRITEPROTECT takes.
        unsafe { ioctl(descriptor, IOCTL_WRITEPROTECT, &mut request)? };
        self.wake(&range)
    }

    fn wake(&self, range: &Range<u64>) -> io::Result<()> {
        raw::wake(&self.descriptor, range)
    }

    /// Lets all threads touch the pages of `range` again, and wakes those that wait.
    ///
    /// # Errors
    /// If nothing is mapped there, or the kernel has no room for more ranges.
    pub fn release(&self, range: Range<u64>) -> io::Result<()> {
        let mut request = request_of(&range);
        // SAFETY: the request is the one that IOCTL_UNREGISTER takes.
        unsafe { ioctl(self.descriptor.as_raw_fd(), IOCTL_UNREGISTER, &mut request)? };
        // The kernel itself wakes only those that wait for missing pages.
        self.wake(&range)
    }

    /// Waits for the next touch of a watched page, and returns its address.
    ///
    /// # Errors
    /// Those of `read(2)`.
    pub fn next_touch(&self) -> io::Result<u64> {
        loop {
            let message = raw::next_message(&self.descriptor)?;
            if let Some(message) = message.filter(|message| message.event == EVENT_PAGEFAULT) {
                return Ok(message.address);
            }
        }
    }
}

fn request_of(range: &Range<u64>) -> RangeRequest {
    RangeRequest {
        start: range.start,
        bytes: range.end.saturating_sub(range.start),
    }
}
