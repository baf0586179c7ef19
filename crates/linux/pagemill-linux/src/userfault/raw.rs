//! The structures and numbers of linux/userfaultfd.h.

use std::fs::OpenOptions;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

pub const API: u64 = 0xaa;

pub const FEATURE_FLAG_WP: u64 = 1;
pub const FEATURE_MISSING_SHMEM: u64 = 1 << 5;
pub const FEATURE_SIGBUS: u64 = 1 << 7;
pub const FEATURE_THREAD_ID: u64 = 1 << 8;
pub const FEATURE_MINOR_SHMEM: u64 = 1 << 10;
pub const FEATURE_WP_SHMEM: u64 = 1 << 12;
pub const FEATURE_MOVE: u64 = 1 << 16;

pub const REGISTER_MISSING: u64 = 1;
pub const REGISTER_WP: u64 = 2;
pub const REGISTER_MINOR: u64 = 4;

pub const EVENT_PAGEFAULT: u8 = 0x12;
pub const FAULT_WRITE: u64 = 1;

pub const IOCTL_NEW: libc::c_ulong = 0xaa00;
pub const IOCTL_API: libc::c_ulong = 0xc018_aa3f;
pub const IOCTL_REGISTER: libc::c_ulong = 0xc020_aa00;
pub const IOCTL_UNREGISTER: libc::c_ulong = 0x8010_aa01;
pub const IOCTL_WAKE: libc::c_ulong = 0x8010_aa02;
pub const IOCTL_COPY: libc::c_ulong = 0xc028_aa03;
pub const IOCTL_MOVE: libc::c_ulong = 0xc028_aa05;
pub const IOCTL_WRITEPROTECT: libc::c_ulong = 0xc018_aa06;

/// To protect a range, rather than to lift its protection.
pub const MODE_WP: u64 = 1;

/// Not to wake who waits for the range.
pub const MODE_DONTWAKE: u64 = 1;

/// Only faults of user code are answered; system calls fail. All that an unprivileged process may have by default.
pub const USER_MODE_ONLY: libc::c_int = 1;

#[repr(C)]
#[derive(Default)]
pub struct ApiRequest {
    pub api: u64,
    pub features: u64,
    pub ioctls: u64,
}

#[repr(C)]
#[derive(Default)]
pub struct RangeRequest {
    pub start: u64,
    pub bytes: u64,
}

#[repr(C)]
#[derive(Default)]
pub struct RegisterRequest {
    pub range: RangeRequest,
    pub mode: u64,
    pub ioctls: u64,
}

/// `struct uffdio_writeprotect`.
#[repr(C)]
#[derive(Default)]
pub struct ProtectRequest {
    pub range: RangeRequest,
    pub mode: u64,
}

/// `struct uffdio_copy` and `struct uffdio_move`, which are alike.
#[repr(C)]
#[derive(Default)]
pub struct TransferRequest {
    pub to: u64,
    pub from: u64,
    pub bytes: u64,
    pub mode: u64,
    /// Bytes done, or the negative error number.
    pub done: i64,
}

/// `struct uffd_msg` of a page fault.
#[repr(C)]
#[derive(Default)]
pub struct Message {
    pub event: u8,
    pub reserved: [u8; 7],
    pub flags: u64,
    pub address: u64,
    pub thread: u64,
}

/// # Safety
/// The kernel reads and writes `argument` as `request` says.
pub unsafe fn ioctl<T>(
    descriptor: RawFd,
    request: libc::c_ulong,
    argument: &mut T,
) -> io::Result<()> {
    // SAFETY: `request` is one that takes a `T`, which the borrow keeps whole while the kernel reads and writes it.
    match unsafe { libc::ioctl(descriptor, request as _, std::ptr::from_mut(argument)) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The next message, if there is one, or once there is one where the descriptor waits.
pub fn next_message(descriptor: &OwnedFd) -> io::Result<Option<Message>> {
    let mut message = Message::default();
    loop {
        // SAFETY: there is room for one message, which is numbers only.
        let read = unsafe {
            libc::read(
                descriptor.as_raw_fd(),
                std::ptr::from_mut(&mut message).cast(),
                size_of::<Message>(),
            )
        };
        if read >= 0 {
            let is_whole = read == size_of::<Message>() as isize;
            let other = || io::Error::other("the descriptor is another file's");
            return is_whole.then_some(Some(message)).ok_or_else(other);
        }
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock => return Ok(None),
            io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

/// Lets those try again who wait for a touch of `range`.
pub fn wake(descriptor: &OwnedFd, range: &Range<u64>) -> io::Result<()> {
    let mut request = RangeRequest {
        start: range.start,
        bytes: range.end.saturating_sub(range.start),
    };
    // SAFETY: the request is the one that IOCTL_WAKE takes.
    unsafe { ioctl(descriptor.as_raw_fd(), IOCTL_WAKE, &mut request) }
}

/// A new descriptor by the system call, with `flags` beside closing at `exec`.
pub fn by_system_call(flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: the system call takes flags and returns a new descriptor.
    let found = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | flags) };
    if found < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(found as RawFd) })
}

/// A new descriptor by the device file, with `flags` beside closing at `exec`.
pub fn by_device(flags: libc::c_int) -> io::Result<OwnedFd> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/userfaultfd")?;
    // SAFETY: this request takes flags and returns a new descriptor.
    match unsafe { libc::ioctl(device.as_raw_fd(), IOCTL_NEW as _, libc::O_CLOEXEC | flags) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor is new and ours.
        found => Ok(unsafe { OwnedFd::from_raw_fd(found) }),
    }
}

/// A new descriptor whose faults include those of system calls.
pub fn descriptor(flags: libc::c_int) -> io::Result<OwnedFd> {
    by_system_call(flags).or_else(|refused| by_device(flags).map_err(|_| refused))
}

/// Says which features of the interface are used; returns all that there are.
pub fn agree(descriptor: &OwnedFd, features: u64) -> io::Result<u64> {
    let mut request = ApiRequest {
        api: API,
        features,
        ioctls: 0,
    };
    // SAFETY: the request is the one that IOCTL_API takes.
    unsafe { ioctl(descriptor.as_raw_fd(), IOCTL_API, &mut request)? };
    Ok(request.features)
}
