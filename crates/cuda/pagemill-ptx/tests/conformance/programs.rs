//! Small programs as the compiler writes them.

use super::harness::Device;
use super::inputs::Random;
use half::f16;

#[test]
fn matrix_product() {
    let n = 45usize;
    let mut random = Random(41);
    let mut matrix = || -> Vec<f32> { (0..n * n).map(|_| random.unit() as f32 - 0.5).collect() };
    let (a, b) = (matrix(), matrix());
    let mut device = Device::load("program_matmul");
    let [a_at, b_at] = [&a, &b].map(|values| device.upload(values));
    let c_at = device.zeros::<f32>(n * n);
    device.launch(
        "matmul",
        [3, 3, 1],
        [16, 16, 1],
        &[a_at.into(), b_at.into(), c_at.into(), (n as u32).into()],
    );
    // The same order of fused operations; the padding of the last tile adds products of zero, which change nothing.
    let dot = |i: usize| {
        (0..n).fold(0f32, |sum, k| {
            a[i / n * n + k].mul_add(b[k * n + i % n], sum)
        })
    };
    let wanted: Vec<f32> = (0..n * n).map(dot).collect();
    assert_eq!(device.download::<f32>(c_at, n * n), wanted);
}

#[test]
fn sort_scan_and_histogram() {
    let mut random = Random(43);
    let keys: Vec<u64> = (0..768).map(|_| random.next() >> 40).collect();
    let mut device = Device::load("program_sort");
    let at = device.upload(&keys);
    device.launch("sort", 3, 256, &[at.into()]);
    let mut wanted = keys.clone();
    wanted.chunks_mut(256).for_each(<[u64]>::sort_unstable);
    assert_eq!(device.download::<u64>(at, 768), wanted);

    let words = Random(44).words(128);
    let (from, out) = (device.upload(&words), device.zeros::<u32>(128));
    device.launch("scan", 1, 128, &[from.into(), out.into()]);
    let sums = words.iter().scan(0u32, |sum, word| {
        *sum = sum.wrapping_add(*word);
        Some(*sum)
    });
    assert_eq!(device.download::<u32>(out, 128), sums.collect::<Vec<u32>>());

    let bytes: Vec<u8> = (0..5000)
        .map(|_| (random.next() >> 50) as u8 & 0x7F)
        .collect();
    let (from, bins) = (device.upload(&bytes), device.zeros::<u32>(256));
    device.launch(
        "histogram",
        3,
        96,
        &[from.into(), bins.into(), 5000u32.into()],
    );
    let mut wanted = vec![0u32; 256];
    bytes
        .iter()
        .for_each(|&byte| wanted[usize::from(byte)] += 1);
    assert_eq!(device.download::<u32>(bins, 256), wanted);
}

#[test]
fn crc32() {
    let mut device = Device::load("program_integers");
    let text: Vec<u8> = (0..64 * 9)
        .map(|i| b"123456789"[i % 9].wrapping_add((i / 9) as u8))
        .collect();
    let (from, out) = (device.upload(&text), device.zeros::<u32>(64));
    device.launch("crc", 1, 64, &[from.into(), out.into(), 9u32.into()]);
    let found: Vec<u32> = device.download(out, 64);
    // The check value of CRC-32.
    assert_eq!(found[0], 0xCBF4_3926);
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| {
                crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 }
            })
        })
    };
    assert_eq!(found, text.chunks(9).map(crc).collect::<Vec<u32>>());
}

#[test]
fn wide_integers() {
    let mut random = Random(47);
    let values: Vec<u64> = (0..40).map(|_| random.next()).collect();
    let mut device = Device::load("program_integers");
    let (from, out) = (device.upload(&values), device.zeros::<u64>(64));
    device.launch("wide", 1, 32, &[from.into(), out.into()]);
    let wanted: Vec<u64> = (0..32)
        .flat_map(|t| {
            let a = u128::from(values[t]) << 64 | u128::from(values[t + 1]);
            let b = u128::from(values[t + 2]) << 7 | 3;
            let c = a
                .wrapping_mul(b)
                .wrapping_add(a >> 13)
                .wrapping_sub(b << 70);
            let c = c ^ c << ((t * 4) & 127);
            [c as u64, (c >> 64) as u64]
        })
        .collect();
    assert_eq!(device.download::<u64>(out, 64), wanted);
}

#[test]
fn powers_and_quotients() {
    let words = Random(53).words(65);
    let mut device = Device::load("program_integers");
    let (from, out) = (device.upload(&words), device.zeros::<u32>(64));
    device.launch("power", 1, 64, &[from.into(), out.into()]);
    let power = |pair: &[u32]| {
        let (mut base, mut exponent, mut result) = (u64::from(pair[0]) % 1_000_003, pair[1], 1);
        while exponent != 0 {
            result = if exponent & 1 == 1 {
                result * base % 1_000_003
            } else {
                result
            };
            base = base * base % 1_000_003;
            exponent >>= 1;
        }
        result as u32
    };
    assert_eq!(
        device.download::<u32>(out, 64),
        words.windows(2).map(power).collect::<Vec<u32>>()
    );

    let mut random = Random(59);
    let values: Vec<u64> = (0..65).map(|_| random.next()).collect();
    let (from, out) = (device.upload(&values), device.zeros::<u64>(256));
    device.launch("quotients", 1, 64, &[from.into(), out.into()]);
    let quotients = |pair: &[u64]| {
        let (x, y) = (pair[0], pair[1] >> 40 | 1);
        let (z, w) = (x as i64 >> 3, x as i32);
        [
            x / 1_000_000_007 + x % 77,
            x / y + x % y,
            (z / -12345 + z % 1001) as u64,
            (i64::from(w / 7 + w % 13) as u64).wrapping_add(u64::from(x as u32 / 10)),
        ]
    };
    assert_eq!(
        device.download::<u64>(out, 256),
        values.windows(2).flat_map(quotients).collect::<Vec<u64>>()
    );
}

#[test]
fn chacha() {
    let input = Random(61).words(16);
    let mut device = Device::load("program_integers");
    let (from, out) = (device.upload(&input), device.zeros::<u32>(32 * 16));
    device.launch("chacha", 1, 32, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 32 * 16);
    for (t, found) in found.chunks(16).enumerate() {
        let mut start = input.clone();
        start[12] = start[12].wrapping_add(t as u32);
        let mut s = start.clone();
        for _ in 0..10 {
            for i in 0..4 {
                quarter(&mut s, i, 4 + i, 8 + i, 12 + i);
            }
            for i in 0..4 {
                quarter(
                    &mut s,
                    i,
                    4 + (i + 1) % 4,
                    8 + (i + 2) % 4,
                    12 + (i + 3) % 4,
                );
            }
        }
        let wanted: Vec<u32> = s
            .iter()
            .zip(&start)
            .map(|(a, b)| a.wrapping_add(*b))
            .collect();
        assert_eq!(found, wanted, "thread {t}");
    }
}

fn quarter(s: &mut [u32], a: usize, b: usize, c: usize, d: usize) {
    for (x, y, z, turn) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        s[x] = s[x].wrapping_add(s[y]);
        s[z] = (s[z] ^ s[x]).rotate_left(turn);
    }
}

/// Rows of `found` against functions in double precision, within `ulps` of `epsilon` relative or absolute near zero.
fn check_math(
    found: &[f64],
    inputs: &[f64],
    functions: &[fn(f64) -> f64],
    epsilon: f64,
    ulps: f64,
) {
    for ((row, function), k) in found.chunks(inputs.len()).zip(functions).zip(0..) {
        for (&found, &x) in row.iter().zip(inputs) {
            let exact = function(x);
            let error = (found - exact).abs();
            let bound = ulps * epsilon * exact.abs().max(1e-30);
            assert!(
                error <= bound,
                "row {k} at {x:e}: found {found:e}, exact {exact:e}"
            );
        }
    }
}

#[test]
fn single_precision_library() {
    let n = 200;
    let mut random = Random(67);
    let inputs: Vec<f32> = (0..n)
        .map(|i| ((random.unit() - 0.5) * [2.0, 20.0][i % 2]) as f32)
        .collect();
    let mut device = Device::load("program_math");
    let (from, out) = (device.upload(&inputs), device.zeros::<f32>(13 * n));
    device.launch(
        "single",
        2,
        128,
        &[from.into(), out.into(), (n as u32).into()],
    );
    let found: Vec<f64> = device
        .download::<f32>(out, 13 * n)
        .into_iter()
        .map(f64::from)
        .collect();
    let wide: Vec<f64> = inputs.iter().map(|&x| f64::from(x)).collect();
    let smooth: [fn(f64) -> f64; 8] = [
        f64::sin,
        f64::cos,
        f64::tan,
        f64::exp,
        |x| x.abs().ln(),
        |x| x.abs().powf(f64::from(0.3f32)),
        |x| x.atan2(2.0),
        f64::tanh,
    ];
    check_math(&found, &wide, &smooth, f32::EPSILON.into(), 8.0);
    check_math(
        &found[9 * n..],
        &wide,
        &[f64::cbrt],
        f32::EPSILON.into(),
        4.0,
    );
    let exact: [fn(f64) -> f64; 2] = [
        |x| {
            x.floor()
                + x.ceil() * 2.0
                + x.trunc() * 4.0
                + x.round() * 8.0
                + x.round_ties_even() * 16.0
        },
        |x| f64::from(x as f32 % 0.7f32),
    ];
    check_math(&found[10 * n..], &wide, &exact, 0.0, 0.0);
    check_math(
        &found[12 * n..],
        &wide,
        &[|x| x.abs().sqrt() / (1.0 + x * x)],
        f32::EPSILON.into(),
        4.0,
    );
    assert!(
        found[8 * n..9 * n]
            .iter()
            .zip(&wide)
            .all(|(erf, x)| erf.abs() <= 1.0 && erf * x >= 0.0)
    );
}

#[test]
fn double_precision_library() {
    let n = 200;
    let mut random = Random(71);
    let inputs: Vec<f64> = (0..n)
        .map(|i| (random.unit() - 0.5) * [2.0, 40.0][i % 2])
        .collect();
    let mut device = Device::load("program_math");
    let (from, out) = (device.upload(&inputs), device.zeros::<f64>(11 * n));
    device.launch(
        "doubles",
        2,
        128,
        &[from.into(), out.into(), (n as u32).into()],
    );
    let found: Vec<f64> = device.download(out, 11 * n);
    let functions: [fn(f64) -> f64; 9] = [
        f64::sin,
        f64::cos,
        f64::exp,
        |x| x.abs().ln(),
        |x| x.abs().powf(0.3),
        f64::atan,
        f64::tanh,
        f64::cbrt,
        |x| x.hypot(3.0),
    ];
    check_math(&found, &inputs, &functions, f64::EPSILON, 6.0);
    let rounded: [fn(f64) -> f64; 1] = [|x| {
        x.floor() + x.ceil() * 2.0 + x.trunc() * 4.0 + x.round() * 8.0 + x.round_ties_even() * 16.0
    }];
    check_math(&found[9 * n..], &inputs, &rounded, 0.0, 0.0);
    check_math(
        &found[10 * n..],
        &inputs,
        &[|x| x.abs().sqrt() / (1.0 + x * x)],
        f64::EPSILON,
        3.0,
    );
}

#[test]
fn half_precision_header() {
    let n = 100;
    let mut random = Random(73);
    let inputs: Vec<f32> = (0..n).map(|_| (random.unit() * 8.0 - 4.0) as f32).collect();
    let mut device = Device::load("program_math");
    let (from, out) = (device.upload(&inputs), device.zeros::<f32>(7 * n));
    device.launch(
        "halves",
        1,
        128,
        &[from.into(), out.into(), (n as u32).into()],
    );
    let found: Vec<f32> = device.download(out, 7 * n);
    let half = |i: usize| f16::from_f32(inputs[i % n]);
    let rounded = |x: f64| f16::from_f64(x).to_f32();
    for i in 0..n {
        // Sums and products of halves are exact in double precision, so that this rounds once.
        let (a, b) = (half(i).to_f64(), half(i + 1).to_f64());
        let wanted = [
            rounded(a + b),
            rounded(a * b),
            rounded(a - b),
            rounded(a * b + a),
            f32::from(u8::from(a < b)),
            rounded(a + b),
            rounded(b + b),
        ];
        let found: Vec<f32> = (0..7).map(|row| found[row * n + i]).collect();
        assert_eq!(found, wanted, "element {i}");
    }
}
