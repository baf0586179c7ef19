//! The dynamic linker: whose a function is, and what `dlsym` answers.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::hooks;

/// How the files of drivers are called: `libcuda.so.1`, `libcuda.so.580.95.05`.
const DRIVER_FILE: &[u8] = b"libcuda.so";

/// The C library's `dlsym`.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// The driver, once it is loaded.
static DRIVER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// The C library's `dlsym`; looked up by its other function, which this library leaves alone.
extern "C" fn next_dlsym() -> *mut c_void {
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
fn real_dlsym(handle: *mut c_void, name: &CStr) -> *mut c_void {
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
fn is_of_driver(address: *mut c_void) -> bool {
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

/// Answers `dlsym` for names that begin with `cu`.
unsafe extern "C" fn dlsym_of_cuda(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: the caller of `dlsym` passes a name that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    let real = real_dlsym(handle, name);
    if real.is_null() {
        return real;
    }
    match hooks::named(name) {
        Some(hook) if is_of_driver(real) => hook.in_front_of(real),
        _ => real,
    }
}

/// Jumps on with the return address of its caller, by which the C library knows what `RTLD_NEXT` means.
// SAFETY: replaces the C library's function of this name, with the same contract: a name that cannot be CUDA's, and a search that is
// relative to the caller or finds this library's own functions, go on as they are.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym() {
    std::arch::naked_asm!(
        "test rsi, rsi",
        "jz 2f",
        "cmp byte ptr [rsi], {c}",
        "jne 2f",
        "cmp byte ptr [rsi + 1], {u}",
        "jne 2f",
        "lea rax, [rdi + 1]",
        // RTLD_NEXT is -1 and RTLD_DEFAULT 0.
        "cmp rax, 1",
        "ja {of_cuda}",
        "2: push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {next}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        c = const b'c',
        u = const b'u',
        of_cuda = sym dlsym_of_cuda,
        next = sym next_dlsym,
    );
}
