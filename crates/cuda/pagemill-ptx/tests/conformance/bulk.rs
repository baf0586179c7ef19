//! Bulk copies and reductions by one thread.

use half::{bf16, f16};

use super::harness::Device;
use super::inputs::Random;
use super::value::Value;

const FILE: &str = "copy_bulk_sm90";

#[test]
fn stages_are_loaded_changed_and_stored() {
    for (bytes, stages) in [(16u32, 1u32), (16, 4), (480, 3), (512, 2), (4096, 3)] {
        let words = bytes as usize / 4;
        let values = Random(u64::from(bytes)).words(words * stages as usize);
        let mut device = Device::load(FILE);
        let (from, out) = (
            device.upload(&values),
            device.zeros::<u32>(values.len() + 4),
        );
        let args = [from.into(), out.into(), bytes.into(), stages.into()];
        device.launch("bulk_stages", 1, 96, &args);
        let stage_of = |at: usize| (at / words) as u32;
        let changed = values.iter().enumerate();
        let changed = changed.map(|(at, value)| value.wrapping_mul(3).wrapping_add(stage_of(at)));
        // Nothing is stored behind the last byte.
        let wanted: Vec<u32> = changed.chain([0; 4]).collect();
        let found: Vec<u32> = device.download(out, values.len() + 4);
        assert_eq!(found, wanted, "{stages} stages of {bytes} bytes");
    }
}

#[test]
fn only_the_thread_that_the_guard_lets_in_copies() {
    for bytes in [0u32, 16, 240, 512, 528, 1008] {
        let values = Random(7).words(8 + 256);
        let mut device = Device::load(FILE);
        let (from, out) = (device.upload(&values), device.zeros::<u32>(256));
        device.launch(
            "bulk_guarded",
            1,
            32,
            &[from.into(), out.into(), bytes.into()],
        );
        let words = bytes as usize / 4;
        let mut wanted = vec![0xeeee_eeee; 256];
        wanted[4..4 + words].copy_from_slice(&values[8..8 + words]);
        assert_eq!(device.download::<u32>(out, 256), wanted, "{bytes} bytes");
    }
}

#[test]
fn blocks_of_a_cluster_send_each_other_their_tiles() {
    let values = Random(8).words(6 * 128);
    let mut device = Device::load(FILE);
    device.cluster = Some([2, 1, 1]);
    let (from, out) = (device.upload(&values), device.zeros::<u32>(6 * 128));
    device.launch("bulk_exchange", 6, 128, &[from.into(), out.into()]);
    let of_other = |at: usize| values[at ^ 128].wrapping_add(1);
    let wanted: Vec<u32> = (0..6 * 128).map(of_other).collect();
    assert_eq!(device.download::<u32>(out, 6 * 128), wanted);
}

#[test]
fn one_block_copies_to_several() {
    for (mask, bytes) in [
        (0b0001u32, 1024u32),
        (0b1111, 1024),
        (0b1010, 48),
        (0b1000, 16),
    ] {
        let values = Random(11).words(256);
        let mut device = Device::load(FILE);
        device.cluster = Some([4, 1, 1]);
        let (from, out) = (device.upload(&values), device.zeros::<u32>(1024));
        let args = [from.into(), out.into(), bytes.into(), mask.into()];
        device.launch("bulk_multicast", 4, 32, &args);
        let words = bytes as usize / 4;
        for (rank, found) in device.download::<u32>(out, 1024).chunks(256).enumerate() {
            let mut wanted = vec![0xeeee_eeee; 256];
            if mask >> rank & 1 != 0 {
                wanted[..words].copy_from_slice(&values[..words]);
            }
            assert_eq!(found, wanted, "rank {rank} of {mask:#b}");
        }
    }
}

/// Reduces 64 values into 64 others twice, so that the second finds what the first has left.
fn reduces<T: Value>(kernel: &str, values: &[T], into: &[T], combine: impl Fn(T, T) -> T) {
    assert_eq!((values.len(), into.len()), (64, 64));
    let mut device = Device::load(FILE);
    let (from, to) = (device.upload(values), device.upload(into));
    let mut wanted = into.to_vec();
    for _ in 0..2 {
        device.launch(kernel, 1, 64, &[from.into(), to.into()]);
        for (old, value) in wanted.iter_mut().zip(values) {
            *old = combine(*old, *value);
        }
        let found: Vec<u64> = device
            .download::<T>(to, 64)
            .iter()
            .map(|value| value.to_bits64())
            .collect();
        let wanted: Vec<u64> = wanted.iter().map(|value| value.to_bits64()).collect();
        assert_eq!(found, wanted, "{kernel}");
    }
}

/// Edge values in both places, and random ones.
fn words() -> (Vec<u64>, Vec<u64>) {
    let edges = [0, 1, 2, u64::MAX, 1 << 31, (1 << 31) - 1, 1 << 63];
    let mut random = Random(9);
    let of = |at: usize, random: &mut Random| match at {
        0..49 => (edges[at / 7], edges[at % 7]),
        _ => (random.next(), random.next()),
    };
    (0..64).map(|at| of(at, &mut random)).unzip()
}

#[test]
fn reductions_of_integers() {
    let (a, b) = words();
    let narrow = |words: &[u64]| {
        words
            .iter()
            .map(|&word| (word ^ word >> 32) as u32)
            .collect()
    };
    let (x, y): (Vec<u32>, Vec<u32>) = (narrow(&a), narrow(&b));
    reduces("bulk_add_u32", &x, &y, u32::wrapping_add);
    reduces("bulk_add_s32", &x, &y, u32::wrapping_add);
    reduces("bulk_min_s32", &x, &y, |old, x| {
        (old as i32).min(x as i32) as u32
    });
    reduces("bulk_max_u32", &x, &y, u32::max);
    reduces(
        "bulk_inc_u32",
        &x,
        &y,
        |old, x| {
            if old >= x { 0 } else { old + 1 }
        },
    );
    reduces("bulk_dec_u32", &x, &y, |old, x| {
        if old == 0 || old > x { x } else { old - 1 }
    });
    reduces("bulk_and_b32", &x, &y, |old, x| old & x);
    reduces("bulk_or_b32", &x, &y, |old, x| old | x);
    reduces("bulk_xor_b32", &x, &y, |old, x| old ^ x);
    reduces("bulk_add_u64", &a, &b, u64::wrapping_add);
    reduces("bulk_min_u64", &a, &b, u64::min);
    reduces("bulk_max_s64", &a, &b, |old, x| {
        (old as i64).max(x as i64) as u64
    });
    reduces("bulk_xor_b64", &a, &b, |old, x| old ^ x);
}

#[test]
fn reductions_of_floats_round_to_nearest() {
    let mut random = Random(10);
    let mut of = |_| (2.0 * random.unit() - 1.0) * 10f64.powi(random.below(6) as i32 - 2);
    let (a, b): (Vec<f64>, Vec<f64>) = ((0..64).map(&mut of).collect(), (0..64).map(of).collect());
    let single =
        |values: &[f64]| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
    reduces("bulk_add_f64", &a, &b, |old, x| old + x);
    reduces("bulk_add_f32", &single(&a), &single(&b), |old, x| old + x);
    // The sum of two values of 11 or 8 bits is exact in double precision, and is rounded once.
    let halves =
        |values: &[f64]| -> Vec<f16> { values.iter().map(|&v| f16::from_f64(v)).collect() };
    reduces("bulk_add_f16", &halves(&a), &halves(&b), |old, x| {
        f16::from_f64(old.to_f64() + x.to_f64())
    });
    let brains =
        |values: &[f64]| -> Vec<bf16> { values.iter().map(|&v| bf16::from_f64(v)).collect() };
    reduces("bulk_add_bf16", &brains(&a), &brains(&b), |old, x| {
        bf16::from_f64(old.to_f64() + x.to_f64())
    });
}

#[test]
fn of_two_halves_the_number_wins_over_what_is_none() {
    let patterns = [
        0u16, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x8001, 0x3f80,
    ];
    let mut random = Random(12);
    let mut of = |at: usize| match at {
        0..50 => (patterns[at / 5 % 10], patterns[at % 10]),
        _ => (random.next() as u16, random.next() as u16),
    };
    let (a, b): (Vec<u16>, Vec<u16>) = (0..64).map(&mut of).unzip();
    let pick = |x: f64, y: f64, is_least: bool| match (x.is_nan(), y.is_nan()) {
        (true, true) => None,
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => Some(x.total_cmp(&y).is_lt() == is_least),
    };
    // NaN of any pattern becomes the one of all bits.
    let halves = |is_least| {
        move |old: u16, x: u16| {
            let number = |bits| f16::from_bits(bits).to_f64();
            match pick(number(old), number(x), is_least) {
                Some(true) => old,
                Some(false) => x,
                None => 0x7fff,
            }
        }
    };
    reduces("bulk_min_f16", &a, &b, halves(true));
    reduces("bulk_max_f16", &a, &b, halves(false));
    let brains = |is_least| {
        move |old: u16, x: u16| {
            let number = |bits| bf16::from_bits(bits).to_f64();
            match pick(number(old), number(x), is_least) {
                Some(true) => old,
                Some(false) => x,
                None => 0x7fff,
            }
        }
    };
    reduces("bulk_min_bf16", &a, &b, brains(true));
    reduces("bulk_max_bf16", &a, &b, brains(false));
}

#[test]
fn a_copy_beyond_its_source_or_not_of_16_bytes_is_stopped() {
    let mut device = Device::load(FILE);
    let (from, out) = (device.upload(&[1u32; 64]), device.zeros::<u32>(256));
    for (from, bytes, words) in [(from, 512u32, "out of bounds"), (from + 4, 64, "aligned")] {
        let args = [from.into(), out.into(), bytes.into()];
        let trap = device.trap("bulk_guarded", 1, 32, &args);
        let said = trap.to_string();
        assert!(said.contains(words), "{said}");
        assert_eq!(trap.thread, Some([5, 0, 0]), "{said}");
    }
}
