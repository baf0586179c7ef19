//! The `malloc` that the program would have without a preload library: the C library's, or that of an allocator that the program was linked
//! with.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function that is looked up at its first call.
pub struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    /// Not looked up yet.
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Its address in the next library.
    pub fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            // SAFETY: ends the process: the C library has all of these.
            unsafe { libc::abort() };
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// The next library's function of a name, as a type.
macro_rules! next {
    ($name:literal as $type:ty) => {{
        static NEXT: Next = Next::new($name);
        std::mem::transmute::<*mut c_void, $type>(NEXT.get())
    }};
}

/// As `malloc(3)`.
pub fn malloc(bytes: usize) -> *mut c_void {
    type Function = unsafe extern "C" fn(usize) -> *mut c_void;
    // SAFETY: a function of this name has this type. Any size may be asked for.
    unsafe { next!(c"malloc" as Function)(bytes) }
}

/// Address of [`malloc`]: it says whose it is.
pub fn malloc_address() -> usize {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc".as_ptr()) }.addr()
}

/// As `calloc(3)`.
pub fn calloc(count: usize, bytes: usize) -> *mut c_void {
    type Function = unsafe extern "C" fn(usize, usize) -> *mut c_void;
    // SAFETY: a function of this name has this type. Any size may be asked for.
    unsafe { next!(c"calloc" as Function)(count, bytes) }
}

/// As `realloc(3)`.
///
/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    // SAFETY: a function of this name has this type; the caller's promise.
    unsafe { next!(c"realloc" as Function)(memory, bytes) }
}

/// As `free(3)`.
///
/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn free(memory: *mut c_void) {
    type Function = unsafe extern "C" fn(*mut c_void);
    // SAFETY: a function of this name has this type; the caller's promise.
    unsafe { next!(c"free" as Function)(memory) }
}

/// As `malloc_usable_size(3)`.
///
/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn malloc_usable_size(memory: *mut c_void) -> usize {
    type Function = unsafe extern "C" fn(*mut c_void) -> usize;
    // SAFETY: a function of this name has this type; the caller's promise.
    unsafe { next!(c"malloc_usable_size" as Function)(memory) }
}
