//! Floating point in eight bits: E4M3 and E5M2 of the OCP specification, as `cvt` converts them.

use super::super::float::canonical32;
use half::f16;

/// E5M2 rather than E4M3.
pub(crate) const E5M2: u32 = 1;
/// Negative values become zero.
pub(crate) const RELU: u32 = 1 << 1;

/// The only NaN of E4M3, and the one that conversions to E5M2 make.
const NAN: u8 = 0x7f;

struct Format {
    fraction_bits: i32,
    bias: i32,
    /// Bits of the largest finite value.
    largest: u8,
}

impl Format {
    fn of(code: u32) -> Self {
        match code & E5M2 != 0 {
            true => Self {
                fraction_bits: 2,
                bias: 15,
                largest: 0x7b,
            },
            false => Self {
                fraction_bits: 3,
                bias: 7,
                largest: 0x7e,
            },
        }
    }

    /// The nearest value, ties to even; what is too large becomes the largest finite value.
    fn encode(&self, value: f64) -> u8 {
        if value.is_nan() {
            return NAN;
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        // Below the smallest normal exponent, values keep the unit of that exponent.
        let exponent = exponent.max(1 - self.bias);
        let unit = f64::from(exponent - self.fraction_bits).exp2();
        let kept = (value.abs() / unit).round_ties_even();
        // The hidden bit adds one to the exponent field, and so does a carry out of the fraction.
        let field = f64::from((exponent + self.bias - 1) << self.fraction_bits);
        sign | (field + kept).min(f64::from(self.largest)) as u8
    }
}

fn pair(high: f64, low: f64, code: u32) -> u64 {
    let format = Format::of(code);
    let one = |value: f64| match code & RELU != 0 && value <= 0.0 {
        true => 0,
        false => u64::from(format.encode(value)),
    };
    one(high) << 8 | one(low)
}

/// Two singles, the first into the upper byte.
pub(crate) fn from_singles(high: u64, low: u64, _: u64, code: u32) -> u64 {
    let value = |bits: u64| f64::from(f32::from_bits(bits as u32));
    pair(value(high), value(low), code)
}

/// Two halves of one register.
pub(crate) fn from_halves(halves: u64, _: u64, _: u64, code: u32) -> u64 {
    let value = |bits: u64| f16::from_bits(bits as u16).to_f64();
    pair(value(halves >> 16), value(halves), code)
}

/// The value of `bits`.
pub(crate) fn decode(bits: u8, code: u32) -> f64 {
    if code & E5M2 != 0 {
        // E5M2 is the upper byte of a half.
        return f16::from_bits(u16::from(bits) << 8).to_f64();
    }
    let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
    match (exponent, bits & 7) {
        (15, 7) => f64::NAN,
        (0, _) => sign * fraction * f64::from(2f32.powi(-9)),
        _ => sign * (8.0 + fraction) * f64::from(2f32.powi(exponent - 10)),
    }
}

/// Two bytes to two halves, exactly.
pub(crate) fn to_halves(bytes: u64, _: u64, _: u64, code: u32) -> u64 {
    let one = |bits: u64| {
        let value = canonical32(decode(bits as u8, code) as f32);
        match value.is_nan() {
            true => 0x7fff,
            false if code & RELU != 0 && value <= 0.0 => 0,
            false => u64::from(f16::from_f32(value).to_bits()),
        }
    };
    one(bytes >> 8) << 16 | one(bytes)
}
