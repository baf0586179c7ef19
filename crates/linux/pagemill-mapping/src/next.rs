//! The `malloc` that the program would have without a preload library: the C library's, or that of an allocator that the program was linked
//! with.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::jumps;

/// A function behind one that this library exports. It is looked up at each call until [`settle`], then once.
pub struct Next {
    name: &'static CStr,
    is_in_c_library: bool,
    found: AtomicPtr<c_void>,
}

/// Whether the entries of functions are what they will be.
static IS_SETTLED: AtomicBool = AtomicBool::new(false);

/// From now on, what is looked up stays.
pub fn settle() {
    IS_SETTLED.store(true, Ordering::Release);
}

impl Next {
    /// In the next library.
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            is_in_c_library: false,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// In the C library.
    pub const fn in_c_library(name: &'static CStr) -> Self {
        Self {
            is_in_c_library: true,
            ..Self::new(name)
        }
    }

    /// By a name that ends with a zero byte.
    ///
    /// # Panics
    /// It does not end so, or has one before.
    pub const fn named(name: &'static str, is_in_c_library: bool) -> Self {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Self {
                is_in_c_library,
                ..Self::new(name)
            },
            Err(_) => panic!("a name that ends with its only zero byte"),
        }
    }

    /// Its address.
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
        let found = match self.is_in_c_library {
            true => jumps::of_c_library(self.name)?,
            false => {
                // SAFETY: the name ends with a zero byte.
                let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
                found.expose_provenance()
            }
        };
        let found = ptr::with_exposed_provenance_mut(jumps::original(found));
        if IS_SETTLED.load(Ordering::Acquire) {
            self.found.store(found, Ordering::Relaxed);
        }
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
            static NEXT: Next = Next::named(concat!(stringify!($name), "\0"), false);
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
