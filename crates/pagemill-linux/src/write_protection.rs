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
mod tests {
    use super::*;
    use crate::{Backing, Mapping, memory_file};
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;

    /// A writer in a tight loop neither goes on nor loses a write.
    #[test]
    fn a_writer_waits_and_then_goes_on() {
        let bytes = 1 << 16;
        let file = memory_file("hold", bytes).expect("a file");
        let mapping = Mapping::new(Backing::File(file.as_fd()), bytes as usize, true);
        let mapping = mapping.expect("mapped");
        // SAFETY: aligned, mapped as long as `mapping` is, and used atomically only.
        let word = unsafe { &*(mapping.address() as *const AtomicU64) };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = 0;
                while !is_over.load(Ordering::Relaxed) {
                    written += 1;
                    word.store(written, Ordering::Relaxed);
                    assert_eq!(word.load(Ordering::Relaxed), written);
                }
            });
            for _ in 0..20 {
                let start = mapping.address() as u64;
                let Ok(hold) = WriteProtection::new(start..start + bytes) else {
                    is_over.store(true, Ordering::Relaxed);
                    return;
                };
                let held = word.load(Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
                assert_eq!(word.load(Ordering::Relaxed), held);
                drop(hold);
                while word.load(Ordering::Relaxed) == held {
                    assert!(!writer.is_finished());
                    std::thread::yield_now();
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
