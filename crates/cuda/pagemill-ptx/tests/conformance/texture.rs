//! Textures and surfaces.

use super::harness::Device;
use pagemill_ptx::{AddressMode, ChannelKind, Image, Sampler, Texel, TrapKind};

/// An image of 8 times 4 texels of `channels` parts of four bytes, `slices` times, at `address`.
fn image(address: u64, kind: ChannelKind, slices: u64) -> Image {
    Image {
        address,
        extent: [8, 4, slices],
        pitch_bytes: 32,
        slice_bytes: 128,
        texel: Texel {
            kind,
            channels: 1,
            channel_bytes: 4,
        },
        tiled: true,
    }
}

fn texel(x: usize, y: usize, z: usize) -> f32 {
    (z * 100 + y * 10 + x) as f32
}

fn texels(slices: usize) -> Vec<f32> {
    (0..32 * slices)
        .map(|i| texel(i % 8, i / 8 % 4, i / 32))
        .collect()
}

#[test]
fn fetches_take_the_texels_at_their_coordinates() {
    let mut device = Device::load("textures");
    let address = device.upload(&texels(1));
    let linear = Sampler {
        linear: true,
        ..Sampler::default()
    };
    let beyond = Sampler {
        address: [AddressMode::Border; 3],
        ..Sampler::default()
    };
    let plane = image(address, ChannelKind::Float, 1);
    let line = Image {
        extent: [32, 1, 1],
        tiled: false,
        ..plane
    };
    // Four lines as layers of one row each.
    let lines = Image {
        extent: [8, 1, 4],
        slice_bytes: 32,
        tiled: false,
        ..plane
    };
    let plane = device.bind(plane, linear);
    let (line, lines) = (device.bind(line, beyond), device.bind(lines, beyond));
    let out = device.zeros::<f32>(192);
    device.launch(
        "fetches",
        4,
        8,
        &[plane.into(), line.into(), lines.into(), out.into()],
    );
    let found: Vec<f32> = device.download(out, 192);
    for (i, (x, y)) in (0..4).flat_map(|y| (0..8).map(move |x| (x, y))).enumerate() {
        let rows: Vec<f32> = (0..6).map(|row| found[32 * row + i]).collect();
        let here = texel(x, y, 0);
        let halfway = (here + texel((x + 1).min(7), y, 0)) / 2.0;
        assert_eq!(rows, [here, halfway, here, here, here, here], "({x}, {y})");
    }
}

#[test]
fn slices_and_layers_are_apart() {
    let mut device = Device::load("textures");
    let address = device.upload(&texels(3));
    let image = image(address, ChannelKind::Float, 3);
    let texture = device.bind(image, Sampler::default());
    let out = device.zeros::<f32>(192);
    let arguments = [texture.into(), texture.into(), out.into()];
    device.launch("slices", [4, 3, 1], 8, &arguments);
    assert_eq!(
        device.download::<f32>(out, 192),
        [texels(3), texels(3)].concat()
    );
}

#[test]
fn surfaces_are_read_and_written() {
    let mut device = Device::load("textures");
    let numbers: Vec<u32> = (0..32).collect();
    let plane_at = device.upload(&numbers);
    let layers_at = device.zeros::<u32>(64);
    let pairs: Vec<u32> = (0..8).map(|x| x | (x + 1) << 16).collect();
    let pairs_at = device.upload(&pairs);
    let any = Sampler::default();
    let plane = device.bind(image(plane_at, ChannelKind::Unsigned, 1), any);
    let layers = device.bind(image(layers_at, ChannelKind::Unsigned, 2), any);
    let pair = Texel {
        kind: ChannelKind::Unsigned,
        channels: 2,
        channel_bytes: 2,
    };
    let halves = Image {
        extent: [8, 1, 1],
        texel: pair,
        ..image(pairs_at, ChannelKind::Unsigned, 1)
    };
    let halves = device.bind(halves, any);
    let out = device.zeros::<u32>(96);
    // Rows 0 and 1 go to rows 2 and 3. Then all are read, and those two are written once more, so that the order of the
    // blocks does not matter.
    for blocks in [2, 4] {
        let arguments = [plane.into(), layers.into(), halves.into(), out.into()];
        device.launch("surfaces", blocks, 8, &arguments);
    }
    let found: Vec<u32> = device.download(out, 96);
    let moved = |i: u32| if i < 16 { i } else { i - 16 + 1 };
    for i in 0..32 {
        let before = if i % 8 == 0 { i } else { i - 1 };
        let expected = [moved(i), moved(before), i % 8 + 1000 * (i % 8 + 1)];
        let rows = [0, 32, 64].map(|row| found[row + i as usize]);
        assert_eq!(rows, expected, "{i}");
    }
    let mut written: Vec<u32> = vec![0; 32];
    written.extend(0..32);
    assert_eq!(device.download::<u32>(layers_at, 64), written);
}

#[test]
fn what_is_no_texture_and_what_is_outside_is_told() {
    let mut device = Device::load("textures");
    let out = device.zeros::<f32>(192);
    let nothing = 99u64;
    let arguments = [nothing.into(), nothing.into(), out.into()];
    let trap = device.trap("slices", 1, 8, &arguments);
    assert_eq!(trap.kind, TrapKind::NoTexture { handle: 99 });
    let address = device.upload(&(0..32).collect::<Vec<u32>>());
    let plane = device.bind(image(address, ChannelKind::Unsigned, 1), Sampler::default());
    let arguments = [plane.into(), plane.into(), plane.into(), out.into()];
    // The second layer is none of this surface's.
    let trap = device.trap("surfaces", 1, 8, &arguments);
    let TrapKind::OutsideSurface { place, extent, .. } = trap.kind else {
        panic!("{trap}");
    };
    assert_eq!((place, extent), ([0, 0, 1], [32, 4, 1]));
}

#[test]
fn a_grid_without_a_workspace_has_none() {
    let mut device = Device::load("textures");
    let out = device.upload(&[7u32, 7]);
    device.launch("workspace", 1, 1, &[out.into()]);
    assert_eq!(device.download::<u32>(out, 2), [0, 0]);
}
