//! Loads and stores in every space, width and shape.

use super::harness::{Arg, Device};
use super::inputs::Random;
use std::collections::VecDeque;

fn random_bytes(count: usize) -> Vec<u8> {
    let mut random = Random(7);
    (0..count).map(|_| random.next() as u8).collect()
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("inside")
}

#[test]
fn global_widths() {
    let bytes = random_bytes(32 * 64);
    let mut device = Device::load("memory_global");
    let (from, out) = (device.upload(&bytes), device.zeros::<u64>(64 * 8));
    device.launch("widths", 1, 64, &[from.into(), out.into()]);
    let found: Vec<u64> = device.download(out, 64 * 8);
    for (cell, row) in bytes.chunks(32).zip(found.chunks(8)) {
        let wanted = [
            u64::from(cell[0]),
            cell[1] as i8 as u64,
            u16::from_le_bytes(read(cell, 2)).into(),
            i16::from_le_bytes(read(cell, 4)) as u64,
            u32::from_le_bytes(read(cell, 8)).into(),
            i32::from_le_bytes(read(cell, 12)) as u64,
            u64::from_le_bytes(read(cell, 16)),
            u64::from_le_bytes(read(cell, 24)),
        ];
        assert_eq!(row, wanted);
    }
}

#[test]
fn narrow_stores_leave_their_neighbors() {
    let mut device = Device::load("memory_global");
    let values: Vec<u64> = (0..32)
        .map(|i| 0x0123_4567_89AB_CDEFu64.rotate_left(i * 5))
        .collect();
    let (from, out) = (device.upload(&values), device.zeros::<u8>(32 * 16));
    device.launch("narrow_stores", 1, 32, &[from.into(), out.into()]);
    let wanted: Vec<u8> = values
        .iter()
        .flat_map(|value| {
            let mut cell = [0; 16];
            cell[..2].copy_from_slice(&value.to_le_bytes()[..2]);
            cell[2..4].copy_from_slice(&value.to_le_bytes()[2..4]);
            cell[4..8].copy_from_slice(&value.to_le_bytes()[4..]);
            cell[8..].copy_from_slice(&(!value).to_le_bytes());
            cell
        })
        .collect();
    assert_eq!(device.download::<u8>(out, 32 * 16), wanted);
}

/// The elements of `bytes` (each of `size`) in the order given.
fn reorder(bytes: &[u8], size: usize, order: &[usize]) -> Vec<u8> {
    order
        .iter()
        .flat_map(|&i| bytes[i * size..(i + 1) * size].iter().copied())
        .collect()
}

#[test]
fn global_vectors() {
    // The last quarter is moved as floats: keep NaNs out, whose patterns need not survive arithmetic units.
    let bytes: Vec<u8> = random_bytes(64 * 32)
        .iter()
        .map(|byte| byte & 0x3F)
        .collect();
    let mut device = Device::load("memory_global");
    let (from, out) = (device.upload(&bytes), device.zeros::<u8>(64 * 32));
    device.launch("vectors", 1, 32, &[from.into(), out.into()]);
    let wanted: Vec<u8> = bytes
        .chunks(64)
        .flat_map(|cell| {
            let mut wanted = reorder(&cell[..16], 4, &[3, 2, 1, 0]);
            wanted.extend(reorder(&cell[16..24], 4, &[1, 0]));
            wanted.extend(reorder(&cell[24..28], 1, &[3, 2, 1, 0]));
            wanted.extend(reorder(&cell[28..32], 2, &[1, 0]));
            wanted.extend(reorder(&cell[32..48], 8, &[1, 0]));
            wanted.extend(reorder(&cell[48..], 4, &[1, 0, 3, 2]));
            wanted
        })
        .collect();
    assert_eq!(device.download::<u8>(out, 64 * 32), wanted);
}

#[test]
fn cache_operators_change_no_value() {
    let values = Random(3).words(32);
    let mut device = Device::load("memory_global");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(22 * 32));
    device.launch("operators", 1, 32, &[from.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 22 * 32);
    for (k, row) in found.chunks(32).enumerate() {
        let added = if k < 14 { 0 } else { k as u32 + 1 };
        let wanted: Vec<u32> = values
            .iter()
            .map(|value| value.wrapping_add(added))
            .collect();
        assert_eq!(row, wanted, "row {k}");
    }
}

#[test]
fn prefetches_and_fences_have_no_effect() {
    let values = Random(4).words(64);
    let mut device = Device::load("memory_global");
    let (from, out) = (device.upload(&values), device.zeros::<u32>(64));
    device.launch("hints", 1, 64, &[from.into(), out.into()]);
    let wanted: Vec<u32> = values.iter().map(|value| value.wrapping_add(1)).collect();
    assert_eq!(device.download::<u32>(out, 64), wanted);
}

#[test]
fn shared_exchange() {
    let values = Random(5).words(4 * 128);
    let mut device = Device::load("memory_shared");
    let from = device.upload(&values);
    let (reversed, rotated) = (device.zeros::<u32>(512), device.zeros::<u32>(512));
    let args = [from.into(), reversed.into(), rotated.into()];
    device.launch_with_shared("exchange", 4, 128, 512, &args);
    let wanted: Vec<u32> = values
        .chunks(128)
        .flat_map(|block| block.iter().rev().copied())
        .collect();
    assert_eq!(device.download::<u32>(reversed, 512), wanted);
    let rotate = |block: &[u32]| {
        let mut block = VecDeque::from(block.to_vec());
        block.rotate_left(33);
        block
    };
    let wanted: Vec<u32> = values.chunks(128).flat_map(rotate).collect();
    assert_eq!(device.download::<u32>(rotated, 512), wanted);
}

#[test]
fn shared_widths() {
    let values: Vec<u64> = std::iter::successors(Some(3u64), |x| {
        Some(x.wrapping_mul(0x5851_F42D_4C95_7F2D) + 1)
    })
    .take(32)
    .collect();
    let mut device = Device::load("memory_shared");
    let (from, out) = (device.upload(&values), device.zeros::<u64>(32 * 8));
    device.launch("widths", 1, 32, &[from.into(), out.into()]);
    let found: Vec<u64> = device.download(out, 32 * 8);
    for (t, row) in found.chunks(8).enumerate() {
        let peer = 31 - t;
        let value = values[peer];
        let wanted = [
            value & 0xFF,
            value as i8 as u64,
            value >> 8 & 0xFFFF,
            (value >> 8) as i16 as u64,
            value >> 24 & 0xFFFF_FFFF,
            !value,
            u64::from((peer as f32 - 2.0).to_bits()),
            (peer as f64 * 0.5 * 3.0).to_bits(),
        ];
        assert_eq!(row, wanted, "thread {t}");
    }
}

#[test]
fn dynamic_shared_memory_is_what_the_launch_gives() {
    let mut device = Device::load("memory_shared");
    let out = device.zeros::<u32>(64);
    device.launch_with_shared("carve", 1, 64, 128 + 512, &[out.into(), 128u32.into()]);
    let wanted: Vec<u32> = (0..64).map(|t| (t ^ 5) * 4).collect();
    assert_eq!(device.download::<u32>(out, 64), wanted);
}

#[test]
fn local_histogram() {
    let count = 40;
    let bytes = random_bytes(64 * count);
    let mut device = Device::load("memory_local");
    let (from, out) = (device.upload(&bytes), device.zeros::<u32>(64 * 16));
    device.launch(
        "histogram",
        1,
        64,
        &[from.into(), out.into(), (count as u32).into()],
    );
    let mut wanted = vec![0u32; 64 * 16];
    for (i, byte) in bytes.iter().enumerate() {
        wanted[i / count * 16 + usize::from(byte & 15)] += 1;
    }
    assert_eq!(device.download::<u32>(out, 64 * 16), wanted);
}

#[test]
fn local_stack() {
    let starts: Vec<u32> = (1..=64).collect();
    let mut device = Device::load("memory_local");
    let (from, out) = (device.upload(&starts), device.zeros::<u32>(64));
    device.launch("stack", 1, 64, &[from.into(), out.into()]);
    let wanted: Vec<u32> = starts
        .iter()
        .map(|&start| {
            let step = |&x: &u32| Some(if x % 2 == 1 { 3 * x + 1 } else { x / 2 });
            let path = std::iter::successors(Some(start), step)
                .take_while(|&x| x != 1)
                .take(24);
            let path: Vec<u32> = path.collect();
            path.iter().rev().fold(17u32, |hash, x| {
                hash.wrapping_mul(31).wrapping_add(x & 0xFFFF)
            })
        })
        .collect();
    assert_eq!(device.download::<u32>(out, 64), wanted);
}

#[test]
fn local_widths() {
    let mut random = Random(9);
    let values: Vec<u64> = (0..32).map(|_| random.next()).collect();
    for shift in [0u32, 1, 3, 6] {
        let mut device = Device::load("memory_local");
        let (from, out) = (device.upload(&values), device.zeros::<u64>(32));
        device.launch("widths", 1, 32, &[from.into(), out.into(), shift.into()]);
        let wanted: Vec<u64> = values
            .iter()
            .map(|&value| local_sum(value, shift as usize))
            .collect();
        assert_eq!(device.download::<u64>(out, 32), wanted, "shift {shift}");
    }
}

fn local_sum(value: u64, shift: usize) -> u64 {
    let bytes: Vec<u8> = (1..=8)
        .flat_map(|i| value.wrapping_mul(i).to_le_bytes())
        .collect();
    let word = |at: usize| u64::from(u32::from_le_bytes(read(&bytes, at)));
    let vector = 16 * (shift & 3);
    let terms = [
        u64::from(bytes[shift]),
        (i64::from(bytes[shift + 1] as i8) * 3) as u64,
        u64::from(u16::from_le_bytes(read(&bytes, 2 * shift))) * 5,
        (i64::from(i16::from_le_bytes(read(&bytes, 2 * shift + 2))) * 7) as u64,
        word(4 * shift) * 11,
        word(vector),
        word(vector + 4) * 2,
        word(vector + 8) * 3,
        word(vector + 12) * 5,
    ];
    terms.iter().fold(0, |sum, term| sum.wrapping_add(*term))
}

#[test]
fn constants() {
    let mut device = Device::load("memory_const");
    let (out, sums) = (device.zeros::<f32>(32), device.zeros::<u32>(32));
    device.launch("constants", 1, 32, &[out.into(), sums.into()]);
    let weights = [0.5f32, -1.25, 3.0, 1e-3, 1e20];
    let matrix = [[1u32, 2, 3, 4], [5, 6, 7, 8], [9, 10, 0, 0]];
    let wanted: Vec<f32> = (0..32).map(|t| weights[t % 5] * 2.0).collect();
    assert_eq!(device.download::<f32>(out, 32), wanted);
    let sum = |t: usize| matrix[t % 3][t % 4] + (std::f64::consts::E * t as f64) as u32;
    let wanted: Vec<u32> = (0..32).map(sum).collect();
    assert_eq!(device.download::<u32>(sums, 32), wanted);
}

#[test]
fn module_variables_outlive_a_launch() {
    let mut device = Device::load("memory_const");
    let out = device.zeros::<u32>(32);
    device.launch("variables", 1, 32, &[out.into()]);
    let mut wanted = vec![0, 0, 5, 0, 0, 6, 0, 0];
    wanted.extend(b"pages\0".map(u32::from));
    wanted.resize(32, 42);
    assert_eq!(device.download::<u32>(out, 32), wanted);
    device.launch("count", 1, 32, &[out.into()]);
    assert_eq!(device.download::<u32>(out, 32), [47; 32]);
}

#[test]
fn pointers_in_initial_values() {
    let mut device = Device::load("memory_const");
    let out = device.zeros::<i32>(32);
    device.launch("walk", 1, 32, &[out.into()]);
    assert_eq!(device.download::<i32>(out, 32), [1193; 32]);
}

#[test]
fn generic_addresses_reach_every_space() {
    let mut device = Device::load("memory_generic");
    let data: Vec<u32> = (0..32).map(|t| t + 200).collect();
    let (data, out) = (device.upload(&data), device.zeros::<u32>(64));
    device.launch("spaces", 1, 32, &[data.into(), out.into()]);
    let old = |t: u32| match t % 3 {
        0 => t + 200,
        1 => t * 10,
        _ => [7, 8, 9, t][t as usize & 3],
    };
    let mut wanted: Vec<u32> = (0..32).map(|t| old(t) * 1000 + old(t) + 1).collect();
    wanted.extend((0..32).map(|t| (t & 3) * 100 + 100));
    assert_eq!(device.download::<u32>(out, 64), wanted);
    let changed = (0..32).map(|t| if t % 3 == 0 { t + 201 } else { t + 200 });
    assert_eq!(
        device.download::<u32>(data, 32),
        changed.collect::<Vec<u32>>()
    );
}

#[test]
fn windows_are_told_apart() {
    let mut device = Device::load("memory_generic");
    let (data, out) = (device.zeros::<u32>(32), device.zeros::<u32>(160));
    device.launch("windows", 1, 32, &[data.into(), out.into()]);
    let found: Vec<u32> = device.download(out, 160);
    for k in 0..4 {
        for t in 0..32 {
            // global, shared, local; the generic address of a constant is a constant's or a global's.
            let bits = found[k * 32 + t];
            match (k + t) & 3 {
                0 => assert_eq!(bits, 0b1000),
                1 => assert_eq!(bits, 0b0100),
                2 => assert_eq!(bits, 0b0010),
                _ => assert!(bits & 0b0110 == 0, "{bits:#b}"),
            }
        }
    }
    assert_eq!(found[128..], [3; 32]);
}

#[test]
fn generic_round_trip() {
    let mut device = Device::load("memory_generic");
    let data: Vec<u32> = (0..32).collect();
    let (data, out) = (device.upload(&data), device.zeros::<u32>(32));
    device.launch("round_trip", 1, 32, &[data.into(), out.into()]);
    let wanted: Vec<u32> = (0..32).map(|t| (t + 50) * 10100 + t).collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
}

#[test]
fn parameters_of_every_size() {
    let mut mixed = vec![0u8; 32];
    mixed[0] = 3;
    mixed[2..4].copy_from_slice(&1000u16.to_le_bytes());
    mixed[4..8].copy_from_slice(&0.5f32.to_le_bytes());
    mixed[8..16].copy_from_slice(&1e-3f64.to_le_bytes());
    mixed[16..24].copy_from_slice(&(1u64 << 40).to_le_bytes());
    mixed[24..29].copy_from_slice(&[10, 20, 30, 40, 50]);
    let mut device = Device::load("parameters");
    let out = device.zeros::<f64>(32);
    let args = [
        200u8.into(),
        (-300i16).into(),
        1.25f32.into(),
        Arg::bytes(mixed),
        (1u64 << 33).into(),
        out.into(),
    ];
    device.launch("mixed", 1, 32, &args);
    let wanted: Vec<f64> = (0..32)
        .map(|t| {
            let first = (-100.0f32 + 1.25 + 3.0 + 1000.0 + 0.5) as f64;
            first + 1e-3 + (1u64 << 40) as f64 + (t % 5 * 10 + 10) as f64 + (1u64 << 33) as f64
        })
        .collect();
    assert_eq!(device.download::<f64>(out, 32), wanted);
}

#[test]
fn parameters_at_a_computed_offset() {
    let mut device = Device::load("parameters");
    let out = device.zeros::<u32>(32);
    let table = Arg::bytes((0..16u32).flat_map(|i| (i * i + 1).to_le_bytes()).collect());
    device.launch("indexed", 1, 32, &[table, out.into()]);
    let wanted: Vec<u32> = (0..32u32).map(|t| ((t * 7) & 15).pow(2) + 1).collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
    device.launch("none", 2, 32, &[]);
}

#[test]
fn elements_of_arrays_as_operands() {
    let mut device = Device::load("by_hand_arrays");
    let out = device.zeros::<u32>(9 * 32);
    device.launch("elements", 1, 32, &[out.into()]);
    let found: Vec<u32> = device.download(out, 9 * 32);
    // Initial values of the arrays are ten times their number plus the index.
    let places = [10, 12, 13, 14, 24, 31];
    for t in 0..32 {
        let wanted = [10, 13, 14, 15, 29, 42, 107, t, places[t as usize % 6]];
        let found: Vec<u32> = (0..9).map(|row| found[row * 32 + t as usize]).collect();
        assert_eq!(found, wanted, "thread {t}");
    }
}
