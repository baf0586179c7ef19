//! Mipmapped arrays.

use std::ffi::{c_uint, c_void};

use super::array::checked;
use super::memory::CudaExtent;
use super::texture::ChannelFormat;
use super::{Done, address, api, give, null, with_runtime};

/// # Safety
/// `to` and `format` are null or point to what they name.
pub(super) unsafe fn create(
    to: *mut *mut c_void,
    format: *const ChannelFormat,
    asked: [usize; 3],
    flags: c_uint,
    levels: c_uint,
) -> Done {
    if to.is_null() {
        return Err(null());
    }
    // SAFETY: by the contract of this function.
    let (texel, asked) = unsafe { checked(format, asked, flags)? };
    let handle = with_runtime(|runtime| runtime.create_mipmapped(texel, asked, flags, levels))?;
    // SAFETY: by the contract of this function.
    unsafe { give(to, handle as *mut c_void) }
}

// SAFETY, of all blocks below: see the module.
api! {
    fn cudaMallocMipmappedArray(to: *mut *mut c_void, format: *const ChannelFormat, extent: CudaExtent, levels: c_uint, flags: c_uint) {
        // SAFETY: the program passes `to` as null or room for a handle; `format` as null or a pointer to
        // `ChannelFormat`.
        unsafe { create(to, format, [extent.width, extent.height, extent.depth], flags, levels) }
    }

    fn cudaGetMipmappedArrayLevel(to: *mut *mut c_void, own: *const c_void, level: c_uint) {
        let array = with_runtime(|runtime| runtime.mipmap_level(address(own), level))?;
        // SAFETY: the program passes `to` as null or room for a handle.
        unsafe { give(to, array as *mut c_void) }
    }

    fn cudaFreeMipmappedArray(own: *mut c_void) {
        if own.is_null() {
            return Ok(());
        }
        with_runtime(|runtime| runtime.free_mipmapped(address(own)))
    }
}
