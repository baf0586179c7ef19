//! Device code that a program loads by itself.

use std::ffi::{CStr, c_char, c_uint, c_void};

use super::{address, api, give, null, registration, text, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::FunctionKey;

/// Library handles are image numbers with this added, so that none is null.
const HANDLE_BASE: u64 = 0x6c << 56;

fn image(library: *mut c_void) -> Result<usize, Fault> {
    let number = address(library).checked_sub(HANDLE_BASE);
    number.map(|number| number as usize).ok_or_else(|| {
        Fault::new(
            CudaError::INVALID_RESOURCE_HANDLE,
            format!("{library:p} is no library"),
        )
    })
}

/// Fat binaries and machine code begin with one of these; everything else that is text is PTX.
fn is_binary(first: [u8; 4]) -> bool {
    let magic = u32::from_le_bytes(first);
    magic == 0xba55_ed50 || magic == 0x4662_43b1
}

api! {
    fn cudaLibraryLoadData(
        to: *mut *mut c_void,
        code: *const c_void,
        _jit_options: *const c_void,
        _jit_values: *const c_void,
        _jit_count: c_uint,
        _options: *const c_void,
        _values: *const c_void,
        _count: c_uint,
    ) {
        if code.is_null() || to.is_null() {
            return Err(null());
        }
        // SAFETY: device code of every kind has at least four bytes.
        let first = unsafe { code.cast::<[u8; 4]>().read_unaligned() };
        let image = if is_binary(first) {
            // SAFETY: the number says that it is a fat binary or a wrapper of one; it is copied.
            let binary = unsafe { registration::unwrap(code) }?.to_vec();
            with_runtime(|runtime| {
                let image = runtime.register_fat_binary(binary);
                runtime.load_image(image).map(|()| image)
            })?
        } else if first == *b"\x7fELF" {
            let message = "machine code cannot be executed, only PTX and fat binaries with PTX";
            return Err(Fault::new(CudaError::NO_KERNEL_IMAGE, message));
        } else {
            // SAFETY: PTX is text that ends with a NUL.
            let ptx = unsafe { CStr::from_ptr(code.cast()) }.to_string_lossy().into_owned();
            with_runtime(|runtime| {
                let image = runtime.register_ptx(ptx);
                runtime.load_image(image).map(|()| image)
            })?
        };
        // SAFETY: see the module.
        unsafe { give(to, (HANDLE_BASE + image as u64) as *mut c_void) }
    }

    fn cudaLibraryUnload(library: *mut c_void) {
        image(library).map(|_| ())
    }

    fn cudaLibraryGetKernel(to: *mut *mut c_void, library: *mut c_void, name: *const c_char) {
        let image = image(library)?;
        // SAFETY: see the module.
        let name = unsafe { text(name) }?;
        let key = with_runtime(|runtime| runtime.kernel_of_image(image, name))?;
        // SAFETY: see the module.
        unsafe { give(to, key.0 as *mut c_void) }
    }

    fn cudaLibraryGetGlobal(to: *mut *mut c_void, bytes: *mut usize, library: *mut c_void, name: *const c_char) {
        let image = image(library)?;
        // SAFETY: see the module.
        let name = unsafe { text(name) }?;
        let (at, size) = with_runtime(|runtime| runtime.global_of_image(image, name))?;
        if !bytes.is_null() {
            // SAFETY: see the module.
            unsafe { give(bytes, size as usize)? };
        }
        // SAFETY: see the module.
        unsafe { give(to, at as *mut c_void) }
    }

    fn cudaGetKernel(to: *mut *mut c_void, stub: *const c_void) {
        let key = with_runtime(|runtime| runtime.kernel_handle(FunctionKey(address(stub))))?;
        // SAFETY: see the module.
        unsafe { give(to, key.0 as *mut c_void) }
    }
}
