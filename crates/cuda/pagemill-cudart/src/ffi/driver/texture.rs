//! Arrays, texture and surface objects of the driver API.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::{driver, of_runtime};
use crate::error::Fault;
use crate::ffi::array;
use crate::ffi::mipmap;
use crate::ffi::resource_view::ViewDesc;
use crate::ffi::texture::{
    self, ChannelFormat, ResourceDesc, TexelFormat, TextureDesc, resource_at,
};
use crate::ffi::{Done, InPtr, OutPtr, address, with_runtime};
use crate::runtime::Resource;
use pagemill_ptx::{ChannelKind, Texel};

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ArrayDesc {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Array3dDesc {
    width: usize,
    height: usize,
    depth: usize,
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// `CUarray_format`: number, what its channels are, and their bits.
const FORMATS: [(c_uint, ChannelKind, c_int); 8] = [
    (0x01, ChannelKind::Unsigned, 8),
    (0x02, ChannelKind::Unsigned, 16),
    (0x03, ChannelKind::Unsigned, 32),
    (0x08, ChannelKind::Signed, 8),
    (0x09, ChannelKind::Signed, 16),
    (0x0a, ChannelKind::Signed, 32),
    (0x10, ChannelKind::Float, 16),
    (0x20, ChannelKind::Float, 32),
];

fn texel(format: c_uint, channels: c_uint) -> Result<Texel, Fault> {
    let known = FORMATS.iter().find(|(number, ..)| *number == format);
    match (known, channels) {
        (Some(&(_, kind, bits)), 1 | 2 | 4) => Ok(Texel {
            kind,
            channels: channels as u8,
            channel_bytes: (bits / 8) as u8,
        }),
        _ => Err(Fault::invalid(format!(
            "a texel of {channels} channels of format {format:#x} is not possible"
        ))),
    }
}

fn format_of(texel: Texel) -> c_uint {
    let bits = 8 * c_int::from(texel.channel_bytes);
    let known = FORMATS
        .iter()
        .find(|(_, kind, own)| *kind == texel.kind && *own == bits);
    known.map_or(0, |(number, ..)| *number)
}

fn create_array(to: OutPtr<*mut c_void>, desc: &Array3dDesc) -> Done {
    let format = ChannelFormat::of(texel(desc.format, desc.channels)?);
    let asked = [desc.width, desc.height, desc.depth];
    array::create(to, (&format).into(), asked, desc.flags)
}

fn describe(own: *mut c_void) -> Result<Array3dDesc, Fault> {
    let array = with_runtime(|runtime| runtime.arrays.array(address(own)).copied())?;
    let [width, height, depth] = array.asked.map(|texels| texels as usize);
    Ok(Array3dDesc {
        width,
        height,
        depth,
        format: format_of(array.image.texel),
        channels: array.image.texel.channels.into(),
        flags: array.flags,
    })
}

/// What texels are in `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DriverFormat {
    format: c_uint,
    channels: c_uint,
}

impl TexelFormat for DriverFormat {
    fn texel_of(self) -> Result<Texel, Fault> {
        texel(self.format, self.channels)
    }
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DriverTextureDesc {
    address: [c_int; 3],
    filter: c_int,
    flags: c_uint,
    anisotropy: c_uint,
    mipmap_filter: c_int,
    mipmap_bias: f32,
    mipmap_range: [f32; 2],
    border: [f32; 4],
}

/// `CU_TRSF_*`.
const READ_AS_INTEGER: c_uint = 1;
const NORMALIZED_COORDINATES: c_uint = 2;
const SRGB: c_uint = 0x10;

impl DriverTextureDesc {
    /// As the runtime says it. Floats and integers of 32 bits are read as they are in any case.
    fn of_runtime(&self, texel: Texel) -> TextureDesc {
        let is_normalized = texel.kind != ChannelKind::Float && texel.channel_bytes < 4;
        let as_it_is = self.flags & READ_AS_INTEGER != 0 || !is_normalized;
        TextureDesc {
            address: self.address,
            filter: self.filter,
            read: (!as_it_is).into(),
            srgb: (self.flags & SRGB != 0).into(),
            border: self.border,
            normalized_coordinates: (self.flags & NORMALIZED_COORDINATES != 0).into(),
            anisotropy: self.anisotropy,
            mipmap_filter: self.mipmap_filter,
            mipmap_bias: self.mipmap_bias,
            mipmap_range: self.mipmap_range,
        }
    }
}

fn texel_of(resource: &Resource) -> Result<Texel, Fault> {
    match *resource {
        Resource::Array(handle) => {
            with_runtime(|runtime| Ok(runtime.arrays.array(handle)?.image.texel))
        }
        Resource::Mipmapped(handle) => with_runtime(|runtime| {
            let first = runtime.mipmaps.mipmap_level(handle, 0)?;
            Ok(runtime.arrays.array(first)?.image.texel)
        }),
        Resource::Linear { texel, .. } | Resource::Pitched { texel, .. } => Ok(texel),
    }
}

/// One end of a copy of bytes: an array, from a byte on.
type ArrayPlace = (*mut c_void, usize);

/// # Safety
/// As the driver's.
unsafe fn to_array(
    (own, offset): ArrayPlace,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> Done {
    // SAFETY: the array is checked, and the program has `bytes` at the other end until the copy is done.
    of_runtime(|| unsafe { array::cudaMemcpyToArray(own, offset, 0, from, bytes, kind) })
}

/// # Safety
/// As the driver's.
unsafe fn from_array(
    to: *mut c_void,
    (own, offset): ArrayPlace,
    bytes: usize,
    kind: c_int,
) -> Done {
    // SAFETY: the array is checked, and the program has `bytes` at the other end until the copy is done.
    of_runtime(|| unsafe { array::cudaMemcpyFromArray(to, own, offset, 0, bytes, kind) })
}

/// `cudaMemcpyDefault`.
const ANY: c_int = 4;

driver! { Context:
    fn cuArrayCreate_v2(to: OutPtr<*mut c_void>, desc: InPtr<ArrayDesc>) {
        let ArrayDesc { width, height, format, channels } = desc.read()?;
        create_array(to, &Array3dDesc { width, height, depth: 0, format, channels, flags: 0 })
    }

    fn cuArray3DCreate_v2(to: OutPtr<*mut c_void>, desc: InPtr<Array3dDesc>) {
        create_array(to, &desc.read()?)
    }

    fn cuMipmappedArrayCreate(to: OutPtr<*mut c_void>, desc: InPtr<Array3dDesc>, levels: c_uint) {
        let desc = desc.read()?;
        let format = ChannelFormat::of(texel(desc.format, desc.channels)?);
        mipmap::create(to, (&format).into(), [desc.width, desc.height, desc.depth], desc.flags, levels)
    }

    fn cuArrayGetDescriptor_v2(to: OutPtr<ArrayDesc>, own: *mut c_void) {
        let Array3dDesc { width, height, format, channels, .. } = describe(own)?;
        to.put(ArrayDesc { width, height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(to: OutPtr<Array3dDesc>, own: *mut c_void) {
        let desc = describe(own)?;
        to.put(desc)
    }

    fn cuMemcpyHtoA_v2(to: *mut c_void, offset: usize, from: *const c_void, bytes: usize) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { to_array((to, offset), from, bytes, ANY) }
    }

    fn cuMemcpyAtoH_v2(to: *mut c_void, from: *mut c_void, offset: usize, bytes: usize) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { from_array(to, (from, offset), bytes, ANY) }
    }

    fn cuMemcpyDtoA_v2(to: *mut c_void, offset: usize, from: *const c_void, bytes: usize) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { to_array((to, offset), from, bytes, ANY) }
    }

    fn cuMemcpyAtoD_v2(to: *mut c_void, from: *mut c_void, offset: usize, bytes: usize) {
        // SAFETY: the program owns both ends as long as it says; those in device memory or arrays are checked.
        unsafe { from_array(to, (from, offset), bytes, ANY) }
    }

    fn cuTexObjectCreate(to: OutPtr<c_ulonglong>, resource: InPtr<ResourceDesc<DriverFormat>>, desc: InPtr<DriverTextureDesc>, view: InPtr<ViewDesc>) {
        to.needed()?;
        let desc = desc.read()?;
        let resource = resource_at(resource)?;
        let view = ViewDesc::read(view)?;
        let texel = view.and_then(|view| view.texel).map_or_else(|| texel_of(&resource), Ok)?;
        let desc = desc.of_runtime(texel);
        let (sampler, reading) = (desc.sampler()?, desc.reading());
        let handle = with_runtime(|runtime| runtime.create_texture(resource, sampler, reading, view))?;
        to.put(handle)
    }

    fn cuTexObjectDestroy(handle: c_ulonglong) {
        texture::destroy(handle)
    }

    fn cuSurfObjectCreate(to: OutPtr<c_ulonglong>, resource: InPtr<ResourceDesc<DriverFormat>>) {
        to.needed()?;
        let resource = resource_at(resource)?;
        let handle = with_runtime(|runtime| runtime.create_surface(resource))?;
        to.put(handle)
    }

    fn cuSurfObjectDestroy(handle: c_ulonglong) {
        texture::destroy(handle)
    }
}
