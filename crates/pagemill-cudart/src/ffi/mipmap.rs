//! Mipmapped arrays, and resource views.

use std::ffi::{c_int, c_uint, c_void};

use super::array::checked;
use super::memory::CudaExtent;
use super::texture::ChannelFormat;
use super::{Done, address, api, give, null, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::View;
use pagemill_ptx::{ChannelKind, Texel};

/// `cudaResourceViewDesc` and `CUDA_RESOURCE_VIEW_DESC`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ViewDesc {
    format: c_int,
    extent: [usize; 3],
    levels: [c_uint; 2],
    layers: [c_uint; 2],
}

/// Kinds and bytes of the channels of view formats, three formats each: of 1, 2 and 4 channels.
const FORMATS: [(ChannelKind, u8); 8] = [
    (ChannelKind::Unsigned, 1),
    (ChannelKind::Signed, 1),
    (ChannelKind::Unsigned, 2),
    (ChannelKind::Signed, 2),
    (ChannelKind::Unsigned, 4),
    (ChannelKind::Signed, 4),
    (ChannelKind::Float, 2),
    (ChannelKind::Float, 4),
];

impl ViewDesc {
    /// The view at `view`, if that is not null.
    ///
    /// # Safety
    /// It points to a view then.
    pub(super) unsafe fn read(view: *const Self) -> Result<Option<View>, Fault> {
        if view.is_null() {
            return Ok(None);
        }
        // SAFETY: by the contract of this function.
        let Self {
            format,
            extent,
            levels,
            layers,
        } = unsafe { view.read_unaligned() };
        let number = usize::try_from(format - 1).ok();
        let known = number.and_then(|number| Some((FORMATS.get(number / 3)?, number % 3)));
        let texel = known.map(|(&(kind, channel_bytes), channels)| Texel {
            kind,
            channels: 1 << channels,
            channel_bytes,
        });
        if format != 0 && texel.is_none() {
            let message = format!(
                "pagemill does not support views of format {format:#x}: it has no compressed texels"
            );
            return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
        }
        Ok(Some(View {
            texel,
            extent: extent.map(|texels| texels as u64),
            levels,
            layers,
        }))
    }
}

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
        // SAFETY: see above.
        unsafe { create(to, format, [extent.width, extent.height, extent.depth], flags, levels) }
    }

    fn cudaGetMipmappedArrayLevel(to: *mut *mut c_void, own: *const c_void, level: c_uint) {
        let array = with_runtime(|runtime| runtime.mipmap_level(address(own), level))?;
        // SAFETY: see above.
        unsafe { give(to, array as *mut c_void) }
    }

    fn cudaFreeMipmappedArray(own: *mut c_void) {
        if own.is_null() {
            return Ok(());
        }
        with_runtime(|runtime| runtime.free_mipmapped(address(own)))
    }
}
