//! Making and freeing the objects behind libfabric's handles.

use std::ffi::{c_char, c_int, c_void};

use super::abi::errno::FI_ENOSYS;
use super::abi::{Function, fi_ops, fid};

/// Gives an object to libfabric. It comes back to [`free`].
pub fn give<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Frees an object that [`give`] made.
///
/// # Safety
/// `handle` is from `give::<T>`, whose structure begins with the `fid`, and is not used any more.
pub unsafe fn free<T>(handle: *mut fid) {
    // SAFETY: `handle` is the first field of a `T` that `Box::into_raw` made, and is closed once.
    drop(unsafe { Box::from_raw(handle.cast::<T>()) });
}

/// For the places of optional functions in the middle of a table. Callers look only at the returned number, and the C calling
/// convention allows to be handed arguments that one does not take.
pub const UNSUPPORTED: Function = unsupported as *const c_void;

extern "C" fn unsupported() -> isize {
    -(FI_ENOSYS as isize)
}

/// Frees a `T`: the `close` of objects that hold nothing else.
///
/// # Safety
/// `handle` belongs to a `T` that libfabric will not use again.
pub unsafe extern "C" fn close<T>(handle: *mut fid) -> c_int {
    // SAFETY: libfabric closes each of our handles once, and this function is in the table of `T`s only.
    unsafe { free::<T>(handle) };
    0
}

/// No binding.
pub extern "C" fn no_bind(_: *mut fid, _: *mut fid, _: u64) -> c_int {
    -FI_ENOSYS
}

/// No control.
pub extern "C" fn no_control(_: *mut fid, _: c_int, _: *mut c_void) -> c_int {
    -FI_ENOSYS
}

/// No further tables.
pub extern "C" fn no_ops(
    _: *mut fid,
    _: *const c_char,
    _: u64,
    _: *mut *mut c_void,
    _: *mut c_void,
) -> c_int {
    -FI_ENOSYS
}

/// The table of objects that can only be closed.
pub const fn closing<T>() -> fi_ops {
    fi_ops {
        size: size_of::<fi_ops>(),
        close: close::<T>,
        bind: no_bind,
        control: no_control,
        ops_open: no_ops,
        tostr: None,
        ops_set: None,
    }
}

/// A table of functions that never changes. Pointers to functions are the same for all threads.
pub struct Table<T>(pub T);

// SAFETY: the tables hold addresses of functions and sizes, and are never written.
unsafe impl<T> Sync for Table<T> {}
