//! Mipmapped arrays: levels that are arrays themselves, one behind the other.

use std::collections::BTreeMap;

use pagemill_ptx::{Image, Mipmap, Texel, readable_list};
use pagemill_sim::Buffer;

use super::Runtime;
use super::arrays::{Array, check_shape};
use super::views::{MipReading, View};
use crate::error::{CudaError, Fault};

/// Set in handles of mipmapped arrays, and in no address.
const HANDLE_TAG: u64 = 0x73 << 56;

/// One mipmapped array.
#[derive(Clone, Debug)]
struct Mipmapped {
    buffer: Buffer,
    /// Handles of its levels.
    levels: Vec<u64>,
}

/// All mipmapped arrays, and how many there ever were.
#[derive(Debug, Default)]
pub struct Mipmaps {
    live: BTreeMap<u64, Mipmapped>,
    made: u64,
}

impl Mipmaps {
    /// The array that is a level of a mipmapped array.
    ///
    /// # Errors
    /// If there is no such array or level.
    pub fn mipmap_level(&self, handle: u64, level: u32) -> Result<u64, Fault> {
        let levels = &self.mipmapped(handle)?.levels;
        levels.get(level as usize).copied().ok_or_else(|| {
            Fault::invalid(format!(
                "a mipmapped array of {} levels has no level {level}",
                levels.len()
            ))
        })
    }

    fn mipmapped(&self, handle: u64) -> Result<&Mipmapped, Fault> {
        self.live.get(&handle).ok_or_else(|| {
            let message = format!("{handle:#x} is no mipmapped array");
            Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
        })
    }
}

impl Runtime {
    /// `cudaMallocMipmappedArray`: at most `levels` levels, the last of one texel.
    ///
    /// # Errors
    /// As for arrays; no levels.
    pub fn create_mipmapped(
        &mut self,
        texel: Texel,
        asked: [u64; 3],
        flags: u32,
        levels: u32,
    ) -> Result<u64, Fault> {
        if levels == 0 {
            return Err(Fault::invalid("a mipmapped array needs at least one level"));
        }
        let first = check_shape(texel, asked, flags)?;
        let layered = is_layered(flags);
        let halved = &first.extent[..if layered { 2 } else { 3 }];
        let longest = halved.iter().copied().max().unwrap_or(1);
        let levels = levels.min(longest.ilog2() + 1);
        let last = first.level(levels - 1, layered);
        let bytes = last.address + last.taken_bytes();
        let buffer = self.take_array_memory(bytes)?;
        let first = Image {
            address: buffer.address.0,
            ..first
        };
        let handles = (0..levels).map(|level| {
            let image = first.level(level, layered);
            // As the program would have asked for it.
            let asked = std::array::from_fn(|axis| match asked[axis] {
                0 => 0,
                _ => image.extent[axis],
            });
            self.arrays.add(Array {
                buffer: None,
                image,
                asked,
                flags,
            })
        });
        let handles: Vec<u64> = handles.collect();
        self.mipmaps.made += 1;
        let handle = HANDLE_TAG | self.mipmaps.made;
        let levels = handles;
        self.mipmaps
            .live
            .insert(handle, Mipmapped { buffer, levels });
        Ok(handle)
    }

    /// `cudaFreeMipmappedArray`; waits for the GPU.
    ///
    /// # Errors
    /// If there is no such array.
    pub fn free_mipmapped(&mut self, handle: u64) -> Result<(), Fault> {
        let Mipmapped { buffer, levels } = self.mipmaps.mipmapped(handle)?.clone();
        self.synchronize();
        self.device.gpu.free_fixed(self.streams.host(), buffer)?;
        for level in levels {
            self.arrays.remove(level);
        }
        self.mipmaps.live.remove(&handle);
        Ok(())
    }

    /// The first level of a mipmapped array, and how a texture reads its levels.
    pub(super) fn mipmapped_image(
        &self,
        handle: u64,
        reading: MipReading,
    ) -> Result<(Image, Mipmap), Fault> {
        let levels = &self.mipmaps.mipmapped(handle)?.levels;
        let first = self.arrays.array(levels[0])?;
        let mipmap = Mipmap {
            levels: levels.len() as u32,
            layered: is_layered(first.flags),
            linear: reading.linear,
            bias: reading.bias,
            range: reading.range,
        };
        Ok((first.image, mipmap))
    }
}

/// `cudaArrayLayered` and `cudaArrayCubemap`: the third dimension is not halved.
fn is_layered(flags: u32) -> bool {
    flags & 5 != 0
}

impl View {
    /// Narrows an image, with its levels, to what the view shows.
    ///
    /// # Errors
    /// If the image does not have that.
    pub(super) fn narrow(
        &self,
        image: &mut Image,
        mipmap: &mut Option<Mipmap>,
    ) -> Result<(), Fault> {
        let wrong = |message: String| Err(Fault::invalid(message));
        if let Some(texel) = self.texel {
            if texel.bytes() != image.texel.bytes() {
                return wrong(format!(
                    "a view of texels of {} bytes cannot show texels of {}",
                    texel.bytes(),
                    image.texel.bytes()
                ));
            }
            image.texel = texel;
        }
        let sizes = self.extent.iter().zip(image.extent);
        if sizes
            .into_iter()
            .any(|(&own, of_image)| own != 0 && own != of_image)
        {
            return wrong(format!(
                "a view of {} texels cannot show an array of {}",
                readable_list(&self.extent),
                readable_list(&image.extent)
            ));
        }
        let [first, last] = self.levels;
        let levels = mipmap.map_or(1, |mipmap| mipmap.levels);
        if first > last || last >= levels {
            return wrong(format!(
                "levels {first} to {last} are not in an array of {levels}"
            ));
        }
        let [bottom, top] = self.layers.map(u64::from);
        let slices = image.extent[2];
        if bottom > top || top >= slices && top > 0 {
            return wrong(format!(
                "layers {bottom} to {top} are not in an array of {slices}"
            ));
        }
        let shows_all = top == 0 || (bottom, top + 1) == (0, slices);
        if !shows_all && last > 0 {
            let message = "pagemill does not show some layers of a mipmapped array";
            return Err(Fault::new(CudaError::NOT_SUPPORTED, message));
        }
        if let Some(mipmap) = mipmap {
            *image = image.level(first, mipmap.layered);
            mipmap.levels = last - first + 1;
        }
        if !shows_all {
            image.address += bottom * image.slice_bytes;
            image.extent[2] = top - bottom + 1;
        }
        Ok(())
    }
}
