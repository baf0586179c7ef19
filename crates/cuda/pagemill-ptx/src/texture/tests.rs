use super::*;
use std::collections::BTreeSet;

#[test]
fn every_byte_of_a_tiled_image_has_an_address_of_its_own() {
    let texel = Texel {
        kind: ChannelKind::Unsigned,
        channels: 1,
        channel_bytes: 1,
    };
    let image = Image {
        address: 4096,
        extent: [96, 8, 2],
        pitch_bytes: 96,
        slice_bytes: 96 * 8,
        texel,
        tiled: true,
    };
    let mut seen = BTreeSet::new();
    for z in 0..2 {
        for y in 0..8 {
            seen.extend((0..96).map(|x| image.timed_address(x, y, z)));
        }
    }
    assert_eq!(seen.len() as u64, image.bytes());
    assert_eq!(seen.first(), Some(&4096));
    assert_eq!(seen.last(), Some(&(4096 + image.bytes() - 1)));
    // Four rows of one tile are in one segment.
    assert_eq!(
        image.timed_address(40, 3, 0) / 128,
        image.timed_address(63, 0, 0) / 128
    );
}
