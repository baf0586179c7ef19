//! Page faults that a thread of this process answers, those of system calls included.

use std::fs::OpenOptions;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Watches pages of shared memory files: whoever touches one waits until it is released.
///
/// See `Documentation/admin-guide/mm/userfaultfd.rst` of the kernel.
#[derive(Debug)]
pub struct FaultWatch {
    descriptor: OwnedFd,
}

// The structures and numbers of linux/userfaultfd.h.
pub(crate) const API: u64 = 0xaa;
const MISSING_SHMEM: u64 = 1 << 5;
const MINOR_SHMEM: u64 = 1 << 10;
const MODE_MISSING: u64 = 1;
const MODE_MINOR: u64 = 4;
const EVENT_PAGEFAULT: u8 = 0x12;
const IOCTL_NEW: libc::c_ulong = 0xaa00;
pub(crate) const IOCTL_API: libc::c_ulong = 0xc018_aa3f;
pub(crate) const IOCTL_REGISTER: libc::c_ulong = 0xc020_aa00;
const IOCTL_UNREGISTER: libc::c_ulong = 0x8010_aa01;

#[repr(C)]
pub(crate) struct ApiRequest {
    pub api: u64,
    pub features: u64,
    pub ioctls: u64,
}

#[repr(C)]
pub(crate) struct RangeRequest {
    pub start: u64,
    pub bytes: u64,
}

#[repr(C)]
pub(crate) struct RegisterRequest {
    pub range: RangeRequest,
    pub mode: u64,
    pub ioctls: u64,
}

/// `struct uffd_msg` of a page fault.
#[repr(C)]
#[derive(Default)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    flags: u64,
    address: u64,
    thread: u64,
}

/// # Safety
/// The kernel reads and writes `argument` as `request` says.
pub(crate) unsafe fn ioctl<T>(
    descriptor: RawFd,
    request: libc::c_ulong,
    argument: &mut T,
) -> io::Result<()> {
    // SAFETY: by the contract of this function.
    match unsafe { libc::ioctl(descriptor, request as _, std::ptr::from_mut(argument)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

impl FaultWatch {
    /// A watch over no pages yet.
    ///
    /// # Errors
    /// If the kernel has no such thing (before 5.14), or this user may not handle faults of system calls: that takes
    /// `CAP_SYS_PTRACE`, `/dev/userfaultfd` or the setting `vm.unprivileged_userfaultfd`.
    pub fn open() -> io::Result<Self> {
        let descriptor = Self::descriptor()?;
        let mut request = ApiRequest {
            api: API,
            features: MISSING_SHMEM | MINOR_SHMEM,
            ioctls: 0,
        };
        // SAFETY: the request is the one that IOCTL_API takes.
        unsafe { ioctl(descriptor.as_raw_fd(), IOCTL_API, &mut request)? };
        Ok(Self { descriptor })
    }

    pub(crate) fn descriptor() -> io::Result<OwnedFd> {
        // SAFETY: the system call takes flags and returns a new descriptor.
        let found = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
        if found >= 0 {
            // SAFETY: the descriptor is new and ours.
            return Ok(unsafe { OwnedFd::from_raw_fd(found as RawFd) });
        }
        let refused = io::Error::last_os_error();
        let Ok(device) = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/userfaultfd")
        else {
            return Err(refused);
        };
        // SAFETY: this request takes flags and returns a new descriptor.
        match unsafe { libc::ioctl(device.as_raw_fd(), IOCTL_NEW as _, libc::O_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the descriptor is new and ours.
            found => Ok(unsafe { OwnedFd::from_raw_fd(found) }),
        }
    }

    /// From now on, whoever touches a page of `range` waits. Its bytes stay in the file that it is a mapping of.
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
            mode: MODE_MISSING | MODE_MINOR,
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

    /// Lets everybody touch the pages of `range` again, and wakes those who wait.
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
