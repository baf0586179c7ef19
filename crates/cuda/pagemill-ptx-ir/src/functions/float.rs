//! Approximate functions, computed in double precision and rounded once: far inside the errors PTX documents.

use super::super::float::{NAN32, canonical32, max32, min32};

fn through_double(a: u64, f: impl Fn(f64) -> f64) -> u64 {
    u64::from(canonical32(f(f64::from(f32::from_bits(a as u32))) as f32).to_bits())
}

pub fn sin(a: u64, _: u64, _: u64, _: u32) -> u64 {
    through_double(a, f64::sin)
}

pub fn cos(a: u64, _: u64, _: u64, _: u32) -> u64 {
    through_double(a, f64::cos)
}

pub fn log2(a: u64, _: u64, _: u64, _: u32) -> u64 {
    through_double(a, f64::log2)
}

pub fn tanh(a: u64, _: u64, _: u64, _: u32) -> u64 {
    through_double(a, f64::tanh)
}

/// Bit 0: maximum; bit 1: NaN wins; bit 2: of magnitudes, with the signs' exclusive or; bit 3: of three.
pub fn extreme(a: u64, b: u64, c: u64, flags: u32) -> u64 {
    let two = |a: f32, b: f32| {
        if flags & 2 != 0 && (a.is_nan() || b.is_nan()) {
            return f32::from_bits(NAN32);
        }
        let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
        let (x, y) = if flags & 4 != 0 {
            (a.abs(), b.abs())
        } else {
            (a, b)
        };
        let value = if flags & 1 != 0 {
            max32(x, y)
        } else {
            min32(x, y)
        };
        if flags & 4 != 0 && !value.is_nan() {
            f32::from_bits(value.to_bits() | sign)
        } else {
            value
        }
    };
    let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
    let value = if flags & 8 != 0 {
        two(two(a, b), c)
    } else {
        two(a, b)
    };
    u64::from(value.to_bits())
}

/// `testp`: the low byte is the property; bit 8 is set for doubles.
pub fn test_property(a: u64, _: u64, _: u64, code: u32) -> u64 {
    use std::num::FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    let category = if code >> 8 != 0 {
        f64::from_bits(a).classify()
    } else {
        f32::from_bits(a as u32).classify()
    };
    let holds = match code & 0xff {
        0 => !matches!(category, Infinite | Nan),
        1 => category == Infinite,
        2 => category != Nan,
        3 => category == Nan,
        // The manual counts zeros as normal.
        4 => matches!(category, Normal | Zero),
        _ => category == Subnormal,
    };
    u64::from(holds)
}
