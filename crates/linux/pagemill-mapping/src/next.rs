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

/// Functions of the next allocator, and what they answer while one is looked up.
macro_rules! allocator {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $meanwhile:expr;)*) => {$(
        #[doc = concat!("As `", stringify!($name), "(3)`. While one of these is looked up, it does nothing.")]
        ///
        /// # Safety
        /// A block came from the next allocator, or is null.
        pub unsafe fn $name($($argument: $type),*) -> $result {
            static NEXT: Next = Next::named(concat!(stringify!($name), "\0"));
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            // SAFETY: a function of this name has this type; the caller's promise.
            NEXT.get_or_none().map_or($meanwhile, |next| unsafe {
                std::mem::transmute::<*mut c_void, Function>(next)($($argument),*)
            })
        }
    )*};
}

allocator! {
    malloc(bytes: usize) -> *mut c_void, ptr::null_mut();
    calloc(count: usize, bytes: usize) -> *mut c_void, ptr::null_mut();
    realloc(memory: *mut c_void, bytes: usize) -> *mut c_void, ptr::null_mut();
    free(memory: *mut c_void) -> (), ();
    malloc_usable_size(memory: *mut c_void) -> usize, 0;
}

/// Address of [`malloc`]: it says whose it is.
pub fn malloc_address() -> usize {
    // SAFETY: the name ends with a zero byte.
    unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc".as_ptr()) }.addr()
}
