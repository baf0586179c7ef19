//! Writes that wait while memory is copied and replaced.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::userfault::raw::{
    self, API, ApiRequest, IOCTL_API, IOCTL_REGISTER, RangeRequest, RegisterRequest, ioctl,
};

/// Has threads that write to a range wait in the kernel, until it is dropped. Reads go on.
///
/// Once the range is replaced by another mapping, who waited writes there. Where this user may handle the faults of programs only, not
/// those of system calls, a system call that writes to the range meanwhile fails with `EFAULT`.
///
/// See `Documentation/admin-guide/mm/userfaultfd.rst` of the kernel, *Write Protect Notifications*.
#[derive(Debug)]
pub struct WriteProtection {
    _descriptor: OwnedFd,
}

const FLAG_WRITE: u64 = 1 << 0;
const WRITES_TO_FILES: u64 = 1 << 12;
const MODE_WRITES: u64 = 2;
const USER_MODE_ONLY: libc::c_int = 1;
const IOCTL_WRITE_PROTECT: libc::c_ulong = 0xc018_aa06;

#[repr(C)]
struct ProtectRequest {
    range: RangeRequest,
    mode: u64,
}

impl WriteProtection {
    /// Holds writes to `range`, whole pages of one or more mappings: huge pages, or a memory file.
    ///
    /// # Errors
    /// The kernel cannot (before 5.19), or this user may not.
    pub fn new(range: Range<u64>) -> io::Result<Self> {
        let descriptor = raw::descriptor(0).or_else(|_| user_mode_descriptor())?;
        let number = descriptor.as_raw_fd();
        let mut request = ApiRequest {
            api: API,
            features: FLAG_WRITE | WRITES_TO_FILES,
            ioctls: 0,
        };
        // SAFETY: the request is the one that IOCTL_API takes.
        unsafe { ioctl(number, IOCTL_API, &mut request)? };
        let mut register = RegisterRequest {
            range: request_of(&range),
            mode: MODE_WRITES,
            ioctls: 0,
        };
        // SAFETY: the request is the one that IOCTL_REGISTER takes.
        unsafe { ioctl(number, IOCTL_REGISTER, &mut register)? };
        let mut protect = ProtectRequest {
            range: request_of(&range),
            mode: 1,
        };
        // SAFETY: the request is the one that IOCTL_WRITE_PROTECT takes. Dropping the descriptor on failure wakes who waits.
        unsafe { ioctl(number, IOCTL_WRITE_PROTECT, &mut protect)? };
        Ok(Self {
            _descriptor: descriptor,
        })
    }
}

fn request_of(range: &Range<u64>) -> RangeRequest {
    RangeRequest {
        start: range.start,
        bytes: range.end - range.start,
    }
}

/// What any user may have: faults of system calls are not handled.
fn user_mode_descriptor() -> io::Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | USER_MODE_ONLY;
    // SAFETY: the system call takes flags and returns a new descriptor.
    let found = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    if found < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(found as RawFd) })
}

#[cfg(test)]
mod tests;
