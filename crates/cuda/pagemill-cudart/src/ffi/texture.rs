//! Texture and surface objects, and what their channels are.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use pagemill_ptx::{AddressMode, ChannelKind, Sampler, Texel, readable_list};

use super::resource_view::ViewDesc;
use super::{Done, InPtr, OutPtr, address, api, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::{MipReading, Resource};

/// `cudaChannelFormatDesc`: bits of each channel, and what they are.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ChannelFormat {
    bits: [c_int; 4],
    kind: c_int,
}

const KINDS: [ChannelKind; 3] = [
    ChannelKind::Signed,
    ChannelKind::Unsigned,
    ChannelKind::Float,
];

impl ChannelFormat {
    pub(super) fn texel(self) -> Result<Texel, Fault> {
        let channels = self.bits.iter().take_while(|&&bits| bits != 0).count();
        let first = self.bits[0];
        let kind = usize::try_from(self.kind)
            .ok()
            .and_then(|kind| KINDS.get(kind));
        let alike = self.bits[..channels].iter().all(|&bits| bits == first)
            && self.bits[channels..].iter().all(|&bits| bits == 0);
        match (kind, channels, first) {
            (Some(&kind), 1 | 2 | 4, 8 | 16 | 32)
                if alike && (kind, first) != (ChannelKind::Float, 8) =>
            {
                Ok(Texel {
                    kind,
                    channels: channels as u8,
                    channel_bytes: (first / 8) as u8,
                })
            }
            _ => {
                let message = format!(
                    "a texel of {} bits of kind {} is not possible: 1, 2 or 4 equal channels of 8, 16 or 32 bits are",
                    readable_list(&self.bits),
                    self.kind
                );
                Err(Fault::new(CudaError::INVALID_CHANNEL_DESCRIPTOR, message))
            }
        }
    }

    pub(super) fn of(texel: Texel) -> Self {
        let mut bits = [0; 4];
        bits[..usize::from(texel.channels)].fill(8 * c_int::from(texel.channel_bytes));
        let kind = KINDS.iter().position(|&kind| kind == texel.kind);
        Self {
            bits,
            kind: kind.unwrap_or(0) as c_int,
        }
    }
}

/// `cudaCreateChannelDesc`, which returns a structure and cannot fail.
#[unsafe(export_name = "pagemill_cudaCreateChannelDesc")]
extern "C" fn create_channel_desc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    kind: c_int,
) -> ChannelFormat {
    ChannelFormat {
        bits: [x, y, z, w],
        kind,
    }
}

/// What texels are, as one of the two APIs says it.
pub(super) trait TexelFormat: Copy {
    fn texel_of(self) -> Result<Texel, Fault>;
}

impl TexelFormat for ChannelFormat {
    fn texel_of(self) -> Result<Texel, Fault> {
        self.texel()
    }
}

/// `cudaResourceDesc`, or `CUDA_RESOURCE_DESC` with the driver's `F`, up to the last field that means something.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ResourceDesc<F = ChannelFormat> {
    kind: c_int,
    /// The array, or the address of the first texel.
    pointer: *mut c_void,
    format: F,
    /// Bytes of linear memory, or texels of a row.
    size: usize,
    rows: usize,
    pitch: usize,
}

impl<F: TexelFormat> ResourceDesc<F> {
    fn resource(&self) -> Result<Resource, Fault> {
        match self.kind {
            0 => Ok(Resource::Array(address(self.pointer))),
            2 => Ok(Resource::Linear {
                address: address(self.pointer),
                texel: self.format.texel_of()?,
                bytes: self.size as u64,
            }),
            3 => Ok(Resource::Pitched {
                address: address(self.pointer),
                texel: self.format.texel_of()?,
                width: self.size as u64,
                rows: self.rows as u64,
                pitch_bytes: self.pitch as u64,
            }),
            1 => Ok(Resource::Mipmapped(address(self.pointer))),
            kind => Err(Fault::invalid(format!("there is no resource type {kind}"))),
        }
    }
}

/// `cudaTextureDesc` up to the last field that means something here.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct TextureDesc {
    pub(super) address: [c_int; 3],
    pub(super) filter: c_int,
    pub(super) read: c_int,
    pub(super) srgb: c_int,
    pub(super) border: [f32; 4],
    pub(super) normalized_coordinates: c_int,
    pub(super) anisotropy: c_uint,
    pub(super) mipmap_filter: c_int,
    pub(super) mipmap_bias: f32,
    pub(super) mipmap_range: [f32; 2],
}

impl TextureDesc {
    pub(super) fn reading(&self) -> MipReading {
        MipReading {
            linear: self.mipmap_filter == 1,
            bias: self.mipmap_bias,
            range: self.mipmap_range,
        }
    }

    pub(super) fn sampler(&self) -> Result<Sampler, Fault> {
        if self.srgb != 0 {
            let message = "pagemill does not support sRGB textures";
            return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
        }
        let mode = |mode: c_int| match mode {
            0 => Ok(AddressMode::Wrap),
            1 => Ok(AddressMode::Clamp),
            2 => Ok(AddressMode::Mirror),
            3 => Ok(AddressMode::Border),
            _ => Err(Fault::invalid(format!(
                "there is no addressing mode {mode}"
            ))),
        };
        let [x, y, z] = self.address;
        Ok(Sampler {
            address: [mode(x)?, mode(y)?, mode(z)?],
            linear: self.filter == 1,
            normalized_read: self.read == 1,
            normalized_coordinates: self.normalized_coordinates != 0,
            border: self.border,
        })
    }
}

pub(super) fn resource_at<F: TexelFormat>(
    resource: InPtr<ResourceDesc<F>>,
) -> Result<Resource, Fault> {
    resource.read()?.resource()
}

pub(super) fn destroy(handle: c_ulonglong) -> Done {
    // As free, a destructor of nothing does nothing.
    if handle == 0 {
        return Ok(());
    }
    with_runtime(|runtime| runtime.device.destroy_texture(handle))
}

api! {
    fn cudaCreateTextureObject(to: OutPtr<c_ulonglong>, resource: InPtr<ResourceDesc>, texture: InPtr<TextureDesc>, view: InPtr<ViewDesc>) {
        to.needed()?;
        let desc = texture.read()?;
        let (resource, sampler) = (resource_at(resource)?, desc.sampler()?);
        let view = ViewDesc::read(view)?;
        let handle = with_runtime(|runtime| {
            runtime.create_texture(resource, sampler, desc.reading(), view)
        })?;
        to.put(handle)
    }

    fn cudaDestroyTextureObject(handle: c_ulonglong) {
        destroy(handle)
    }

    fn cudaCreateSurfaceObject(to: OutPtr<c_ulonglong>, resource: InPtr<ResourceDesc>) {
        to.needed()?;
        let resource = resource_at(resource)?;
        let handle = with_runtime(|runtime| runtime.create_surface(resource))?;
        to.put(handle)
    }

    fn cudaDestroySurfaceObject(handle: c_ulonglong) {
        destroy(handle)
    }
}
