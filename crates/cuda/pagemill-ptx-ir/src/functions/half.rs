//! Half precision and bfloat16 on raw bits, each operation rounded once.

use super::super::float::{max64, min64};

/// Operations, in the low byte of the code; for [`from_double`] and [`pack_singles`] the low two bits are the rounding.
pub const ADD: u32 = 0;
pub const SUB: u32 = 1;
pub const MUL: u32 = 2;
pub const FMA: u32 = 3;
pub const MIN: u32 = 4;
pub const MAX: u32 = 5;
pub const NEG: u32 = 6;
pub const ABS: u32 = 7;
pub const EX2: u32 = 8;
pub const TANH: u32 = 9;

/// bfloat16 rather than IEEE half.
pub const BF16: u32 = 1 << 8;
/// Two values in one register.
pub const PAIR: u32 = 1 << 9;
/// Subnormal operands and results to zero.
pub const FTZ: u32 = 1 << 10;
/// Clamp the result to [0, 1].
pub const SATURATE: u32 = 1 << 11;
/// Clamp the result to at least 0.
pub const RELU: u32 = 1 << 12;
/// A NaN operand wins a minimum or maximum.
pub const NAN: u32 = 1 << 13;
/// Minimum or maximum of magnitudes with the signs' exclusive or.
pub const XORSIGN: u32 = 1 << 14;

/// A 16-bit format: fraction bits and exponent bias.
#[derive(Clone, Copy)]
struct Format {
    fraction_bits: u32,
    bias: i32,
}

impl Format {
    fn of(code: u32) -> Self {
        if code & BF16 != 0 {
            Self {
                fraction_bits: 7,
                bias: 127,
            }
        } else {
            Self {
                fraction_bits: 10,
                bias: 15,
            }
        }
    }

    fn infinity(self) -> u16 {
        0x7fff & !((1 << self.fraction_bits) - 1)
    }

    /// The exact value of `bits`.
    fn decode(self, bits: u16) -> f64 {
        let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
        let fraction = f64::from(bits & ((1 << self.fraction_bits) - 1));
        let exponent = i32::from((bits & 0x7fff) >> self.fraction_bits);
        let unit = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
        let fraction_bits = self.fraction_bits as i32;
        match exponent {
            0 => sign * fraction * unit(1 - self.bias - fraction_bits),
            _ if bits & 0x7fff > self.infinity() => f64::NAN.copysign(sign),
            _ if bits & 0x7fff == self.infinity() => sign * f64::INFINITY,
            _ => {
                sign * (fraction + unit(fraction_bits)) * unit(exponent - self.bias - fraction_bits)
            }
        }
    }

    /// The value of this format that `value` rounds to. `rounding`: 0 nearest even, 1 to zero, 2 down, 3 up.
    fn encode(self, value: f64, rounding: u32) -> u16 {
        let bits = value.to_bits();
        let sign = (bits >> 48) as u16 & 0x8000;
        if value.is_nan() {
            return 0x7fff;
        }
        if value.is_infinite() {
            return sign | self.infinity();
        }
        let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
        if exponent < -1022 {
            return sign
                | u16::from(value != 0.0 && rounds_up(rounding, sign != 0, 0, false, true));
        }
        let significand = bits & ((1 << 52) - 1) | 1 << 52;
        // Below the smallest normal exponent the unit stays, and bits fall off instead.
        let scale = exponent.max(1 - self.bias);
        let drop = 52 - self.fraction_bits as i32 + (scale - exponent);
        let (kept, half, sticky) = match drop {
            64.. => (0, false, true),
            drop => (
                significand >> drop,
                significand >> (drop - 1) & 1 != 0,
                significand & ((1 << (drop - 1)) - 1) != 0,
            ),
        };
        let kept = kept + u64::from(rounds_up(rounding, sign != 0, kept, half, sticky));
        // The hidden bit adds one to the exponent field, and a carry out of the fraction does the same.
        let field = (scale + self.bias - 1) as u64;
        let encoded = (field << self.fraction_bits) + kept;
        if encoded < u64::from(self.infinity()) {
            return sign | encoded as u16;
        }
        let to_infinity = match rounding {
            0 => true,
            1 => false,
            2 => sign != 0,
            _ => sign == 0,
        };
        sign | if to_infinity {
            self.infinity()
        } else {
            self.infinity() - 1
        }
    }

    fn flush(self, bits: u16, code: u32) -> u16 {
        let subnormal = bits & self.infinity() == 0;
        if code & FTZ != 0 && subnormal {
            bits & 0x8000
        } else {
            bits
        }
    }
}

fn rounds_up(rounding: u32, negative: bool, kept: u64, half: bool, sticky: bool) -> bool {
    match rounding {
        0 => half && (sticky || kept & 1 != 0),
        1 => false,
        2 => negative && (half || sticky),
        _ => !negative && (half || sticky),
    }
}

/// `a * b + c` rounded to odd, so that a second rounding to a shorter format is right.
fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
    // The product of two 11-bit significands is exact.
    let product = a * b;
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    if error == 0.0 || sum.to_bits() & 1 != 0 {
        return sum;
    }
    if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    }
}

/// Computes the operation in `code`'s low byte on one value or on two.
pub fn compute(a: u64, b: u64, c: u64, code: u32) -> u64 {
    let one = |shift: u32| {
        u64::from(compute_one(
            (a >> shift) as u16,
            (b >> shift) as u16,
            (c >> shift) as u16,
            code,
        ))
    };
    if code & PAIR != 0 {
        one(0) | one(16) << 16
    } else {
        one(0)
    }
}

fn compute_one(a: u16, b: u16, c: u16, code: u32) -> u16 {
    let format = Format::of(code);
    match code & 0xff {
        NEG => return format.flush(a, code) ^ 0x8000,
        ABS => return format.flush(a, code) & 0x7fff,
        _ => {}
    }
    let [a, b, c] = [a, b, c].map(|bits| format.decode(format.flush(bits, code)));
    let value = match code & 0xff {
        ADD => a + b,
        SUB => a - b,
        MUL => a * b,
        FMA => fma_to_odd(a, b, c),
        MIN | MAX => extreme(a, b, code),
        EX2 => a.exp2(),
        _ => a.tanh(),
    };
    format.flush(format.encode(clamp(value, code), 0), code)
}

fn extreme(a: f64, b: f64, code: u32) -> f64 {
    if code & NAN != 0 && (a.is_nan() || b.is_nan()) {
        return f64::NAN;
    }
    let magnitudes = code & XORSIGN != 0;
    let (x, y) = if magnitudes {
        (a.abs(), b.abs())
    } else {
        (a, b)
    };
    let value = if code & 0xff == MAX {
        max64(x, y)
    } else {
        min64(x, y)
    };
    let negative = a.is_sign_negative() != b.is_sign_negative();
    if magnitudes && negative {
        -value
    } else {
        value
    }
}

fn clamp(value: f64, code: u32) -> f64 {
    if code & SATURATE != 0 {
        return super::super::float::saturate64(value);
    }
    if code & RELU != 0 && value <= 0.0 {
        0.0
    } else {
        value
    }
}

/// The value as single precision, exactly.
#[inline]
pub fn to_single(a: u64, _: u64, _: u64, code: u32) -> u64 {
    let format = Format::of(code);
    let value = format.decode(format.flush(a as u16, code)) as f32;
    u64::from(super::super::float::canonical32(value).to_bits())
}

/// Rounds a double to 16 bits.
pub fn from_double(a: u64, _: u64, _: u64, code: u32) -> u64 {
    let format = Format::of(code);
    u64::from(format.flush(
        format.encode(clamp(f64::from_bits(a), code), code & 3),
        code,
    ))
}

/// Two singles, the first into the upper half.
pub fn pack_singles(high: u64, low: u64, _: u64, code: u32) -> u64 {
    let one = |bits: u64| from_double(f64::from(f32::from_bits(bits as u32)).to_bits(), 0, 0, code);
    one(high) << 16 | one(low)
}

#[cfg(test)]
mod tests;
