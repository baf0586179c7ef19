//! The libraries beside this one, which programs look for.

use std::ffi::{CStr, CString, c_void};
use std::path::PathBuf;

/// The folder of this library.
fn own_folder() -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let own: *const c_void = (own_folder as fn() -> Option<PathBuf>) as *const c_void;
    // SAFETY: the address is one of this library's; `info` is room for the answer.
    if unsafe { libc::dladdr(own, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the call has filled it in.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name of a loaded file is a C string.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(name.to_str().ok()?).parent()?.to_path_buf())
}

/// A shim beside this library, loaded.
pub(super) fn open_shim(name: &str) -> Option<*mut c_void> {
    let path = CString::new(own_folder()?.join(name).to_str()?).ok()?;
    // SAFETY: the path is a C string; shims have no code that runs when they are loaded twice.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    (!handle.is_null()).then_some(handle)
}

/// A function of a shim.
pub(super) fn in_shim(shim: *mut c_void, symbol: &str) -> Option<*mut c_void> {
    let symbol = CString::new(symbol).ok()?;
    // SAFETY: the handle is that of a loaded library.
    let found = unsafe { libc::dlsym(shim, symbol.as_ptr()) };
    (!found.is_null()).then_some(found)
}
