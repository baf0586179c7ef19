//! What an atomic does to the value in memory.

use super::super::float::{canonical32, canonical64};
use super::half;
use crate::ast::Type;

/// Old value and operands to new value.
pub type Apply = fn(old: u64, a: u64, b: u64) -> u64;

/// The function of `atom.operation.ty`, or `None` when PTX has no such form.
pub fn function(operation: &str, ty: Type) -> Option<Apply> {
    use Type::{B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F64, S32, S64, U32, U64};
    Some(match (operation, ty) {
        ("and", B32 | B64) => |old, a, _| old & a,
        ("or", B32 | B64) => |old, a, _| old | a,
        ("xor", B32 | B64) => |old, a, _| old ^ a,
        ("exch", B16 | B32 | B64) => |_, a, _| a,
        ("cas", B16 | B32 | B64) => |old, a, b| if old == a { b } else { old },
        ("add", U32 | S32 | U64 | S64) => |old, a, _| old.wrapping_add(a),
        ("add", F32) => |old, a, _| {
            u64::from(canonical32(f32::from_bits(old as u32) + f32::from_bits(a as u32)).to_bits())
        },
        ("add", F64) => |old, a, _| canonical64(f64::from_bits(old) + f64::from_bits(a)).to_bits(),
        ("add", F16) => |old, a, _| half::compute(old, a, 0, half::ADD),
        ("add", F16x2) => |old, a, _| half::compute(old, a, 0, half::ADD | half::PAIR),
        ("add", Bf16) => |old, a, _| half::compute(old, a, 0, half::ADD | half::BF16),
        ("add", Bf16x2) => {
            |old, a, _| half::compute(old, a, 0, half::ADD | half::BF16 | half::PAIR)
        }
        ("inc", U32) => |old, a, _| if old >= a { 0 } else { old + 1 },
        ("dec", U32) => |old, a, _| if old == 0 || old > a { a } else { old - 1 },
        ("min", U32 | U64) => |old, a, _| old.min(a),
        ("max", U32 | U64) => |old, a, _| old.max(a),
        ("min", S32) => |old, a, _| (old as i32).min(a as i32) as u32 as u64,
        ("max", S32) => |old, a, _| (old as i32).max(a as i32) as u32 as u64,
        ("min", S64) => |old, a, _| (old as i64).min(a as i64) as u64,
        ("max", S64) => |old, a, _| (old as i64).max(a as i64) as u64,
        _ => return None,
    })
}

/// As [`function`], with what only vectors of halves can do.
pub fn vector_function(operation: &str, ty: Type) -> Option<Apply> {
    use Type::{Bf16, Bf16x2, F16, F16x2};
    Some(match (operation, ty) {
        ("add", _) => return function(operation, ty),
        ("min", F16) => |old, a, _| half::compute(old, a, 0, half::MIN),
        ("max", F16) => |old, a, _| half::compute(old, a, 0, half::MAX),
        ("min", F16x2) => |old, a, _| half::compute(old, a, 0, half::MIN | half::PAIR),
        ("max", F16x2) => |old, a, _| half::compute(old, a, 0, half::MAX | half::PAIR),
        ("min", Bf16) => |old, a, _| half::compute(old, a, 0, half::MIN | half::BF16),
        ("max", Bf16) => |old, a, _| half::compute(old, a, 0, half::MAX | half::BF16),
        ("min", Bf16x2) => {
            |old, a, _| half::compute(old, a, 0, half::MIN | half::BF16 | half::PAIR)
        }
        ("max", Bf16x2) => {
            |old, a, _| half::compute(old, a, 0, half::MAX | half::BF16 | half::PAIR)
        }
        _ => return None,
    })
}
