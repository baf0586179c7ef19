//! The device files by which programs see that there is a GPU, without a driver's call: they are there if one asks for them.
//!
//! The library that is loaded before the program has these functions under the C library's names. They may be called in a
//! signal handler, and do nothing but the system's call.

use std::ffi::{CStr, c_char, c_int, c_long};

/// Those of the first GPU and of the driver.
const FILES: [&CStr; 2] = [c"/dev/nvidia0", c"/dev/nvidiactl"];

/// A device file that every system has, which answers in their place.
const PRESENT: &CStr = c"/dev/null";

/// The path to ask the system for.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn present(path: *const c_char) -> *const c_char {
    // SAFETY: a path that is not null ends with a NUL, as the C library's function asks of the program.
    let is_one = !path.is_null() && FILES.contains(&unsafe { CStr::from_ptr(path) });
    if is_one { PRESENT.as_ptr() } else { path }
}

/// # Safety
/// As the C library's.
#[unsafe(export_name = "pagemill_stat")]
unsafe extern "C" fn stat(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: the kernel answers EFAULT where the program has no path or room; its record is that of the C library.
    unsafe {
        let path = present(path);
        let flags: c_int = 0;
        libc::syscall(libc::SYS_newfstatat, libc::AT_FDCWD, path, to, flags) as c_int
    }
}

/// # Safety
/// As the C library's.
#[unsafe(export_name = "pagemill_stat64")]
unsafe extern "C" fn stat64(path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: `path` and `to` go through as they are, and the two records are one on systems of 64 bits.
    unsafe { stat(path, to) }
}

/// # Safety
/// As the C library's.
#[unsafe(export_name = "pagemill___xstat")]
unsafe extern "C" fn xstat(_version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: `path` and `to` go through as they are, and the record has one version on systems of 64 bits.
    unsafe { stat(path, to) }
}

/// # Safety
/// As the C library's.
#[unsafe(export_name = "pagemill___xstat64")]
unsafe extern "C" fn xstat64(_version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int {
    // SAFETY: `path` and `to` go through as they are, and the record has one version on systems of 64 bits.
    unsafe { stat(path, to) }
}

/// # Safety
/// As the C library's.
#[unsafe(export_name = "pagemill_access")]
unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the kernel reads a path of the program's, and answers EFAULT where there is none.
    unsafe {
        let path = present(path);
        libc::syscall(
            libc::SYS_faccessat,
            c_long::from(libc::AT_FDCWD),
            path,
            mode,
        ) as c_int
    }
}
