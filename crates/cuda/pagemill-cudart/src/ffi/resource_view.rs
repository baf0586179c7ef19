//! Resource views: the part of an array that a texture object shows, and as what.

use std::ffi::{c_int, c_uint};

use pagemill_ptx::{ChannelKind, Texel};

use super::InPtr;
use crate::error::{CudaError, Fault};
use crate::runtime::View;

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
    pub(super) fn read(view: InPtr<Self>) -> Result<Option<View>, Fault> {
        if view.is_null() {
            return Ok(None);
        }
        let Self {
            format,
            extent,
            levels,
            layers,
        } = view.read()?;
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
