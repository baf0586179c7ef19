//! What programs call before `main`: here is my device code, and this is what stands for what in it.

use std::ffi::{c_char, c_int, c_void};

use super::{InText, OutPtr, address, api, guard, register, with_runtime};
use crate::error::{CudaError, Fault};
use crate::fatbin;

/// `struct fatBinaryC_t` of fatbinary_section.h.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    /// A file name, or further fat binaries of a device link.
    more: *const c_void,
}

const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// `FATBINC_LINK_VERSION`
const LINKED_VERSION: u32 = 2;

/// What a program holds for one of its fat binaries.
type Handle = *mut *mut c_void;

/// # Safety
/// `data` points to a fat binary that stays.
unsafe fn fat_binary(data: *const u8) -> Result<&'static [u8], Fault> {
    let broken = |error: fatbin::FatBinaryError| {
        Fault::new(CudaError::INVALID_KERNEL_IMAGE, error.to_string())
    };
    // SAFETY: a fat binary begins with a header of 16 bytes, by the contract of this function.
    let header = unsafe { data.cast::<[u8; 16]>().read_unaligned() };
    let bytes = fatbin::whole_bytes(&header).map_err(broken)?;
    // SAFETY: the header says how long it is.
    Ok(unsafe { std::slice::from_raw_parts(data, bytes) })
}

/// The fat binary of a wrapper, or one without a wrapper.
///
/// # Safety
/// `pointer` points to either, and both stay.
pub(super) unsafe fn unwrap(pointer: *const c_void) -> Result<&'static [u8], Fault> {
    if pointer.is_null() {
        return Err(super::null());
    }
    // SAFETY: both begin with a number of four bytes.
    let magic = unsafe { pointer.cast::<u32>().read_unaligned() };
    if magic != WRAPPER_MAGIC {
        // SAFETY: what is no wrapper is a fat binary itself, in memory that stays.
        return unsafe { fat_binary(pointer.cast()) };
    }
    // SAFETY: the magic number says that it is a wrapper.
    let wrapper = unsafe { pointer.cast::<Wrapper>().read_unaligned() };
    if wrapper.data.is_null() {
        return Err(super::null());
    }
    // SAFETY: a wrapper points to a fat binary.
    unsafe { fat_binary(wrapper.data) }
}

/// The fat binaries that a device link (`nvcc -rdc=true`) has joined, if the wrapper is that of one: what the linker left
/// is machine code, and the parts still have their PTX.
///
/// # Safety
/// As [`unwrap`].
unsafe fn linked_parts(pointer: *const c_void) -> Result<Option<Vec<&'static [u8]>>, Fault> {
    if pointer.is_null() {
        return Err(super::null());
    }
    // SAFETY: a fat binary and a wrapper begin with a number of four bytes.
    if unsafe { pointer.cast::<u32>().read_unaligned() } != WRAPPER_MAGIC {
        return Ok(None);
    }
    // SAFETY: the magic number says that it is a wrapper.
    let wrapper = unsafe { pointer.cast::<Wrapper>().read_unaligned() };
    if wrapper.version != LINKED_VERSION || wrapper.more.is_null() {
        return Ok(None);
    }
    let list = wrapper.more.cast::<*const u8>();
    let mut parts = Vec::new();
    for index in 0.. {
        // SAFETY: the link stub ends its list with null.
        let part = unsafe { list.add(index).read_unaligned() };
        if part.is_null() {
            break;
        }
        // SAFETY: the list has fat binaries in static memory.
        parts.push(unsafe { fat_binary(part) }?);
    }
    Ok(Some(parts).filter(|parts| !parts.is_empty()))
}

/// # Safety
/// See the module: only code of nvcc calls it.
#[unsafe(export_name = "pagemill___cudaRegisterFatBinary")]
unsafe extern "C" fn register_fat_binary(pointer: *const c_void) -> Handle {
    let mut number = usize::MAX;
    guard("__cudaRegisterFatBinary", || {
        // SAFETY: nvcc's code passes a wrapper in static memory.
        if let Some(parts) = unsafe { linked_parts(pointer) }? {
            number = register(|runtime| runtime.modules.register_linked(parts))?;
            return Ok(());
        }
        // SAFETY: what is no list of linked parts is the wrapper of one fat binary, in static memory as well.
        let binary = unsafe { unwrap(pointer) }?;
        number = register(|runtime| runtime.modules.register_fat_binary(binary))?;
        Ok(())
    });
    // Programs never look into it; it lives as long as they do.
    Box::leak(Box::new(number as *mut c_void))
}

/// # Safety
/// `handle` came from `register_fat_binary`.
unsafe fn image(handle: Handle) -> Result<usize, Fault> {
    if handle.is_null() {
        return Err(super::null());
    }
    // SAFETY: it is not null, and so the box of `register_fat_binary`, which is never freed.
    Ok(unsafe { *handle } as usize)
}

#[unsafe(export_name = "pagemill___cudaRegisterFatBinaryEnd")]
extern "C" fn register_fat_binary_end(_handle: Handle) {}

#[unsafe(export_name = "pagemill___cudaUnregisterFatBinary")]
extern "C" fn unregister_fat_binary(_handle: Handle) {}

/// Called before the program touches a managed variable for the first time.
///
/// # Safety
/// See the module: only code of nvcc calls it.
#[unsafe(export_name = "pagemill___cudaInitModule")]
unsafe extern "C" fn init_module(handle: Handle) -> c_char {
    let code = guard("__cudaInitModule", || {
        // SAFETY: nvcc's code passes the handle that `register_fat_binary` has given it.
        let image = unsafe { image(handle) }?;
        with_runtime(|runtime| runtime.kernels().load_image(image).map(|_| ()))
    });
    (code == CudaError::SUCCESS.0).into()
}

/// # Safety
/// See the module: only code of nvcc calls it.
#[unsafe(export_name = "pagemill___cudaRegisterFunction")]
#[allow(clippy::too_many_arguments, reason = "nvcc decides how many there are")]
unsafe extern "C" fn register_function(
    handle: Handle,
    stub: *const c_void,
    _device_stub: *mut c_char,
    name: InText,
    _thread_limit: c_int,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _warp_size: *mut c_int,
) {
    guard("__cudaRegisterFunction", || {
        // SAFETY: nvcc's code passes the handle that `register_fat_binary` has given it.
        let (image, name) = (unsafe { image(handle) }?, name.get()?);
        register(|runtime| runtime.modules.add_function(image, address(stub), name))
    });
}

/// # Safety
/// See the module: only code of nvcc calls it.
#[unsafe(export_name = "pagemill___cudaRegisterVar")]
#[allow(clippy::too_many_arguments, reason = "nvcc decides how many there are")]
unsafe extern "C" fn register_variable(
    handle: Handle,
    shadow: *mut c_char,
    _device_address: *mut c_char,
    name: InText,
    _external: c_int,
    bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    guard("__cudaRegisterVar", || {
        // SAFETY: nvcc's code passes the handle that `register_fat_binary` has given it.
        let (image, name) = (unsafe { image(handle) }?, name.get()?);
        let shadow = address(shadow.cast());
        let bytes = bytes as u64;
        register(|runtime| runtime.modules.add_variable(image, shadow, name, bytes))
    });
}

/// # Safety
/// See the module: only code of nvcc calls it.
#[unsafe(export_name = "pagemill___cudaRegisterManagedVar")]
#[allow(clippy::too_many_arguments, reason = "nvcc decides how many there are")]
unsafe extern "C" fn register_managed_variable(
    handle: Handle,
    shadow: OutPtr<*mut c_void>,
    _device_address: *mut c_char,
    name: InText,
    _external: c_int,
    bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    guard("__cudaRegisterManagedVar", || {
        // SAFETY: nvcc's code passes the handle that `register_fat_binary` has given it.
        let (image, name) = (unsafe { image(handle) }?, name.get()?);
        let at =
            with_runtime(|runtime| runtime.register_managed_variable(image, name, bytes as u64))?;
        shadow.put(at as *mut c_void)
    });
}

api! {
    fn cudaGetSymbolAddress(to: OutPtr<*mut c_void>, shadow: *const c_void) {
        let (at, _) = with_runtime(|runtime| runtime.kernels().symbol(address(shadow)))?;
        to.put(at as *mut c_void)
    }

    fn cudaGetSymbolSize(to: OutPtr<usize>, shadow: *const c_void) {
        let (_, bytes) = with_runtime(|runtime| runtime.kernels().symbol(address(shadow)))?;
        to.put(bytes as usize)
    }
}
