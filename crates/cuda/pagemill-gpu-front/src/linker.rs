//! The dynamic linker behind this library: where a function is, and whose.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How the files of drivers are called: `libcuda.so.1`, `libcuda.so.580.95.05`.
const DRIVER_FILE: &[u8] = b"libcuda.so";

/// The C library's `dlsym`.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// The driver, once it is loaded.
static DRIVER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The C library's `dlsym`; looked up by its other function, which this library leaves alone.
pub extern "C" fn next_dlsym() -> *mut c_void {
    let found = NEXT.load(Ordering::Relaxed);
    if !found.is_null() {
        return found;
    }
    // The version that came with the merged C library, and the first one of x86-64.
    for version in [c"GLIBC_2.34", c"GLIBC_2.2.5"] {
        // SAFETY: both names end with a zero byte.
        let found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
        if !found.is_null() {
            NEXT.store(found, Ordering::Relaxed);
            return found;
        }
    }
    // SAFETY: ends the process: every glibc has one of these, and no program goes on without it.
    unsafe { libc::abort() }
}

/// As `dlsym(3)`, past this library.
pub fn real_dlsym(handle: *mut c_void, name: &CStr) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
    // SAFETY: this is the C library's `dlsym`, which has this type.
    let next = unsafe { std::mem::transmute::<*mut c_void, Function>(next_dlsym()) };
    // SAFETY: the handle is the caller's, and the name ends with a zero byte.
    unsafe { next(handle, name.as_ptr()) }
}

/// A function of the driver, as the driver itself has it; none while no driver is loaded.
pub fn of_driver(name: &CStr) -> Option<*mut c_void> {
    let found = real_dlsym(driver()?, name);
    (!found.is_null()).then_some(found)
}

/// The driver, if the program has loaded it. From then on it stays loaded.
fn driver() -> Option<*mut c_void> {
    let known = DRIVER.load(Ordering::Acquire);
    if !known.is_null() {
        return Some(known);
    }
    // SAFETY: the name ends with a zero byte; nothing is loaded, so that no initializer runs.
    let found = unsafe {
        libc::dlopen(
            c"libcuda.so.1".as_ptr(),
            libc::RTLD_LAZY | libc::RTLD_NOLOAD,
        )
    };
    DRIVER.store(found, Ordering::Release);
    (!found.is_null()).then_some(found)
}

/// Whether the driver's own file has the code at `address`: another library with a function of that name stays as it is.
pub fn is_of_driver(address: *mut c_void) -> bool {
    // SAFETY: all fields are numbers and pointers, for which zero is a value.
    let mut found = unsafe { std::mem::zeroed::<libc::Dl_info>() };
    // SAFETY: `dladdr` takes any address, and writes to the room that it is given.
    if unsafe { libc::dladdr(address, &raw mut found) } == 0 || found.dli_fname.is_null() {
        return false;
    }
    // SAFETY: the linker's name of a file that is loaded ends with a zero byte.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes();
    let file = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    file.starts_with(DRIVER_FILE)
}
