//! Images with levels, each half as large as the one before.

use super::{Image, TILE_ROWS, Texel, Texture};

/// Rows of tiled images begin at multiples of this, so that they are whole tiles.
const ROW_BYTES: u64 = 512;

/// How a fetch chooses among the levels of an image, which lie one behind the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mipmap {
    /// How many, at least 1.
    pub levels: u32,
    /// Whether the third dimension is layers or faces, which all levels have.
    pub layered: bool,
    /// Whether two levels are mixed, rather than the nearest taken.
    pub linear: bool,
    /// Added to the level that a fetch asks for.
    pub bias: f32,
    /// The least and the greatest level that a fetch gets.
    pub range: [f32; 2],
}

impl Image {
    /// A tiled image; `None` if it is more than can be addressed.
    pub fn tiled(address: u64, extent: [u64; 3], texel: Texel) -> Option<Self> {
        let row = extent[0].checked_mul(texel.bytes())?;
        let pitch_bytes = row.checked_next_multiple_of(ROW_BYTES)?;
        let rows = extent[1].checked_next_multiple_of(TILE_ROWS)?;
        let slice_bytes = rows.checked_mul(pitch_bytes)?;
        slice_bytes.checked_mul(extent[2])?;
        Some(Self {
            address,
            extent,
            pitch_bytes,
            slice_bytes,
            texel,
            tiled: true,
        })
    }

    /// Bytes that it takes in memory.
    pub fn taken_bytes(&self) -> u64 {
        self.slice_bytes * self.extent[2]
    }

    /// The level `level` of an image that has so many: right behind the one before, half as large.
    pub fn level(&self, level: u32, layered: bool) -> Self {
        let mut image = *self;
        for _ in 0..level {
            let address = image.address.saturating_add(image.taken_bytes());
            let half = image.extent.map(|texels| (texels / 2).max(1));
            let depth = if layered { image.extent[2] } else { half[2] };
            let smaller = Self::tiled(address, [half[0], half[1], depth], image.texel);
            image = smaller.unwrap_or(image);
        }
        image
    }
}

impl Texture {
    /// What a fetch of level `level` takes: an image, and perhaps the next with its weight.
    pub(crate) fn levels(&self, level: f32) -> (Image, Option<(Image, f32)>) {
        let Some(mipmap) = self.mipmap else {
            return (self.image, None);
        };
        let image = |level: f32| self.image.level(level as u32, mipmap.layered);
        let asked = if level.is_nan() { 0.0 } else { level };
        let [least, most] = mipmap.range;
        let last = mipmap.levels.saturating_sub(1) as f32;
        let level = (asked + mipmap.bias).max(least).min(most);
        let level = level.max(0.0).min(last);
        if !mipmap.linear {
            return (image((level + 0.5).floor().min(last)), None);
        }
        let low = level.floor();
        // As weights between texels are.
        let weight = ((level - low) * 256.0 + 0.5).floor() / 256.0;
        let next = (weight > 0.0).then(|| (image((low + 1.0).min(last)), weight));
        (image(low), next)
    }
}

#[cfg(test)]
mod tests;
