//! Which texels a fetch takes, and what it makes of them.

use super::{AddressMode, ChannelKind, Image, Sampler, Texture};
use crate::exec::functions::half::to_single;

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
mod tests {
    use super::super::Texel;
    use super::*;
    use proptest::prelude::*;

    fn texture(values: &[f32], extent: [u64; 3], sampler: Sampler) -> (Texture, Vec<u8>) {
        let image = Image {
            address: 0,
            extent,
            pitch_bytes: extent[0] * 4,
            slice_bytes: extent[0] * extent[1] * 4,
            texel: Texel {
                kind: ChannelKind::Float,
                channels: 1,
                channel_bytes: 4,
            },
            tiled: false,
        };
        let data = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let mipmap = None;
        (
            Texture {
                image,
                sampler,
                mipmap,
            },
            data,
        )
    }

    fn at(place: f32, address: AddressMode, linear: bool, normalized: bool) -> f32 {
        let sampler = Sampler {
            address: [address; 3],
            linear,
            normalized_coordinates: normalized,
            border: [-1.0; 4],
            ..Sampler::default()
        };
        let (texture, data) = texture(&[10.0, 20.0, 30.0, 40.0], [4, 1, 1], sampler);
        f32::from_bits(sample(&texture, Coordinates::Float([place, 0.0, 0.0]), 0, 1, &data)[0])
    }

    #[test]
    fn the_nearest_texel_is_the_one_that_the_coordinate_is_in() {
        use AddressMode::{Border, Clamp, Mirror, Wrap};
        for (place, mode, value) in [
            (0.0, Clamp, 10.0),
            (1.99, Clamp, 20.0),
            (-3.0, Clamp, 10.0),
            (9.0, Clamp, 40.0),
            (9.0, Border, -1.0),
            (-0.1, Border, -1.0),
            // Without normalized coordinates these two are as clamping.
            (5.0, Wrap, 40.0),
            (5.0, Mirror, 40.0),
        ] {
            assert_eq!(at(place, mode, false, false), value, "{place} {mode:?}");
        }
        for (place, mode, value) in [
            (0.25, Clamp, 20.0),
            (1.25, Wrap, 20.0),
            (-0.25, Wrap, 40.0),
            (1.3, Mirror, 30.0),
            (-0.25, Mirror, 20.0),
            (1.25, Border, -1.0),
            (1.25, Clamp, 40.0),
        ] {
            assert_eq!(at(place, mode, false, true), value, "{place} {mode:?}");
        }
    }

    #[test]
    fn linear_filtering_mixes_in_256_steps() {
        use AddressMode::{Border, Clamp, Wrap};
        assert_eq!(at(1.5, Clamp, true, false), 20.0);
        assert_eq!(at(2.0, Clamp, true, false), 25.0);
        assert_eq!(at(2.0 + 0.4 / 256.0, Clamp, true, false), 25.0);
        assert_eq!(
            at(2.0 + 1.0 / 256.0, Clamp, true, false),
            25.0 + 10.0 / 256.0
        );
        assert_eq!(at(0.1, Clamp, true, false), 10.0);
        assert_eq!(at(4.0, Border, true, false), 19.5);
        assert_eq!(at(0.0, Wrap, true, true), 25.0);
        assert_eq!(at(f32::NAN, Clamp, true, true), 10.0, "some texel");
    }

    #[test]
    fn integers_are_widened_or_normalized() {
        let image = |kind, channel_bytes| Image {
            address: 0,
            extent: [1, 1, 1],
            pitch_bytes: 4,
            slice_bytes: 4,
            texel: Texel {
                kind,
                channels: 1,
                channel_bytes,
            },
            tiled: false,
        };
        assert_eq!(
            channel_bits(0x80, &image(ChannelKind::Signed, 1), false),
            0xffff_ff80
        );
        assert_eq!(
            channel_bits(0x80, &image(ChannelKind::Unsigned, 1), false),
            0x80
        );
        assert_eq!(
            channel_bits(0xff, &image(ChannelKind::Unsigned, 1), true),
            1f32.to_bits()
        );
        assert_eq!(
            channel_bits(0x8000, &image(ChannelKind::Signed, 2), true),
            (-1f32).to_bits()
        );
        assert_eq!(
            channel_bits(0x7fff, &image(ChannelKind::Signed, 2), true),
            1f32.to_bits()
        );
        assert_eq!(
            channel_bits(0x3800, &image(ChannelKind::Float, 2), false),
            0.5f32.to_bits()
        );
    }

    #[test]
    fn gathering_starts_at_the_lower_left() {
        let (texture, data) = texture(&[1.0, 2.0, 3.0, 4.0], [2, 2, 1], Sampler::default());
        let found = gather(&texture, [1.0, 1.0, 0.0], 0, &data).map(f32::from_bits);
        assert_eq!(found, [3.0, 4.0, 2.0, 1.0]);
    }

    proptest! {
        /// In the middle of a texel, filtering changes nothing, and between two it stays between them.
        #[test]
        fn filtering_stays_between_the_texels(
            values in prop::collection::vec(-100f32..100.0, 12),
            x in -2f32..6.0,
            y in -2f32..5.0,
        ) {
            let linear = Sampler { linear: true, ..Sampler::default() };
            let (texture, data) = texture(&values, [4, 3, 1], linear);
            let fetch = |x, y| f32::from_bits(sample(&texture, Coordinates::Float([x, y, 0.0]), 0, 2, &data)[0]);
            let (low, high) = values.iter().fold((f32::MAX, f32::MIN), |(low, high), &v| (low.min(v), high.max(v)));
            let found = fetch(x, y);
            prop_assert!(found >= low - 1e-3 && found <= high + 1e-3, "{found}");
            let (column, row) = (x.clamp(0.0, 3.9).floor(), y.clamp(0.0, 2.9).floor());
            let texel = values[row as usize * 4 + column as usize];
            prop_assert_eq!(fetch(column + 0.5, row + 0.5), texel);
        }
    }
}
