//! Barriers of blocks and of parts of blocks.

use super::harness::Device;
use super::inputs::Random;

#[test]
fn a_value_goes_around_the_block() {
    for threads in [32u32, 96, 250] {
        let mut device = Device::load("barriers");
        let out = device.zeros::<u32>(3 * threads as usize);
        device.launch("relay", 3, threads, &[out.into()]);
        let mut tile: Vec<u32> = (0..threads).collect();
        for step in 0..10 {
            let next = |t: u32| {
                tile[((t + 7) % threads) as usize]
                    .wrapping_mul(3)
                    .wrapping_add(step)
            };
            tile = (0..threads).map(next).collect();
        }
        assert_eq!(
            device.download::<u32>(out, 3 * threads as usize),
            tile.repeat(3),
            "{threads} threads"
        );
    }
}

#[test]
fn halves_of_a_block_have_their_own_barriers() {
    let mut device = Device::load("barriers");
    let out = device.zeros::<u32>(128);
    device.launch("halves", 1, 128, &[out.into()]);
    let mut tile: Vec<u32> = (0..128).map(|t| t * t).collect();
    for (half, rounds) in [(0, 4), (64, 5)] {
        for _ in 0..rounds {
            let next: Vec<u32> = (0..64)
                .map(|t| tile[half + t].wrapping_add(tile[half + (t + 1) % 64]))
                .collect();
            tile[half..half + 64].copy_from_slice(&next);
        }
    }
    assert_eq!(device.download::<u32>(out, 128), tile);
}

#[test]
fn a_producer_does_not_wait() {
    let mut device = Device::load("barriers");
    let out = device.zeros::<u32>(128);
    device.launch("produce", 1, 128, &[out.into()]);
    let wanted: Vec<u32> = (0..128)
        .map(|t| if t < 32 { 1 } else { 500 + t % 32 })
        .collect();
    assert_eq!(device.download::<u32>(out, 128), wanted);
}

#[test]
fn barriers_that_reduce() {
    let values: Vec<u32> = Random(2).words(128).iter().map(|word| word % 90).collect();
    for with_77 in [false, true] {
        let values: Vec<u32> = values
            .iter()
            .map(|&x| if x == 77 { 78 } else { x })
            .collect();
        let values = if with_77 {
            [&values[..127], &[77]].concat()
        } else {
            values
        };
        let mut device = Device::load("barriers");
        let (from, out) = (device.upload(&values), device.zeros::<u32>(4 * 128));
        device.launch("reduce", 1, 128, &[from.into(), out.into()]);
        let found: Vec<u32> = device.download(out, 4 * 128);
        let count = |test: fn(u32) -> bool| values.iter().filter(|&&x| test(x)).count() as u32;
        assert_eq!(found[..128], [count(|x| x.is_multiple_of(3)); 128]);
        assert!(found[128..256].iter().all(|&all| all != 0));
        assert!(found[256..384].iter().all(|&any| (any != 0) == with_77));
        assert_eq!(found[384..], [count(|x| x >= 50); 128]);
    }
}

#[test]
fn threads_that_left_are_not_waited_for() {
    let mut device = Device::load("barriers");
    let out = device.zeros::<u32>(128);
    device.launch("leavers", 1, 128, &[out.into()]);
    let wanted: Vec<u32> = (0..128).map(|t| if t < 64 { 64 - t } else { 9 }).collect();
    assert_eq!(device.download::<u32>(out, 128), wanted);
}

#[test]
fn warps_synchronize_and_sleep() {
    let mut device = Device::load("barriers");
    let out = device.zeros::<u32>(64);
    device.launch("warps", 1, 64, &[out.into()]);
    let wanted: Vec<u32> = (0..64).map(|t| (t ^ 31) * 5).collect();
    assert_eq!(device.download::<u32>(out, 64), wanted);
}
