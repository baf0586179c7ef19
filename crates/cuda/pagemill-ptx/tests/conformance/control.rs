//! Divergent control flow.

use super::harness::Device;
use super::inputs::Random;

const COUNT: usize = 300;

/// Runs `kernel` over random words below `limit`, the results next to a model's.
fn check(file: &str, kernel: &str, limit: u32, before: u32, model: impl Fn(u32, usize) -> u32) {
    let values: Vec<u32> = Random(13)
        .words(COUNT)
        .iter()
        .map(|word| word % limit)
        .collect();
    let mut device = Device::load(file);
    let (from, out) = (device.upload(&values), device.upload(&[before; COUNT]));
    device.launch(
        kernel,
        3,
        128,
        &[from.into(), out.into(), (COUNT as u32).into()],
    );
    let wanted: Vec<u32> = values
        .iter()
        .enumerate()
        .map(|(i, &x)| model(x, i))
        .collect();
    assert_eq!(device.download::<u32>(out, COUNT), wanted, "{kernel}");
}

#[test]
fn nested_branches() {
    check("control_divergence", "nested", u32::MAX, 0, |x, _| {
        let mut hash = 1u32;
        if x & 1 == 1 {
            hash = hash * 3 + 1;
            if x & 2 != 0 {
                hash = hash.wrapping_mul(5).wrapping_add(x);
                hash = if x & 4 != 0 {
                    hash ^ 0x55
                } else {
                    hash.wrapping_add(100)
                };
            } else if x & 8 != 0 {
                hash = hash.wrapping_sub(7);
            }
        } else {
            for k in (0..x & 15).take_while(|&k| k != 9).filter(|k| k % 3 != 1) {
                hash = hash.wrapping_mul(7).wrapping_add(k);
            }
        }
        hash
    });
}

#[test]
fn loops_of_different_length() {
    check("control_divergence", "collatz", 100_000, 0, |x, _| {
        let step = |&x: &u64| Some(if x & 1 == 1 { 3 * x + 1 } else { x >> 1 });
        std::iter::successors(Some(u64::from(x | 1)), step)
            .take_while(|&x| x != 1)
            .count() as u32
    });
}

#[test]
fn early_exits() {
    check("control_divergence", "early", 100_000, 0, |x, i| {
        let y = x % 1000;
        let divisor = (2..)
            .take_while(|k| k * k <= y)
            .find(|k| y.is_multiple_of(*k));
        match divisor {
            _ if x.is_multiple_of(5) => 1,
            Some(divisor) => divisor,
            None => 2000 + u32::from(((i % 128) % 2 == 1 && x > 10) || (x % 7 == 3 && x != 24)),
        }
    });
}

#[test]
fn nested_loops_left_from_inside() {
    check("control_divergence", "loops", 100_000, 0, |x, _| {
        let mut sum = 0;
        for k in 0..x % 7 {
            for j in 0..(x >> 3) % 5 + k {
                sum += k * 10 + j;
                if sum > 150 {
                    return sum;
                }
            }
            sum ^= k;
        }
        sum + 1000
    });
}

#[test]
fn loops_with_two_entries() {
    check("control_divergence", "irreducible", u32::MAX, 0, |x, _| {
        let (mut sum, mut k) = (x & 1, x & 31);
        let mut at_top = sum != 0;
        loop {
            if at_top {
                sum += 3;
            }
            sum ^= k;
            if k == 0 {
                return sum;
            }
            k -= 1;
            sum &= 0xFFF;
            at_top = k > 3;
        }
    });
}

#[test]
fn jumps_through_a_table() {
    check("control_switch", "table", u32::MAX, 0, |x, _| {
        let sum = match x & 3 {
            0 => 100,
            // One falls through to two.
            _ => x.wrapping_mul(5),
        };
        sum.wrapping_add(x & 3)
    });
}

#[test]
fn uniform_jumps_through_a_table() {
    let mut device = Device::load("control_switch");
    let out = device.zeros::<u32>(32);
    for (choice, wanted) in [(0u32, 10), (1, 20), (2, 30)] {
        device.launch("uniform", 1, 32, &[out.into(), choice.into()]);
        assert_eq!(device.download::<u32>(out, 32), [wanted; 32]);
    }
}

#[test]
fn switches() {
    check("control_switch", "cases", u32::MAX, 4321, |x, _| {
        match x % 11 {
            0 => x.wrapping_add(5),
            1 => x.wrapping_mul(x),
            2 | 3 => x >> 3,
            4 => x / 9,
            5 => x.count_ones(),
            6 => x.leading_zeros(),
            8 => x ^ x << 5,
            9 => 4321,
            _ => 12345,
        }
    });
}
