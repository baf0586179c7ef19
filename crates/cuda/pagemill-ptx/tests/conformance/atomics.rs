//! Atomics and reductions, from many threads at once.

use super::harness::Device;
use super::inputs::Random;
use super::value::Pair;
use half::f16;

const THREADS: usize = 256;

fn values() -> Vec<u64> {
    let mut random = Random(11);
    (0..THREADS).map(|_| random.next()).collect()
}

/// The cells after every value went through every 32-bit operation, in the order of the kernels' macros.
fn after32(values: &[u64], start: u32) -> Vec<u32> {
    let fold = |op: fn(u32, u32) -> u32| {
        values
            .iter()
            .fold(start, |cell, &value| op(cell, value as u32))
    };
    vec![
        fold(u32::wrapping_add),
        fold(u32::wrapping_add),
        fold(u32::min),
        fold(|a, b| (a as i32).min(b as i32) as u32),
        fold(u32::max),
        fold(|a, b| (a as i32).max(b as i32) as u32),
        fold(|a, _| if a >= 1000 { 0 } else { a + 1 }),
        fold(|a, _| if a == 0 || a > 1000 { 1000 } else { a - 1 }),
        fold(|a, b| a & (b | 0xFF00_FF00)),
        fold(|a, b| a | b & 0x1111_1111),
        fold(|a, b| a ^ b),
    ]
}

fn after64(values: &[u64], start: u64) -> Vec<u64> {
    let fold = |op: fn(u64, u64) -> u64| values.iter().fold(start, |cell, &value| op(cell, value));
    vec![
        fold(u64::wrapping_add),
        fold(u64::min),
        fold(|a, b| (a as i64).min(b as i64) as u64),
        fold(u64::max),
        fold(|a, b| (a as i64).max(b as i64) as u64),
        fold(|a, b| a & (b | 0xFF00_FF00_FF00_FF00)),
        fold(|a, b| a | b & 0x1111_1111_1111_1111),
        fold(|a, b| a ^ b),
    ]
}

const STARTS: [u64; 4] = [0, 900, 0x8000_0000, u64::MAX];

fn check32(file: &str, kernel: &str, blocks: u32) {
    let values = values();
    for start in STARTS {
        let mut device = Device::load(file);
        let (from, cells) = (device.upload(&values), device.upload(&[start as u32; 16]));
        device.launch(
            kernel,
            blocks,
            THREADS as u32 / blocks,
            &[from.into(), cells.into()],
        );
        assert_eq!(
            device.download::<u32>(cells, 11),
            after32(&values, start as u32),
            "{kernel} from {start:#x}"
        );
    }
}

fn check64(file: &str, kernel: &str, blocks: u32) {
    let values = values();
    for start in STARTS {
        let mut device = Device::load(file);
        let (from, cells) = (device.upload(&values), device.upload(&[start; 16]));
        device.launch(
            kernel,
            blocks,
            THREADS as u32 / blocks,
            &[from.into(), cells.into()],
        );
        assert_eq!(
            device.download::<u64>(cells, 8),
            after64(&values, start),
            "{kernel} from {start:#x}"
        );
    }
}

#[test]
fn words_in_global_memory() {
    check32("atomics_int", "global32", 4);
    check32("atomics_int", "generic32", 4);
}

#[test]
fn double_words_in_global_memory() {
    check64("atomics_int", "global64", 4);
}

#[test]
fn words_in_shared_memory() {
    check32("atomics_int", "shared32", 1);
    check64("atomics_int", "shared64", 1);
}

#[test]
fn reductions_without_result() {
    check32("reductions", "words", 4);
    check64("reductions", "wide", 4);
}

#[test]
fn every_ticket_is_drawn_once() {
    let mut device = Device::load("atomics_int");
    let (cursor, marks, wide) = (
        device.zeros::<u32>(1),
        device.zeros::<u32>(THREADS),
        device.zeros::<u64>(1),
    );
    device.launch(
        "tickets",
        4,
        64,
        &[cursor.into(), marks.into(), wide.into()],
    );
    assert_eq!(device.download::<u32>(cursor, 1), [THREADS as u32]);
    let wanted: Vec<u32> = (0..THREADS as u32).map(|ticket| 1 + (ticket & 1)).collect();
    assert_eq!(device.download::<u32>(marks, THREADS), wanted);
    let sum: u64 = (0..64).map(|ticket| 1u64 << (ticket & 31)).sum();
    assert_eq!(device.download::<u64>(wide, 1), [4 * sum]);
}

#[test]
fn exchanges_lose_nothing() {
    let mut device = Device::load("atomics_exchange");
    let (cell, wide, sums) = (
        device.upload(&[77u32]),
        device.upload(&[5u64]),
        device.zeros::<u64>(2),
    );
    device.launch("exchange", 4, 64, &[cell.into(), wide.into(), sums.into()]);
    let last = u64::from(device.download::<u32>(cell, 1)[0]);
    let last_wide = device.download::<u64>(wide, 1)[0];
    let sums: Vec<u64> = device.download(sums, 2);
    assert_eq!(sums[0] + last, 77 + (1..=256).sum::<u64>());
    assert_eq!(
        sums[1] + last_wide,
        5 + (0..256).map(|i| i << 20 | 1).sum::<u64>()
    );
}

#[test]
fn compare_and_swap_loops() {
    let values = values();
    let mut device = Device::load("atomics_exchange");
    let from = device.upload(&values);
    let (cell, wide, narrow) = (
        device.upload(&[3u32]),
        device.upload(&[5u64]),
        device.upload(&[7u16, 9]),
    );
    device.launch(
        "swap",
        4,
        64,
        &[from.into(), cell.into(), wide.into(), narrow.into()],
    );
    let product = values
        .iter()
        .fold(1u64, |product, value| product.wrapping_mul(value | 1));
    assert_eq!(
        device.download::<u32>(cell, 1),
        [3u32.wrapping_mul(product as u32)]
    );
    assert_eq!(
        device.download::<u64>(wide, 1),
        [5u64.wrapping_mul(product)]
    );
    assert_eq!(
        device.download::<u16>(narrow, 2),
        [7u16.wrapping_mul(product as u16), 9]
    );
}

#[test]
fn compare_and_swap_in_shared_memory() {
    let mut device = Device::load("atomics_exchange");
    let out = device.zeros::<u32>(128);
    device.launch("shared_swap", 1, 64, &[out.into()]);
    let found: Vec<u32> = device.download(out, 128);
    assert_eq!(found[..64], [3u32.wrapping_pow(65); 64]);
    // Each thread swapped its own number in after it took another out.
    assert_eq!(found[64..], [1; 64]);
}

#[test]
fn float_sums() {
    let mut device = Device::load("atomics_float");
    let (f, d) = (device.zeros::<f32>(1), device.zeros::<f64>(1));
    let (h, pair) = (
        device.zeros::<f16>(1),
        device.upload(&[Pair(f16::ZERO, f16::ZERO)]),
    );
    device.launch("sums", 4, 64, &[f.into(), d.into(), h.into(), pair.into()]);
    assert_eq!(device.download::<f32>(f, 1), [0.25 * 28.0 * 32.0]);
    assert_eq!(device.download::<f64>(d, 1), [0.125 * (255.0 * 128.0)]);
    assert_eq!(device.download::<f16>(h, 1), [f16::from_f32(96.0)]);
    let Pair(ones, threes) = device.download::<Pair<f16>>(pair, 1)[0];
    assert_eq!((ones.to_f32(), threes.to_f32()), (64.0, 63.0));
}

#[test]
fn float_atomics_give_the_old_value() {
    let values: Vec<f32> = (0..32).map(|i| 1.5 * i as f32).collect();
    let mut device = Device::load("atomics_float");
    let from = device.upload(&values);
    let (cells, out) = (device.upload(&[0f32; 160]), device.zeros::<f32>(128));
    device.launch(
        "old_values",
        1,
        32,
        &[from.into(), cells.into(), out.into()],
    );
    device.launch(
        "old_values",
        1,
        32,
        &[from.into(), cells.into(), out.into()],
    );
    let found: Vec<f32> = device.download(out, 128);
    for (row, value) in found.chunks(4).zip(values) {
        assert_eq!(row[..3], [value, value, 1.0]);
        assert_eq!(row[3].to_bits(), 0x3C00_4000);
    }
}

#[test]
fn float_sums_in_shared_memory() {
    let mut device = Device::load("atomics_float");
    let out = device.zeros::<f32>(64);
    device.launch("shared_sums", 1, 64, &[out.into()]);
    assert_eq!(
        device.download::<f32>(out, 64),
        [1.0 + 0.5 * 2016.0 + 2.0 + 0.25 * 2016.0; 64]
    );
}

#[test]
fn float_reductions_without_result() {
    let mut device = Device::load("reductions");
    let (cells, sum) = (device.zeros::<f32>(8), device.zeros::<u32>(1));
    device.launch("floats", 1, 64, &[cells.into(), sum.into()]);
    assert_eq!(device.download::<f32>(cells, 1), [32.0]);
    assert_eq!(device.download::<f64>(cells + 8, 1), [16.0]);
    assert_eq!(device.download::<u32>(cells + 16, 2), [128, 192]);
    let pair = f16::from_f32(64.0).to_bits();
    assert_eq!(device.download::<u16>(cells + 24, 2), [pair, pair]);
    assert_eq!(device.download::<u32>(sum, 1), [2016]);
}
