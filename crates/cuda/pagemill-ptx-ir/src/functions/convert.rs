//! Conversions that are rare, or to and from 64-bit and 16-bit integers.

use super::super::float::canonical32;
use super::rounding::{Rounding, round_of};
use crate::ast::Type;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, Round};

/// Encodes an integer type: its size, whether it is signed, and one more fact about the source.
pub fn integer_code(bytes: u64, signed: bool, source: bool) -> u32 {
    bytes as u32 | u32::from(signed) << 8 | u32::from(source) << 9
}

/// Least and greatest value of the type in `code`.
fn range(code: u32) -> (i128, i128) {
    let bits = 8 * (code & 0xff);
    if code >> 8 & 1 != 0 {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

fn clamp(value: i128, code: u32) -> u64 {
    let (low, high) = range(code);
    let bits = value.clamp(low, high) as u64;
    // Narrow results live in 32-bit lines.
    if code & 0xff < 8 {
        bits & 0xffff_ffff
    } else {
        bits
    }
}

/// An integer held in 64 bits, clamped to the type; the source flag says that it is signed.
pub fn saturate(a: u64, _: u64, _: u64, code: u32) -> u64 {
    let value = if code >> 9 & 1 != 0 {
        i128::from(a as i64)
    } else {
        i128::from(a)
    };
    clamp(value, code)
}

/// A double toward zero, clamped to the type; the source flag says that it was a double in PTX.
/// NaN is zero, except that a 64-bit source or destination gives the sign bit alone.
pub fn float_to_integer(a: u64, _: u64, _: u64, code: u32) -> u64 {
    let value = f64::from_bits(a);
    if !value.is_nan() {
        return clamp(value.trunc() as i128, code);
    }
    let bits = 8 * (code & 0xff);
    if code >> 9 & 1 != 0 || bits == 64 {
        1 << (bits - 1)
    } else {
        0
    }
}

/// Encodes a float type, the signedness of the integer source, and the rounding.
pub fn float_code(to: Type, signed: bool, rounding: Rounding) -> Option<u32> {
    let format = match to {
        Type::F16 => 0,
        Type::Bf16 => 1,
        Type::F32 => 2,
        Type::F64 => 3,
        _ => return None,
    };
    Some(rounding as u32 | format << 2 | u32::from(signed) << 4)
}

pub fn integer_to_float(a: u64, _: u64, _: u64, code: u32) -> u64 {
    let round = round_of(code);
    let value = if code >> 4 & 1 != 0 {
        i128::from(a as i64)
    } else {
        i128::from(a)
    };
    match code >> 2 & 3 {
        0 => from_integer::<Half>(value, round),
        1 => from_integer::<BFloat>(value, round),
        2 => from_integer::<Single>(value, round),
        _ => from_integer::<Double>(value, round),
    }
}

fn from_integer<F: Float>(value: i128, round: Round) -> u64 {
    F::from_i128_r(value, round).value.to_bits() as u64
}

/// Ten fraction bits, ties away from zero.
pub fn to_tf32(a: u64, _: u64, _: u64, _: u32) -> u64 {
    let bits = a as u32;
    if f32::from_bits(bits).is_finite() {
        return u64::from(bits.wrapping_add(0x1000) & !0x1fff);
    }
    u64::from(canonical32(f32::from_bits(bits)).to_bits())
}

/// Encodes for [`pack`] how many bits each part gets.
pub fn pack_code(bits: u32, signed: bool) -> u32 {
    bits | u32::from(signed) << 8
}

/// `cvt.pack.sat`: two clamped integers side by side, and the low part of `c` above them.
pub fn pack(a: u64, b: u64, c: u64, code: u32) -> u64 {
    let (bits, signed) = (code & 0xff, code >> 8 != 0);
    let mask = (1u64 << bits) - 1;
    let (low, high) = match signed {
        true => (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1),
        false => (0, mask as i64),
    };
    let part = |value: u64| i64::from(value as i32).clamp(low, high) as u64 & mask;
    (c << (2 * bits) | part(a) << bits | part(b)) & 0xffff_ffff
}

#[cfg(test)]
mod tests;
