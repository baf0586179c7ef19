//! Calls of device functions.

use super::harness::Device;
use super::inputs::Random;

#[test]
fn structures_of_floats() {
    let values: Vec<f32> = (0..70).map(|i| (i * 37 % 19) as f32 * 0.25 - 2.0).collect();
    let mut device = Device::load("functions");
    let (from, out) = (device.upload(&values), device.zeros::<f32>(128));
    device.launch("vectors", 1, 64, &[from.into(), out.into()]);
    // All values are small multiples of a power of two: every sum and product is exact, contracted or not.
    type Vector = [f32; 3];
    let dot = |a: Vector, b: Vector| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let cross = |a: Vector, b: Vector| {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    };
    let found: Vec<f32> = device.download(out, 128);
    for t in 0..64 {
        let [a, b] = [t, t + 3].map(|at| [values[at], values[at + 1], values[at + 2]]);
        let c = cross(a, b);
        assert_eq!(found[t], dot(c, a) + dot(a, b));
        assert_eq!(found[64 + t], dot(cross(c, b), [1.0, 2.0, 3.0]));
    }
}

#[test]
fn structures_of_integers() {
    let mut random = Random(17);
    let values: Vec<u64> = (0..33).map(|_| random.next()).collect();
    let mut device = Device::load("functions");
    let (from, out) = (device.upload(&values), device.zeros::<u64>(64));
    device.launch("structs", 1, 32, &[from.into(), out.into()]);
    let multiply = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64, (product >> 64) as u64)
    };
    let wanted: Vec<u64> = (0..32)
        .flat_map(|t| {
            let (low, high) = multiply(values[t], values[t + 1]);
            let (low, high) = multiply(low, high);
            [low ^ high, t as u64 + 2]
        })
        .collect();
    assert_eq!(device.download::<u64>(out, 64), wanted);
}

fn digits(x: u32) -> u32 {
    x.to_string()
        .bytes()
        .map(|digit| u32::from(digit - b'0'))
        .sum()
}

fn root(x: u32) -> u32 {
    match digits(x) {
        _ if x < 10 => x,
        sum @ 0..10 => sum + 50,
        sum => digits(sum),
    }
}

#[test]
fn calls_under_divergence() {
    let values: Vec<u32> = Random(19)
        .words(64)
        .iter()
        .enumerate()
        .map(|(i, word)| word >> (i % 32))
        .collect();
    let mut device = Device::load("functions");
    let (from, out) = (device.upload(&values), device.upload(&[99u32; 128]));
    device.launch("divergent", 1, 64, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 128);
    for (t, &x) in values.iter().enumerate() {
        let mut wanted = if x % 2 == 0 {
            root(x)
        } else {
            digits(x) * 1000
        };
        wanted += if x % 3 == 0 { root(x / 3) } else { 0 };
        let narrow = i16::from(x as i8).wrapping_sub((x >> 8) as i16);
        assert_eq!(found[t], wanted + u32::from(narrow as u16), "thread {t}");
        assert_eq!(found[64 + t], if x % 20 == 13 { 99 } else { x % 20 });
    }
}

#[test]
fn calls_written_by_hand() {
    let values: Vec<u32> = Random(23).words(32).iter().map(|word| word % 200).collect();
    let mut device = Device::load("by_hand_calls");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(5 * 32));
    device.launch("calls", 1, 32, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 5 * 32);
    for (t, &x) in values.iter().enumerate() {
        let square = ((x % 100) as f32).powi(2);
        let wanted = [
            x / 7 * 10 + x % 7,
            square.to_bits(),
            x + t as u32 + 1000,
            x.min(50),
            (t as u32).min(10),
        ];
        let found: Vec<u32> = (0..5).map(|row| found[row * 32 + t]).collect();
        assert_eq!(found, wanted, "thread {t}");
    }
}
