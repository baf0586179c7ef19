//! Operations between the lanes of a warp.

use super::harness::Device;
use super::inputs::Random;

/// A shuffle of one lane: the lane read from and whether it was inside, as the manual words it.
fn source_lane(mode: &str, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (bound, segment) = (c & 31, c >> 8 & 31);
    let max_lane = (lane & segment) | (bound & !segment);
    let min_lane = lane & segment;
    let (wanted, inside) = match mode {
        "up" => (
            lane.wrapping_sub(b & 31),
            lane as i32 - (b & 31) as i32 >= max_lane as i32,
        ),
        "down" => (lane + (b & 31), lane + (b & 31) <= max_lane),
        "bfly" => (lane ^ b & 31, lane ^ b & 31 <= max_lane),
        _ => {
            let wanted = min_lane | (b & 31 & !segment);
            (wanted, wanted <= max_lane)
        }
    };
    (if inside { wanted } else { lane }, inside)
}

#[test]
fn shuffle_modes() {
    let mut device = Device::load("warp_shuffle");
    let out = device.zeros::<u32>(12 * 32);
    device.launch("modes", 1, 32, &[out.into()]);
    let found: Vec<u32> = device.download(out, 12 * 32);
    type Shuffle = (&'static str, fn(u32) -> u32, u32);
    let shuffles: [Shuffle; 12] = [
        ("up", |_| 1, 0x0),
        ("up", |_| 7, 0x0),
        ("up", |_| 3, 0x1800),
        ("down", |_| 1, 0x1F),
        ("down", |_| 20, 0x1F),
        ("down", |_| 3, 0x181F),
        ("bfly", |_| 1, 0x1F),
        ("bfly", |_| 17, 0x1F),
        ("bfly", |_| 4, 0x1C1F),
        ("idx", |_| 5, 0x1F),
        ("idx", |t| t * 3 + 40, 0x1F),
        ("idx", |t| t + 1, 0x181F),
    ];
    for ((mode, b, c), row) in shuffles.into_iter().zip(found.chunks(32)) {
        for (t, &found) in row.iter().enumerate() {
            let (from, inside) = source_lane(mode, t as u32, b(t as u32), c);
            assert_eq!(
                found,
                (from * from + 3) * 2 + u32::from(inside),
                "{mode} {c:#x} lane {t}"
            );
        }
    }
}

#[test]
fn shuffles_that_reduce() {
    let values: Vec<f64> = (0..32).map(|i| f64::from(i) * 0.5 - 3.0).collect();
    let mut device = Device::load("warp_shuffle");
    let from = device.upload(&values);
    let (sum, prefix) = (device.zeros::<f64>(32), device.zeros::<u64>(32));
    device.launch("reduce", 1, 32, &[from.into(), sum.into(), prefix.into()]);
    assert_eq!(
        device.download::<f64>(sum, 32),
        [values.iter().sum::<f64>(); 32]
    );
    let wanted: Vec<u64> = (0..32).map(|t| (0..=t).map(|i| i * i + 1).sum()).collect();
    assert_eq!(device.download::<u64>(prefix, 32), wanted);
}

#[test]
fn shuffle_between_some_lanes() {
    let mut device = Device::load("warp_shuffle");
    let out = device.zeros::<u32>(32);
    device.launch("part", 1, 32, &[out.into()]);
    let wanted: Vec<u32> = (0..32)
        .map(|t| {
            if t % 2 == 1 {
                (t + 2) % 32 * 10
            } else {
                1000 + t
            }
        })
        .collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
}

/// The mask of lanes for which `test` holds.
fn ballot(test: impl Fn(usize) -> bool) -> u32 {
    (0..32)
        .filter(|&lane| test(lane))
        .fold(0, |mask, lane| mask | 1 << lane)
}

#[test]
fn votes() {
    for low in [0, 3] {
        let values: Vec<u32> = Random(u64::from(low))
            .words(32)
            .iter()
            .map(|word| low + word % 40)
            .collect();
        let mut device = Device::load("warp_vote");
        let (from, out) = (device.upload(&values), device.zeros::<u32>(9 * 32));
        device.launch("votes", 1, 32, &[from.into(), out.into()]);
        let found: Vec<u32> = device.download(out, 9 * 32);
        let all = |test: fn(u32) -> bool| u32::from(values.iter().all(|&x| test(x)));
        let any = |test: fn(u32) -> bool| u32::from(values.iter().any(|&x| test(x)));
        let uniform = values.iter().all(|x| x & 1 == values[0] & 1);
        let whole = [
            all(|x| x > 2),
            all(|x| x < 1000),
            any(|x| x == 5),
            any(|x| x > 1000),
            ballot(|lane| values[lane].is_multiple_of(3)),
            u32::from(uniform),
            1,
        ];
        for (row, wanted) in found.chunks(32).zip(whole) {
            assert_eq!(row, [wanted; 32]);
        }
        let odd = ballot(|lane| lane % 2 == 1 && values[lane] > 10) | 1 << 31;
        let wanted: Vec<u32> = (0..32).map(|t| if t % 2 == 1 { odd } else { 0 }).collect();
        assert_eq!(found[7 * 32..8 * 32], wanted);
        assert_eq!(found[8 * 32..], [ballot(|lane| values[lane] >= 10); 32]);
    }
}

#[test]
fn matches() {
    let values = Random(21).words(32);
    let mut device = Device::load("warp_vote");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(8 * 32));
    device.launch("matches", 1, 32, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 8 * 32);
    let x: Vec<u32> = values.iter().map(|value| value % 5).collect();
    let peers: Vec<u32> = (0..32).map(|t| ballot(|lane| x[lane] == x[t])).collect();
    assert_eq!(found[..32], peers);
    assert_eq!(found[32..64], peers);
    for (row, wanted) in found[64..].chunks(32).zip([0, 0, u32::MAX, 1, u32::MAX, 1]) {
        assert_eq!(row, [wanted; 32]);
    }
}

#[test]
fn active_lanes() {
    let mut device = Device::load("warp_vote");
    let out = device.zeros::<u32>(64);
    device.launch("active", 1, 32, &[out.into()]);
    let third = ballot(|lane| lane % 3 == 0);
    let rest = ballot(|lane| lane % 3 != 0 && lane < 16) << 1 | 1;
    let wanted: Vec<u32> = (0..32)
        .map(|t| match t {
            _ if t % 3 == 0 => third,
            0..16 => rest,
            _ => 0,
        })
        .collect();
    let found: Vec<u32> = device.download(out, 64);
    assert_eq!(found[..32], wanted);
    assert_eq!(found[32..], [u32::MAX; 32]);
}

#[test]
fn reductions_in_one_instruction() {
    let values = Random(31).words(32);
    let mut device = Device::load("warp_reduce_sm80");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(10 * 32));
    device.launch("reduce", 1, 32, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 10 * 32);
    let sum = |values: &[u32]| values.iter().fold(0u32, |sum, x| sum.wrapping_add(*x));
    let signed = || values.iter().map(|&x| x as i32);
    let wanted = [
        sum(&values),
        sum(&values),
        values.iter().copied().min().unwrap_or(0),
        signed().min().unwrap_or(0) as u32,
        values.iter().copied().max().unwrap_or(0),
        signed().max().unwrap_or(0) as u32,
        values
            .iter()
            .fold(u32::MAX, |and, x| and & (x | 0xF0F0_F0F0)),
        values.iter().fold(0, |or, x| or | x & 0x00FF_00FF),
        values.iter().fold(0, |xor, x| xor ^ x),
    ];
    for (row, wanted) in found.chunks(32).zip(wanted) {
        assert_eq!(row, [wanted; 32]);
    }
    let part: Vec<u32> = (0..32)
        .map(|t| if t < 12 { sum(&values[..12]) } else { 0 })
        .collect();
    assert_eq!(found[9 * 32..], part);
}

#[test]
fn one_lane_is_elected() {
    let mut device = Device::load("warp_elect_sm90");
    let out = device.zeros::<u32>(64);
    device.launch("elect", 1, 32, &[out.into()]);
    assert_eq!(device.download::<u32>(out, 64), [1; 64]);
}
