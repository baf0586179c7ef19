//! The C library's own `malloc`, by names that are not replaced.

use std::ffi::c_void;
use std::sync::OnceLock;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
}

pub fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { __libc_malloc(bytes) }
}

pub fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: any size may be asked for.
    unsafe { __libc_calloc(count, bytes) }
}

/// # Safety
/// `memory` came from the C library, or is null.
pub unsafe fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { __libc_realloc(memory, bytes) }
}

/// # Safety
/// `memory` came from the C library, or is null.
pub unsafe fn free(memory: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { __libc_free(memory) }
}

/// # Safety
/// `memory` came from the C library, or is null.
pub unsafe fn malloc_usable_size(memory: *mut c_void) -> usize {
    type Function = unsafe extern "C" fn(*mut c_void) -> usize;
    static FOUND: OnceLock<Option<Function>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        // SAFETY: the name ends with a zero byte, and glibc has a function of this type by that name.
        unsafe {
            let symbol = libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr());
            std::mem::transmute::<*mut c_void, Option<Function>>(symbol)
        }
    });
    match found {
        // SAFETY: the caller's promise.
        Some(function) => unsafe { function(memory) },
        None => 0,
    }
}
