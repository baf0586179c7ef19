//! Mipmapped arrays.

use std::ffi::{c_uint, c_void};

use super::array::checked;
use super::memory::CudaExtent;
use super::texture::ChannelFormat;
use super::{Done, InPtr, OutPtr, address, api, with_runtime};

pub(super) fn create(
    to: OutPtr<*mut c_void>,
    format: InPtr<ChannelFormat>,
    asked: [usize; 3],
    flags: c_uint,
    levels: c_uint,
) -> Done {
    to.needed()?;
    let (texel, asked) = checked(format, asked, flags)?;
    let handle = with_runtime(|runtime| runtime.create_mipmapped(texel, asked, flags, levels))?;
    to.put(handle as *mut c_void)
}

api! {
    fn cudaMallocMipmappedArray(to: OutPtr<*mut c_void>, format: InPtr<ChannelFormat>, extent: CudaExtent, levels: c_uint, flags: c_uint) {
        create(to, format, [extent.width, extent.height, extent.depth], flags, levels)
    }

    fn cudaGetMipmappedArrayLevel(to: OutPtr<*mut c_void>, own: *const c_void, level: c_uint) {
        let array = with_runtime(|runtime| runtime.mipmaps.mipmap_level(address(own), level))?;
        to.put(array as *mut c_void)
    }

    fn cudaFreeMipmappedArray(own: *mut c_void) {
        if own.is_null() {
            return Ok(());
        }
        with_runtime(|runtime| runtime.free_mipmapped(address(own)))
    }
}
