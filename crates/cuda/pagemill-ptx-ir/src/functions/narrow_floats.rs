//! Floating point in eight bits and fewer: the formats of the OCP specifications, as `cvt` converts them.

use super::super::float::canonical32;
use half::{bf16, f16};

/// Formats, in the lowest bits of a conversion's code.
pub const E4M3: u32 = 0;
pub const E5M2: u32 = 1;
pub const E2M3: u32 = 2;
pub const E3M2: u32 = 3;
pub const E2M1: u32 = 4;
const FORMAT: u32 = 7;
/// Negative values become zero.
pub const RELU: u32 = 1 << 3;
/// What is between two values becomes the one nearer to zero.
pub const TO_ZERO: u32 = 1 << 4;
/// The wide type is bf16 rather than f16.
pub const BF16: u32 = 1 << 5;
/// Of `ue8m0`: what is between two values becomes the larger one.
pub const UP: u32 = 1 << 6;
/// Of `ue8m0`: infinity becomes the largest value.
pub const FINITE: u32 = 1 << 7;

struct Format {
    /// Bits without the sign.
    bits: u32,
    fraction_bits: i32,
    bias: i32,
    /// Bits of the largest finite value.
    largest: u8,
    /// What a NaN becomes: the largest value where there is none.
    nan: u8,
}

impl Format {
    fn of(code: u32) -> Self {
        let (bits, fraction_bits, bias, largest, nan) = match code & FORMAT {
            E5M2 => (7, 2, 15, 0x7b, 0x7f),
            E2M3 => (5, 3, 1, 0x1f, 0x1f),
            E3M2 => (5, 2, 3, 0x1f, 0x1f),
            E2M1 => (3, 1, 1, 0x7, 0x7),
            _ => (7, 3, 7, 0x7e, 0x7f),
        };
        Self {
            bits,
            fraction_bits,
            bias,
            largest,
            nan,
        }
    }

    /// The nearest value, ties to even, or the next to zero; what is too large becomes the largest finite value.
    fn encode(&self, value: f64, to_zero: bool) -> u8 {
        if value.is_nan() {
            return self.nan;
        }
        let sign = u8::from(value.is_sign_negative()) << self.bits;
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        // Below the smallest normal exponent, values keep the unit of that exponent.
        let exponent = exponent.max(1 - self.bias);
        let unit = f64::from(exponent - self.fraction_bits).exp2();
        let kept = value.abs() / unit;
        let kept = if to_zero {
            kept.trunc()
        } else {
            kept.round_ties_even()
        };
        // The hidden bit adds one to the exponent field, and so does a carry out of the fraction.
        let field = f64::from((exponent + self.bias - 1) << self.fraction_bits);
        sign | (field + kept).min(f64::from(self.largest)) as u8
    }

    fn decode(&self, bits: u8) -> f64 {
        let sign = if bits >> self.bits & 1 == 1 {
            -1.0
        } else {
            1.0
        };
        let magnitude = i32::from(bits & ((1 << self.bits) - 1));
        let exponent = magnitude >> self.fraction_bits;
        let fraction = magnitude & ((1 << self.fraction_bits) - 1);
        let hidden = i32::from(exponent != 0) << self.fraction_bits;
        let unit = exponent.max(1) - self.bias - self.fraction_bits;
        sign * f64::from(hidden + fraction) * f64::from(2f32.powi(unit))
    }
}

/// From one value of a pair to the next, in bits.
fn step(code: u32) -> u32 {
    if code & FORMAT == E2M1 { 4 } else { 8 }
}

fn pair(high: f64, low: f64, code: u32) -> u64 {
    let format = Format::of(code);
    let one = |value: f64| match code & RELU != 0 && value <= 0.0 {
        true => 0,
        false => u64::from(format.encode(value, code & TO_ZERO != 0)),
    };
    one(high) << step(code) | one(low)
}

fn wide_value(bits: u64, code: u32) -> f64 {
    match code & BF16 != 0 {
        true => bf16::from_bits(bits as u16).to_f64(),
        false => f16::from_bits(bits as u16).to_f64(),
    }
}

/// Two singles, the first into the upper part.
pub fn from_singles(high: u64, low: u64, _: u64, code: u32) -> u64 {
    let value = |bits: u64| f64::from(f32::from_bits(bits as u32));
    pair(value(high), value(low), code)
}

/// Two halves of one register.
pub fn from_halves(halves: u64, _: u64, _: u64, code: u32) -> u64 {
    pair(
        wide_value(halves >> 16, code),
        wide_value(halves, code),
        code,
    )
}

/// The value of `bits`.
pub fn decode(bits: u8, code: u32) -> f64 {
    match code & FORMAT {
        // E5M2 is the upper byte of a half.
        E5M2 => f16::from_bits(u16::from(bits) << 8).to_f64(),
        E4M3 if bits & 0x7f == 0x7f => f64::NAN,
        _ => Format::of(code).decode(bits),
    }
}

/// Two values to two halves, exactly.
pub fn to_halves(values: u64, _: u64, _: u64, code: u32) -> u64 {
    let one = |bits: u64| {
        let value = canonical32(decode(bits as u8, code) as f32);
        match value.is_nan() {
            true => 0x7fff,
            false if code & RELU != 0 && value <= 0.0 => 0,
            false => u64::from(f16::from_f32(value).to_bits()),
        }
    };
    one(values >> step(code)) << 16 | one(values)
}

/// The power of two of a magnitude, given as the bits of a single: `ue8m0`, whose 255 is a NaN.
fn power(single: u32, code: u32) -> u64 {
    let magnitude = single & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return 0xff;
    }
    // The smallest power is itself below the normal numbers.
    let is_between = magnitude & 0x7f_ffff != 0 && magnitude > 0x40_0000;
    let rounds_up = code & UP != 0 && is_between;
    let exponent = (magnitude >> 23) + u32::from(rounds_up);
    let largest = if code & FINITE != 0 { 0xfe } else { 0xff };
    exponent.min(largest).into()
}

/// Two singles to powers of two, the first into the upper byte.
pub fn powers_from_singles(high: u64, low: u64, _: u64, code: u32) -> u64 {
    power(high as u32, code) << 8 | power(low as u32, code)
}

/// Two `bf16` of one register to powers of two.
pub fn powers_from_halves(halves: u64, _: u64, _: u64, code: u32) -> u64 {
    power(halves as u32 & 0xffff_0000, code) << 8 | power((halves as u32) << 16, code)
}

/// Two powers of two to two `bf16`.
pub fn powers_to_halves(powers: u64, _: u64, _: u64, _: u32) -> u64 {
    let one = |power: u64| match power & 0xff {
        0xff => 0x7fff,
        0 => 0x40,
        power => power << 7,
    };
    one(powers >> 8) << 16 | one(powers)
}
