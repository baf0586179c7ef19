//! Device code that a program loads by itself.

use std::ffi::{CStr, c_uint, c_void};

use super::{Done, InText, OutPtr, address, api, enter, null, registration, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::{FunctionKey, Runtime};

/// Library handles are image numbers with this added, so that none is null.
const HANDLE_BASE: u64 = 0x6c << 56;

pub(super) fn image(library: *mut c_void) -> Result<usize, Fault> {
    let number = address(library).checked_sub(HANDLE_BASE);
    number.map(|number| number as usize).ok_or_else(|| {
        let message = format!("{library:p} is no library");
        Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
    })
}

/// Fat binaries and machine code begin with one of these; everything else that is text is PTX.
fn is_binary(first: [u8; 4]) -> bool {
    let magic = u32::from_le_bytes(first);
    magic == 0xba55_ed50 || magic == 0x4662_43b1
}

/// The handle of an image.
pub(super) fn handle(image: usize) -> *mut c_void {
    (HANDLE_BASE + image as u64) as *mut c_void
}

/// Loads device code that lies in memory; returns its handle.
///
/// # Safety
/// `code` is null or points to a fat binary, a wrapper of one, machine code, or PTX that ends with a NUL.
pub(super) unsafe fn load(code: *const c_void) -> Result<*mut c_void, Fault> {
    if code.is_null() {
        return Err(null());
    }
    // SAFETY: device code of every kind begins with four bytes; a shorter text ends before.
    let text = unsafe { CStr::from_ptr(code.cast()) };
    let Some(first) = text.to_bytes_with_nul().first_chunk::<4>() else {
        let message = "the device code is neither PTX nor a fat binary";
        return Err(Fault::new(CudaError::INVALID_KERNEL_IMAGE, message));
    };
    if is_binary(*first) {
        // SAFETY: the number says that it is a fat binary or a wrapper of one; it is copied.
        let binary = unsafe { registration::unwrap(code) }?.to_vec();
        return load_image(|runtime| runtime.modules.register_fat_binary(binary));
    }
    load_text(text.to_bytes())
}

fn load_text(code: &[u8]) -> Result<*mut c_void, Fault> {
    if code.starts_with(b"\x7fELF") {
        let message = "machine code (a cubin) cannot be executed: give pagemill PTX, or a fat binary with PTX";
        return Err(Fault::new(CudaError::NO_KERNEL_IMAGE, message));
    }
    let ptx = String::from_utf8_lossy(code).into_owned();
    let limit = register_limit(&ptx);
    let loaded = load_image(|runtime| runtime.modules.register_ptx(ptx))?;
    if let Some(most) = limit {
        let number = image(loaded)?;
        with_runtime(|runtime| runtime.kernels().limit_registers(number, most))?;
    }
    Ok(loaded)
}

/// What the last line of a linked text begins with, if its kernels have a limit of registers.
const REGISTER_LIMIT: &str = "// at most this many registers: ";

/// The last line of a linked text whose kernels have at most `most` registers.
pub(super) fn limit_line(most: u32) -> String {
    format!("\n{REGISTER_LIMIT}{most}\n")
}

fn register_limit(ptx: &str) -> Option<u32> {
    let last = ptx.trim_end().rsplit('\n').next()?;
    last.strip_prefix(REGISTER_LIMIT)?.parse().ok()
}

fn load_image(register: impl FnOnce(&mut Runtime) -> usize) -> Result<*mut c_void, Fault> {
    let image = with_runtime(|runtime| {
        let image = register(runtime);
        runtime.kernels().load_image(image).map(|_| image)
    })?;
    Ok(handle(image))
}

/// Loads device code from a file; returns its handle.
pub(super) fn load_file(path: &str) -> Result<*mut c_void, Fault> {
    let code = std::fs::read(path)
        .map_err(|error| Fault::new(CudaError::FILE_NOT_FOUND, format!("{path}: {error}")))?;
    match code.first_chunk::<4>() {
        Some(first) if is_binary(*first) => {
            load_image(|runtime| runtime.modules.register_fat_binary(code))
        }
        _ => {
            let end = code.iter().position(|&byte| byte == 0);
            load_text(
                &code[..end
                    .filter(|_| !code.starts_with(b"\x7fELF"))
                    .unwrap_or(code.len())],
            )
        }
    }
}

/// Forgets device code; its kernels and variables are gone.
pub(super) fn unload(library: *mut c_void) -> Done {
    let image = image(library)?;
    with_runtime(|runtime| runtime.modules.unload_image(image))
}

api! {
    fn cudaLibraryLoadData(
        to: OutPtr<*mut c_void>,
        code: *const c_void,
        _jit_options: *const c_void,
        _jit_values: *const c_void,
        _jit_count: c_uint,
        _options: *const c_void,
        _values: *const c_void,
        _count: c_uint,
    ) {
        to.needed()?;
        // SAFETY: the program passes null or device code, which says how long it is.
        to.put(unsafe { load(code) }?)
    }

    fn cudaLibraryUnload(library: *mut c_void) {
        unload(library)
    }

    fn cudaLibraryGetKernel(to: OutPtr<*mut c_void>, library: *mut c_void, name: InText) {
        let image = image(library)?;
        let name = name.get()?;
        let key = with_runtime(|runtime| runtime.kernels().kernel_of_image(image, name))?;
        to.put(key.0 as *mut c_void)
    }

    fn cudaLibraryGetGlobal(to: OutPtr<*mut c_void>, bytes: OutPtr<usize>, library: *mut c_void, name: InText) {
        let image = image(library)?;
        let name = name.get()?;
        let (at, size) = with_runtime(|runtime| runtime.kernels().global_of_image(image, name))?;
        bytes.put_if_wanted(size as usize);
        to.put(at as *mut c_void)
    }

    fn cudaGetKernel(to: OutPtr<*mut c_void>, stub: *const c_void) {
        let key = enter(|runtime| runtime.modules.kernel_handle(FunctionKey(address(stub))))?;
        to.put(key.0 as *mut c_void)
    }
}
