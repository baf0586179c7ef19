//! The `malloc` that the program would have without a preload library: the C library's, or that of an allocator that the program was linked
//! with.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr;
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
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The same, by a name that ends with a zero byte.
    ///
    /// # Panics
    /// It does not end so, or has one before.
    pub const fn named(name: &'static str) -> Self {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Self::new(name),
            Err(_) => panic!("a name that ends with its only zero byte"),
        }
    }

    /// Its address in the next library.
    pub fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        self.look().unwrap_or_else(|| {
            // SAFETY: ends the process: the C library has all of these.
            unsafe { libc::abort() }
        })
    }

    /// The same; none while this thread looks a function up, by which the dynamic linker frees and allocates.
    fn get_or_none(&self) -> Option<*mut c_void> {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return Some(found);
        }
        if IS_LOOKING.replace(true) {
            return None;
        }
        let found = self.look();
        IS_LOOKING.set(false);
        found
    }

    fn look(&self) -> Option<*mut c_void> {
        // SAFETY: the name ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        (!found.is_null()).then_some(found)
    }
}

thread_local! {
    /// Whether this thread looks a function of the allocator up.
    static IS_LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// The next library's function of a name, as a type, or none while one is looked up.
macro_rules! next {
    ($name:literal as $type:ty) => {{
        static NEXT: Next = Next::new($name);
        let found = NEXT.get_or_none();
        found.map(|found| std::mem::transmute::<*mut c_void, $type>(found))
    }};
}

/// As `malloc(3)`.
pub fn malloc(bytes: usize) -> *mut c_void {
    type Function = unsafe extern "C" fn(usize) -> *mut c_void;
    // SAFETY: a function of this name has this type. Any size may be asked for.
    unsafe { next!(c"malloc" as Function).map_or(ptr::null_mut(), |next| next(bytes)) }
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
    unsafe { next!(c"calloc" as Function).map_or(ptr::null_mut(), |next| next(count, bytes)) }
}

/// As `realloc(3)`.
///
/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    type Function = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    // SAFETY: a function of this name has this type; the caller's promise.
    unsafe { next!(c"realloc" as Function).map_or(ptr::null_mut(), |next| next(memory, bytes)) }
}

/// As `free(3)`.
///
/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn free(memory: *mut c_void) {
    type Function = unsafe extern "C" fn(*mut c_void);
    // SAFETY: a function of this name has this type; the caller's promise. What the dynamic linker frees meanwhile stays: some words.
    unsafe { next!(c"free" as Function).map_or((), |next| next(memory)) }
}

/// As `malloc_usable_size(3)`.
///
/// # Safety
/// `memory` came from the next allocator, or is null.
pub unsafe fn malloc_usable_size(memory: *mut c_void) -> usize {
    type Function = unsafe extern "C" fn(*mut c_void) -> usize;
    // SAFETY: a function of this name has this type; the caller's promise.
    unsafe { next!(c"malloc_usable_size" as Function).map_or(0, |next| next(memory)) }
}
