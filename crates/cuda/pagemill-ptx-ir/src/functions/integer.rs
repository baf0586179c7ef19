//! Integer division of 64 bits, saturating sums, pairs of 16-bit values, warp reductions.

use super::super::float::{NAN32, max32, min32};
use crate::ast::Type;

/// Division by zero gives all ones, and the dividend as remainder, as hardware does.
pub fn div_u64(a: u64, b: u64, _: u64, _: u32) -> u64 {
    a.checked_div(b).unwrap_or(u64::MAX)
}

pub fn div_s64(a: u64, b: u64, _: u64, _: u32) -> u64 {
    if b == 0 {
        u64::MAX
    } else {
        (a as i64).wrapping_div(b as i64) as u64
    }
}

pub fn rem_u64(a: u64, b: u64, _: u64, _: u32) -> u64 {
    a.checked_rem(b).unwrap_or(a)
}

pub fn rem_s64(a: u64, b: u64, _: u64, _: u32) -> u64 {
    if b == 0 {
        a
    } else {
        (a as i64).wrapping_rem(b as i64) as u64
    }
}

pub fn add_saturating(a: u64, b: u64, _: u64, _: u32) -> u64 {
    u64::from((a as i32).saturating_add(b as i32) as u32)
}

pub fn sub_saturating(a: u64, b: u64, _: u64, _: u32) -> u64 {
    u64::from((a as i32).saturating_sub(b as i32) as u32)
}

fn pairwise(a: u64, b: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    let low = f(a as u16, b as u16);
    let high = f((a >> 16) as u16, (b >> 16) as u16);
    u64::from(low) | u64::from(high) << 16
}

pub fn add_pair(a: u64, b: u64, _: u64, _: u32) -> u64 {
    pairwise(a, b, u16::wrapping_add)
}

pub fn sub_pair(a: u64, b: u64, _: u64, _: u32) -> u64 {
    pairwise(a, b, u16::wrapping_sub)
}

/// Bit 0 of `flags`: maximum; bit 1: signed; bit 2: not below zero.
pub fn extreme_pair(a: u64, b: u64, _: u64, flags: u32) -> u64 {
    let (max, signed, relu) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
    pairwise(a, b, |a, b| match (signed, max) {
        (false, false) => a.min(b),
        (false, true) => a.max(b),
        (true, max) => {
            let (a, b) = (a as i16, b as i16);
            let value = if max { a.max(b) } else { a.min(b) };
            (if relu { value.max(0) } else { value }) as u16
        }
    })
}

type Combine = fn(u32, u32) -> u32;

/// The function of `redux.sync.name.ty`.
pub fn combine_integer(name: &str, ty: Type) -> Option<Combine> {
    Some(match (name, ty) {
        ("add", Type::U32 | Type::S32) => u32::wrapping_add,
        ("min", Type::U32) => |a, b| a.min(b),
        ("max", Type::U32) => |a, b| a.max(b),
        ("min", Type::S32) => |a, b| (a as i32).min(b as i32) as u32,
        ("max", Type::S32) => |a, b| (a as i32).max(b as i32) as u32,
        ("and", Type::B32) => |a, b| a & b,
        ("or", Type::B32) => |a, b| a | b,
        ("xor", Type::B32) => |a, b| a ^ b,
        _ => return None,
    })
}

/// The function of `redux.sync.name[.abs][.NaN].f32`.
pub fn combine_float(name: &str, absolute: bool, nan: bool) -> Option<Combine> {
    fn apply<const MAX: bool, const ABS: bool, const NAN: bool>(a: u32, b: u32) -> u32 {
        let strip = |bits: u32| f32::from_bits(if ABS { bits & 0x7fff_ffff } else { bits });
        let (a, b) = (strip(a), strip(b));
        if NAN && (a.is_nan() || b.is_nan()) {
            return NAN32;
        }
        if MAX {
            max32(a, b).to_bits()
        } else {
            min32(a, b).to_bits()
        }
    }
    Some(match (name, absolute, nan) {
        ("min", false, false) => apply::<false, false, false>,
        ("min", false, true) => apply::<false, false, true>,
        ("min", true, false) => apply::<false, true, false>,
        ("min", true, true) => apply::<false, true, true>,
        ("max", false, false) => apply::<true, false, false>,
        ("max", false, true) => apply::<true, false, true>,
        ("max", true, false) => apply::<true, true, false>,
        ("max", true, true) => apply::<true, true, true>,
        _ => return None,
    })
}
