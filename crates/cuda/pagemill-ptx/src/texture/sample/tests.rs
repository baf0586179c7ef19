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
