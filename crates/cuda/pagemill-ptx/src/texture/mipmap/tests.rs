use super::super::{ChannelKind, Sampler};
use super::*;

fn texture(linear: bool, bias: f32, range: [f32; 2]) -> Texture {
    let texel = Texel {
        kind: ChannelKind::Float,
        channels: 1,
        channel_bytes: 4,
    };
    let mipmap = Mipmap {
        levels: 4,
        layered: false,
        linear,
        bias,
        range,
    };
    Texture {
        image: Image::tiled(4096, [8, 5, 3], texel).expect("it is small"),
        sampler: Sampler::default(),
        mipmap: Some(mipmap),
    }
}

#[test]
fn levels_halve_and_follow_each_other() {
    let image = texture(false, 0.0, [0.0; 2]).image;
    let extents: Vec<_> = (0..4)
        .map(|level| image.level(level, false).extent)
        .collect();
    assert_eq!(extents, [[8, 5, 3], [4, 2, 1], [2, 1, 1], [1, 1, 1]]);
    assert_eq!(image.level(2, true).extent, [2, 1, 3]);
    for level in 0..3 {
        let own = image.level(level, false);
        let next = image.level(level + 1, false);
        assert_eq!(next.address, own.address + own.taken_bytes());
    }
}

#[test]
fn levels_are_chosen_within_their_range() {
    let chosen = |linear, bias, range, level| {
        let texture = texture(linear, bias, range);
        let width = |image: Image| image.extent[0];
        let (first, next) = texture.levels(level);
        (
            width(first),
            next.map(|(image, weight)| (width(image), weight)),
        )
    };
    let all = [0.0, 9.0];
    for (level, width) in [
        (0.0, 8),
        (0.49, 8),
        (0.5, 4),
        (2.6, 1),
        (70.0, 1),
        (-3.0, 8),
        (f32::NAN, 8),
    ] {
        assert_eq!(chosen(false, 0.0, all, level), (width, None), "{level}");
    }
    assert_eq!(chosen(false, 1.0, all, 1.0), (2, None));
    assert_eq!(chosen(false, 0.0, [1.0, 2.0], 0.0), (4, None));
    assert_eq!(chosen(false, 0.0, [1.0, 2.0], 3.0), (2, None));
    assert_eq!(chosen(false, 0.0, [0.0, 0.0], 3.0), (8, None));
    assert_eq!(chosen(true, 0.0, all, 1.25), (4, Some((2, 0.25))));
    assert_eq!(chosen(true, 0.0, all, 2.0), (2, None));
    assert_eq!(chosen(true, 0.0, all, 9.0), (1, None));
}
