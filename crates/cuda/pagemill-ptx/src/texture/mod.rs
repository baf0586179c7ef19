//! Images that kernels reach through handles: textures, which are sampled, and surfaces, which are read and written.
//!
//! What a fetch returns is that of the appendix "Texture Fetching" of the CUDA C++ Programming Guide.

mod cube;
mod mipmap;
mod sample;

pub use mipmap::Mipmap;

pub(crate) use cube::face;
pub(crate) use sample::{Coordinates, gather, nearest_texel, sample};

/// What a texel's channels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Integers from zero.
    Unsigned,
    /// Two's complement.
    Signed,
    /// Floating-point numbers of 16 or 32 bits.
    Float,
}

/// The format of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texel {
    /// What the channels are.
    pub kind: ChannelKind,
    /// Channels: 1, 2 or 4.
    pub channels: u8,
    /// Bytes of a channel: 1, 2 or 4.
    pub channel_bytes: u8,
}

impl Texel {
    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.channels) * u64::from(self.channel_bytes)
    }
}

/// Texels in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Address of the first texel.
    pub address: u64,
    /// Texels in each dimension, at least 1. Of a layered image, the last is the layers.
    pub extent: [u64; 3],
    /// Bytes from one row to the next.
    pub pitch_bytes: u64,
    /// Bytes from one slice or layer to the next.
    pub slice_bytes: u64,
    /// What the texels are.
    pub texel: Texel,
    /// Whether hardware keeps the texels in tiles. They are kept in rows here, and only the addresses that the timing
    /// model sees are those of tiles of 32 bytes times 4 rows; pitch and rows have to be multiples of that.
    pub tiled: bool,
}

const TILE_ROWS: u64 = 4;
const TILE_ROW_BYTES: u64 = 32;

impl Image {
    /// Size from the first texel to the end of the last in bytes.
    pub fn bytes(&self) -> u64 {
        let [width, height, depth] = self.extent;
        (depth - 1) * self.slice_bytes
            + (height - 1) * self.pitch_bytes
            + width * self.texel.bytes()
    }

    /// Offset of byte `x_bytes` of row `y` of slice `z`.
    pub(crate) fn offset(&self, x_bytes: u64, y: u64, z: u64) -> u64 {
        z * self.slice_bytes + y * self.pitch_bytes + x_bytes
    }

    /// The address that stands for those bytes in the timing model.
    pub(crate) fn timed_address(&self, x_bytes: u64, y: u64, z: u64) -> u64 {
        if !self.tiled {
            return self.address + self.offset(x_bytes, y, z);
        }
        let tile = y / TILE_ROWS * (self.pitch_bytes / TILE_ROW_BYTES) + x_bytes / TILE_ROW_BYTES;
        let within = y % TILE_ROWS * TILE_ROW_BYTES + x_bytes % TILE_ROW_BYTES;
        self.address + z * self.slice_bytes + tile * TILE_ROWS * TILE_ROW_BYTES + within
    }
}

/// What coordinates outside of the image mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressMode {
    /// The image repeats. Only with normalized coordinates.
    Wrap,
    /// The nearest texel.
    Clamp,
    /// The image repeats, every second time reversed. Only with normalized coordinates.
    Mirror,
    /// A color of its own.
    Border,
}

/// How an image is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// For each dimension.
    pub address: [AddressMode; 3],
    /// Whether neighbors are mixed, rather than the nearest texel taken.
    pub linear: bool,
    /// Whether integers become numbers from 0 or -1 to 1.
    pub normalized_read: bool,
    /// Whether 1 is the whole extent, rather than a texel.
    pub normalized_coordinates: bool,
    /// What [`AddressMode::Border`] gives.
    pub border: [f32; 4],
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            address: [AddressMode::Clamp; 3],
            linear: false,
            normalized_read: false,
            normalized_coordinates: false,
            border: [0.0; 4],
        }
    }
}

/// What a handle stands for: a texture, or a surface, which does not use its sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Where the texels are.
    pub image: Image,
    /// How they are read.
    pub sampler: Sampler,
    /// How levels are chosen, if the image is the first of several.
    pub mipmap: Option<Mipmap>,
}

#[cfg(test)]
mod tests;
