//! The MPI library's own functions, behind those that this library puts in front of them.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// MPI is not there: nothing was preloaded that could have called us.
pub const NO_MPI: c_int = 16;

/// The files of MPI libraries: Open MPI's, then MPICH's under its two names.
const LIBRARIES: [&CStr; 3] = [c"libmpi.so.40", c"libmpich.so.12", c"libmpi.so.12"];

/// MPI's own function behind one of ours.
pub struct Behind {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Behind {
    /// The function of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicUsize::new(0),
        }
    }

    /// Its address; null where no MPI library is loaded.
    pub fn find(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return std::ptr::with_exposed_provenance_mut(known);
        }
        // SAFETY: names are C strings; a library is only looked at if it is loaded already, as by Python.
        let found = unsafe {
            let mut found = libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr());
            for library in LIBRARIES {
                if !found.is_null() {
                    break;
                }
                let mpi = libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
                if !mpi.is_null() {
                    found = libc::dlsym(mpi, self.name.as_ptr());
                }
            }
            found
        };
        self.address
            .store(found.expose_provenance(), Ordering::Relaxed);
        found
    }
}

/// Functions in front of MPI's of the same names. Each first asks `first`, with its own name and the argument behind the arrow: what
/// that gives is the result, and MPI's function is called if it gives none. Arguments are numbers and pointers, which travel alike.
macro_rules! in_front {
    ($first:path; $($name:ident($behind:ident: $text:literal) of $($argument:ident)* => $asked:ident;)*) => {$(
        static $behind: $crate::behind::Behind = $crate::behind::Behind::new($text);

        /// MPI's function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: usize),*) -> std::ffi::c_int {
            let behind = $behind.find();
            if behind.is_null() {
                return $crate::behind::NO_MPI;
            }
            if let Some(result) = $first(stringify!($name), $asked) {
                return result;
            }
            type Function = unsafe extern "C" fn($($crate::behind::in_front!(@word $argument)),*) -> std::ffi::c_int;
            // SAFETY: MPI's function of this name takes as many numbers and pointers; the caller's promises are passed on.
            unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(behind)($($argument),*) }
        }
    )*};
    (@word $argument:ident) => { usize };
}

pub(crate) use in_front;
