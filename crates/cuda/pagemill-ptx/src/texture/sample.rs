//! Which texels a fetch takes, and what it makes of them.

use super::{AddressMode, ChannelKind, Image, Sampler, Texture};
use pagemill_ptx_ir::functions::half::to_single;

/// Where a fetch goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Coordinates {
    /// Texels, or fractions of the extent.
    Float([f32; 3]),
    /// Texels by number.
    Integer([i32; 3]),
}

/// The dimensions of a fetch; the others of an image are layers.
pub(crate) type Dimensions = usize;

/// Farther from any image than it is wide, and still a number of texels.
const FAR: f32 = (1u32 << 30) as f32;

/// Bits of a blending weight behind the binary point.
const WEIGHT_STEPS: f32 = 256.0;

/// The coordinate in texels, where the addressing mode repeats the image.
fn in_texels(coordinate: f32, extent: u64, mode: AddressMode, sampler: &Sampler) -> f32 {
    if !sampler.normalized_coordinates {
        return coordinate;
    }
    let fraction = coordinate - coordinate.floor();
    let within = match mode {
        AddressMode::Wrap => fraction,
        AddressMode::Mirror if coordinate.floor() % 2.0 != 0.0 => 1.0 - fraction,
        AddressMode::Mirror => fraction,
        AddressMode::Clamp | AddressMode::Border => coordinate,
    };
    within * extent as f32
}

/// The texel that a number outside of the image stands for; `None` for the border.
fn within(index: i64, extent: u64, mode: AddressMode, sampler: &Sampler) -> Option<u64> {
    let last = extent as i64 - 1;
    if (0..=last).contains(&index) {
        return Some(index as u64);
    }
    match mode {
        AddressMode::Border => None,
        AddressMode::Wrap if sampler.normalized_coordinates => {
            Some(index.rem_euclid(extent as i64) as u64)
        }
        // Repeating needs normalized coordinates; a mirror's neighbor is the texel itself.
        _ => Some(index.clamp(0, last) as u64),
    }
}

/// Numbers of the texels at the coordinates, for each dimension the lower and the upper one and the upper one's weight.
struct Taps {
    indices: [[Option<u64>; 2]; 3],
    weights: [f32; 3],
}

fn taps(
    texture: &Texture,
    coordinates: Coordinates,
    layer: u64,
    dimensions: Dimensions,
    linear: bool,
) -> Taps {
    let Texture { image, sampler, .. } = texture;
    let mut taps = Taps {
        indices: [[Some(0); 2]; 3],
        weights: [0.0; 3],
    };
    for axis in 0..dimensions {
        let (mode, extent) = (sampler.address[axis], image.extent[axis]);
        let (low, weight) = match coordinates {
            Coordinates::Integer(texel) => (i64::from(texel[axis]), 0.0),
            Coordinates::Float(place) => {
                let texels = in_texels(place[axis], extent, mode, sampler);
                // What is no number is some texel, and infinity is far outside.
                let texels = if texels.is_nan() {
                    0.0
                } else {
                    texels.clamp(-FAR, FAR)
                };
                let at = if linear { texels - 0.5 } else { texels };
                let weight = (at - at.floor()) * WEIGHT_STEPS;
                (at.floor() as i64, (weight + 0.5).floor() / WEIGHT_STEPS)
            }
        };
        taps.indices[axis] =
            [low, low.saturating_add(1)].map(|index| within(index, extent, mode, sampler));
        taps.weights[axis] = if linear { weight } else { 0.0 };
    }
    if dimensions < 3 {
        let last = image.extent[2] - 1;
        taps.indices[2] = [Some(layer.min(last)); 2];
    }
    taps
}

/// The first texel that a fetch takes, as column, row and slice; `None` if it is the border.
pub(crate) fn nearest_texel(
    texture: &Texture,
    coordinates: Coordinates,
    layer: u64,
    dimensions: Dimensions,
) -> Option<[u64; 3]> {
    let linear = texture.sampler.linear && matches!(coordinates, Coordinates::Float(_));
    let taps = taps(texture, coordinates, layer, dimensions, linear);
    let [x, y, z] = taps.indices.map(|pair| pair[0].or(pair[1]));
    Some([x?, y?, z?])
}

/// The bits of a fetch's four channels: of numbers, or of integers of 32 bits. `data` are the image's bytes.
pub(crate) fn sample(
    texture: &Texture,
    coordinates: Coordinates,
    layer: u64,
    dimensions: Dimensions,
    data: &[u8],
) -> [u32; 4] {
    let sampler = &texture.sampler;
    let linear = sampler.linear && matches!(coordinates, Coordinates::Float(_));
    let taps = taps(texture, coordinates, layer, dimensions, linear);
    if !linear {
        let [x, y, z] = taps.indices.map(|pair| pair[0]);
        return texel_bits(texture, x, y, z, data);
    }
    let mut sum = [0.0f32; 4];
    for corner in 0..1usize << dimensions {
        let side = |axis: usize| corner >> axis & 1;
        let weight = (0..dimensions).fold(1.0, |weight, axis| {
            weight
                * if side(axis) == 1 {
                    taps.weights[axis]
                } else {
                    1.0 - taps.weights[axis]
                }
        });
        if weight == 0.0 {
            continue;
        }
        let [x, y, z] = [0, 1, 2].map(|axis| taps.indices[axis][side(axis)]);
        let texel = texel_bits(texture, x, y, z, data);
        for (sum, bits) in sum.iter_mut().zip(texel) {
            *sum += weight * f32::from_bits(bits);
        }
    }
    sum.map(f32::to_bits)
}

/// Channel `component` of the four texels that a linear fetch would mix, from the lower left one counter-clockwise.
pub(crate) fn gather(
    texture: &Texture,
    place: [f32; 3],
    component: usize,
    data: &[u8],
) -> [u32; 4] {
    let taps = taps(texture, Coordinates::Float(place), 0, 2, true);
    let [columns, rows, slices] = taps.indices;
    [(0, 1), (1, 1), (1, 0), (0, 0)]
        .map(|(x, y)| texel_bits(texture, columns[x], rows[y], slices[0], data)[component & 3])
}

fn texel_bits(
    texture: &Texture,
    x: Option<u64>,
    y: Option<u64>,
    z: Option<u64>,
    data: &[u8],
) -> [u32; 4] {
    let (Some(x), Some(y), Some(z)) = (x, y, z) else {
        return border_bits(texture);
    };
    let Image { texel, .. } = texture.image;
    let bytes = usize::from(texel.channel_bytes);
    let start = texture.image.offset(x * texel.bytes(), y, z) as usize;
    let mut bits = [0; 4];
    for (channel, bits) in bits
        .iter_mut()
        .enumerate()
        .take(usize::from(texel.channels))
    {
        let at = start + channel * bytes;
        let raw = data.get(at..at + bytes).unwrap_or_default();
        let raw = raw
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u32::from(byte));
        *bits = channel_bits(raw, &texture.image, texture.sampler.normalized_read);
    }
    bits
}

fn channel_bits(raw: u32, image: &Image, normalized: bool) -> u32 {
    let bits = 8 * u32::from(image.texel.channel_bytes);
    let signed = ((raw << (32 - bits)) as i32) >> (32 - bits);
    match image.texel.kind {
        ChannelKind::Float if bits == 16 => to_single(raw.into(), 0, 0, 0) as u32,
        ChannelKind::Float => raw,
        ChannelKind::Unsigned if normalized => {
            let most = (1u64 << bits) - 1;
            (raw as f32 / most as f32).to_bits()
        }
        ChannelKind::Signed if normalized => {
            let most = (1u64 << (bits - 1)) - 1;
            (signed as f32 / most as f32).max(-1.0).to_bits()
        }
        ChannelKind::Unsigned => raw,
        ChannelKind::Signed => signed as u32,
    }
}

fn border_bits(texture: &Texture) -> [u32; 4] {
    let Texture { image, sampler, .. } = texture;
    sampler.border.map(|value| match image.texel.kind {
        ChannelKind::Float => value.to_bits(),
        _ if sampler.normalized_read => value.to_bits(),
        ChannelKind::Signed => value as i32 as u32,
        ChannelKind::Unsigned => value as u32,
    })
}

#[cfg(test)]
mod tests;
