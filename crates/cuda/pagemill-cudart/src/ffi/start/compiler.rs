//! CUDA's run-time compiler: a program that asks it for machine code gets the PTX, which the compiler always makes too.
//!
//! The library that is loaded before the program has these functions under the compiler's names. A compiler that the program
//! loads itself, with `dlopen`, is not reached by them.

use std::ffi::{CStr, c_char, c_int, c_void};

/// `NVRTC_ERROR_INTERNAL_ERROR`.
const INTERNAL_ERROR: c_int = 11;

/// The function of the compiler that the program is linked with.
fn real(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// # Safety
/// As the compiler's.
#[unsafe(export_name = "pagemill_nvrtcGetCUBIN")]
unsafe extern "C" fn get_cubin(program: *mut c_void, to: *mut c_char) -> c_int {
    let Some(real) = real(c"nvrtcGetPTX") else {
        return INTERNAL_ERROR;
    };
    // SAFETY: it is the function of this name, whose parameters are those of nvrtcGetCUBIN.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int =
            std::mem::transmute(real);
        real(program, to)
    }
}

/// # Safety
/// As the compiler's.
#[unsafe(export_name = "pagemill_nvrtcGetCUBINSize")]
unsafe extern "C" fn get_cubin_size(program: *mut c_void, to: *mut usize) -> c_int {
    let Some(real) = real(c"nvrtcGetPTXSize") else {
        return INTERNAL_ERROR;
    };
    // SAFETY: it is the function of this name, whose parameters are those of nvrtcGetCUBINSize.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int =
            std::mem::transmute(real);
        real(program, to)
    }
}
