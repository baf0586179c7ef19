//! CUDA arrays, and the texture and surface objects that kernels reach them by.

use std::collections::BTreeMap;

use pagemill_ptx::{AddressMode, ChannelKind, Image, Sampler, Texel, Texture, readable_list};
use pagemill_sim::Buffer;

use super::copies::{Extent, Span};
use super::device::Device;
use super::views::{MipReading, View};
use super::{Runtime, Side};
use crate::error::{CudaError, Fault};

/// Set in handles of arrays, and in no address.
const HANDLE_TAG: u64 = 0x6d << 56;

/// Where the texels of a texture or surface object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The array of this handle.
    Array(u64),
    /// The mipmapped array of this handle.
    Mipmapped(u64),
    /// Consecutive texels.
    Linear {
        /// Address of the first.
        address: u64,
        /// What they are.
        texel: Texel,
        /// All of them.
        bytes: u64,
    },
    /// Rows of texels.
    Pitched {
        /// Address of the first.
        address: u64,
        /// What they are.
        texel: Texel,
        /// Texels of a row.
        width: u64,
        /// Rows.
        rows: u64,
        /// From one row to the next.
        pitch_bytes: u64,
    },
}

/// One CUDA array.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Its memory; `None` of a level of a mipmapped array, which has it.
    pub(super) buffer: Option<Buffer>,
    /// Its texels.
    pub image: Image,
    /// Width, height and depth as the program asked for them.
    pub asked: [u64; 3],
    /// The flags of its allocation.
    pub flags: u32,
}

/// All arrays, and how many there ever were.
#[derive(Debug, Default)]
pub struct Arrays {
    live: BTreeMap<u64, Array>,
    made: u64,
}

impl Arrays {
    /// Adds an array, and returns its handle.
    pub(super) fn add(&mut self, array: Array) -> u64 {
        self.made += 1;
        let handle = HANDLE_TAG | self.made;
        self.live.insert(handle, array);
        handle
    }

    pub(super) fn remove(&mut self, handle: u64) {
        self.live.remove(&handle);
    }

    /// The array of a handle.
    ///
    /// # Errors
    /// If there is none.
    pub fn array(&self, handle: u64) -> Result<&Array, Fault> {
        self.live.get(&handle).ok_or_else(|| {
            let message = format!("{handle:#x} is no CUDA array");
            Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
        })
    }

    /// Where `extent` lies in an array, from byte `at[0]` of row `at[1]` of slice `at[2]` on.
    ///
    /// # Errors
    /// If there is no such array, or it does not reach that far.
    pub fn array_span(&self, handle: u64, at: [u64; 3], extent: &Extent) -> Result<Span, Fault> {
        let image = self.array(handle)?.image;
        let [width, rows, slices] = image.extent;
        let sizes = [width * image.texel.bytes(), rows, slices];
        let wanted = [extent.width_bytes, extent.rows, extent.slices];
        let fits = at
            .iter()
            .zip(wanted)
            .zip(sizes)
            .all(|((&at, wanted), size)| at.checked_add(wanted).is_some_and(|end| end <= size));
        if !fits {
            let [wanted, at, sizes] = [wanted, at, sizes].map(|list| readable_list(&list));
            return Err(Fault::invalid(format!(
                "a copy of {wanted} from {at} on is not within an array of {sizes} (bytes of a row, rows, slices)"
            )));
        }
        let offset = at[2] * image.slice_bytes + at[1] * image.pitch_bytes + at[0];
        Ok(Span {
            address: image.address + offset,
            pitch_bytes: image.pitch_bytes,
            slice_bytes: image.slice_bytes,
        })
    }
}

/// `cudaArrayLayered`.
const LAYERED: u32 = 1;
/// `cudaArrayCubemap`.
const CUBEMAP: u32 = 4;

/// Where the texels of an array of `asked` texels in each dimension lie, from address 0 on.
///
/// # Errors
/// No texels, more than can be addressed, or a cube that is none.
pub(super) fn check_shape(texel: Texel, asked: [u64; 3], flags: u32) -> Result<Image, Fault> {
    let wrong = |message: String| Fault::invalid(message);
    if asked[0] == 0 {
        return Err(wrong("an array needs at least one texel".to_owned()));
    }
    let [width, height, faces] = asked;
    let has_faces = match flags & LAYERED != 0 {
        true => faces > 0 && faces.is_multiple_of(6),
        false => faces == 6,
    };
    if flags & CUBEMAP != 0 && !(width == height && has_faces) {
        let asked = readable_list(&asked);
        return Err(wrong(format!(
            "a cubemap of {asked} texels is not possible: its faces are squares, and there are six for each layer"
        )));
    }
    let image = Image::tiled(0, asked.map(|texels| texels.max(1)), texel);
    image.ok_or_else(|| {
        let asked = readable_list(&asked);
        let message = format!("an array of {asked} texels is more than can be addressed");
        Fault::new(CudaError::MEMORY_ALLOCATION, message)
    })
}

impl Device {
    fn check_image(&mut self, image: &Image) -> Result<(), Fault> {
        let [width, rows, slices] = image.extent;
        let extent = Extent {
            width_bytes: width.saturating_mul(image.texel.bytes()),
            rows,
            slices,
        };
        if image.extent.contains(&0) || extent.bytes().is_none() {
            let extent = readable_list(&image.extent);
            let message = format!("a texture of {extent} texels is not possible");
            return Err(Fault::invalid(message));
        }
        let span = Span {
            address: image.address,
            pitch_bytes: image.pitch_bytes,
            slice_bytes: image.slice_bytes,
        };
        match self.locate(&span, &extent)? {
            (Side::Host, _) => Err(Fault::invalid(format!(
                "{:#x} is no memory of the GPU",
                image.address
            ))),
            _ => Ok(()),
        }
    }

    /// Forgets a texture or surface object.
    ///
    /// # Errors
    /// If there is none.
    pub fn destroy_texture(&mut self, handle: u64) -> Result<(), Fault> {
        if self.gpu.unbind_texture(handle) {
            return Ok(());
        }
        let message = format!("there is no texture or surface object {handle:#x}");
        Err(Fault::invalid(message))
    }
}

impl Runtime {
    /// Memory for arrays.
    pub(super) fn take_array_memory(&mut self, bytes: u64) -> Result<Buffer, Fault> {
        let at = self.streams.host();
        Ok(self.device.gpu.alloc_fixed(at, "CUDA array", bytes)?)
    }

    /// `cudaMallocArray` and its kin: an array of `asked` texels in each dimension, 0 for those that it does not have.
    /// Returns its handle.
    ///
    /// # Errors
    /// No texels, or no room for them.
    pub fn create_array(
        &mut self,
        texel: Texel,
        asked: [u64; 3],
        flags: u32,
    ) -> Result<u64, Fault> {
        let shape = check_shape(texel, asked, flags)?;
        let buffer = self.take_array_memory(shape.taken_bytes())?;
        let image = Image {
            address: buffer.address.0,
            ..shape
        };
        Ok(self.arrays.add(Array {
            buffer: Some(buffer),
            image,
            asked,
            flags,
        }))
    }

    /// `cudaFreeArray`; waits for the GPU.
    ///
    /// # Errors
    /// If there is no such array.
    pub fn free_array(&mut self, handle: u64) -> Result<(), Fault> {
        let buffer = self.arrays.array(handle)?.buffer.ok_or_else(|| {
            Fault::invalid("a level of a mipmapped array is freed with the array")
        })?;
        self.synchronize();
        self.device.gpu.free_fixed(self.streams.host(), buffer)?;
        self.arrays.live.remove(&handle);
        Ok(())
    }

    /// Makes a texture object, and returns its handle.
    ///
    /// # Errors
    /// Memory that is not the GPU's, or a way of reading that the texels do not allow.
    pub fn create_texture(
        &mut self,
        resource: Resource,
        sampler: Sampler,
        reading: MipReading,
        view: Option<View>,
    ) -> Result<u64, Fault> {
        let mut mipmap = None;
        let mut image = match resource {
            Resource::Array(handle) => self.arrays.array(handle)?.image,
            Resource::Mipmapped(handle) => {
                let (image, levels) = self.mipmapped_image(handle, reading)?;
                mipmap = Some(levels);
                image
            }
            Resource::Linear {
                address,
                texel,
                bytes,
            } => Image {
                address,
                extent: [bytes / texel.bytes(), 1, 1],
                pitch_bytes: bytes,
                slice_bytes: bytes,
                texel,
                tiled: false,
            },
            Resource::Pitched {
                address,
                texel,
                width,
                rows,
                pitch_bytes,
            } => Image {
                address,
                extent: [width, rows, 1],
                pitch_bytes,
                slice_bytes: 0,
                texel,
                tiled: false,
            },
        };
        if let Some(view) = view {
            view.narrow(&mut image, &mut mipmap)?;
        }
        self.device.check_image(&image)?;
        check_sampler(&image, &sampler)?;
        if reading.linear && mipmap.is_some() {
            let linear = true;
            check_sampler(&image, &Sampler { linear, ..sampler })?;
        }
        let sampler = match resource {
            // What is fetched from beyond the end is zero.
            Resource::Linear { .. } => Sampler {
                address: [AddressMode::Border; 3],
                border: [0.0; 4],
                ..sampler
            },
            _ => sampler,
        };
        Ok(self.device.gpu.bind_texture(Texture {
            image,
            sampler,
            mipmap,
        }))
    }

    /// Makes a surface object, and returns its handle.
    ///
    /// # Errors
    /// As [`Runtime::create_texture`]; of a mipmapped array, whose levels have surfaces of their own.
    pub fn create_surface(&mut self, resource: Resource) -> Result<u64, Fault> {
        if let Resource::Mipmapped(_) = resource {
            let message = "a surface shows a level of a mipmapped array (cudaGetMipmappedArrayLevel), not all of it";
            return Err(Fault::invalid(message));
        }
        self.create_texture(resource, Sampler::default(), MipReading::default(), None)
    }
}

fn check_sampler(image: &Image, sampler: &Sampler) -> Result<(), Fault> {
    let is_float = image.texel.kind == ChannelKind::Float;
    if sampler.normalized_read && !is_float && image.texel.channel_bytes == 4 {
        let message = "integers of 32 bits cannot be read as normalized floats";
        return Err(Fault::new(CudaError::INVALID_NORM_SETTING, message));
    }
    if sampler.linear && !is_float && !sampler.normalized_read {
        let message = "linear filtering needs texels that are read as floats";
        return Err(Fault::new(CudaError::INVALID_FILTER_SETTING, message));
    }
    Ok(())
}
