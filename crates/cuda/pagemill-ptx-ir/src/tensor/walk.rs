//! From a tensor map to the bytes of a box: what one lane computes on the way, bits in, bits out.
//!
//! A box is walked row by row. A row lies along the first dimension; the number of a row says where it is in the others.

use super::{MARK, TensorElement};
use crate::ast::Type;
use crate::float::{canonical32, flush32};
use crate::functions::{atomic, half};

/// The NaN of elements outside of the tensor, in each 16 bits. NVIDIA documents that it is a special one, not which.
const OUTSIDE_NAN: u64 = 0x7ff7_7ff7_7ff7_7ff7;

/// The NaN that conversion to tf32 makes of every NaN.
const TF32_NAN: u32 = 0x7fff_e000;

/// Tiles in shared memory begin at multiples of this.
const TILE_ALIGN: u64 = 128;

/// Set in the result of [`choose`] where the bytes are inside of the tensor.
pub const INSIDE: u32 = 1 << 8;

/// Operations of reductions, in the order of their numbers.
pub const OPERATIONS: [&str; 8] = ["add", "min", "max", "inc", "dec", "and", "or", "xor"];

fn element_bytes(form: u64) -> u64 {
    TensorElement::of(form).map_or(1, TensorElement::bytes)
}

fn size(dimension: u64) -> u64 {
    dimension & ((1 << 40) - 1)
}

fn box_size(dimension: u64) -> u64 {
    dimension >> 40 & 0xffff
}

fn step(dimension: u64) -> u64 {
    (dimension >> 56).max(1)
}

/// Elements that a box has in a dimension that is not the first.
fn count(dimension: u64) -> u64 {
    box_size(dimension).div_ceil(step(dimension)).max(1)
}

/// Whether `form` is that of a tensor map of `rank` dimensions that is not interleaved.
pub fn is_map(form: u64, _: u64, _: u64, rank: u32) -> u64 {
    let found = (form >> 8 & 0xf) + 1;
    let is_interleaved = form >> 20 & 0xf != 0;
    let is_known = TensorElement::of(form).is_some() && form >> 12 & 0xf < 4;
    u64::from(form >> 32 == MARK && found == u64::from(rank) && is_known && !is_interleaved)
}

/// Whether a tile may begin at `address` of shared memory.
pub fn is_tile_address(address: u64, _: u64, _: u64, _: u32) -> u64 {
    u64::from(address.is_multiple_of(TILE_ALIGN))
}

/// Whether the elements have operation `operation`.
pub fn has_operation(form: u64, _: u64, _: u64, operation: u32) -> u64 {
    let operation = OPERATIONS[operation as usize % OPERATIONS.len()];
    u64::from(TensorElement::of(form).is_some_and(|element| combine(operation, element).is_some()))
}

/// `rows` times the elements of a box in a dimension.
pub fn more_rows(dimension: u64, rows: u64, _: u64, _: u32) -> u64 {
    (count(dimension) * rows).min(u64::from(u32::MAX))
}

/// Bytes of a row of a box.
pub fn row_bytes(first: u64, form: u64, _: u64, _: u32) -> u64 {
    box_size(first) * element_bytes(form)
}

/// Bytes from the tensor's begin in the first dimension to where a box at `coordinate` begins.
pub fn row_offset(form: u64, coordinate: u64, _: u64, _: u32) -> u64 {
    (i64::from(coordinate as i32) * element_bytes(form) as i64) as u64
}

/// Element of a dimension that is meant by `rest`, the number of a row less what lower dimensions took of it.
pub fn position(dimension: u64, rest: u64, coordinate: u64, _: u32) -> u64 {
    let ahead = rest % count(dimension) * step(dimension);
    i64::from(coordinate as i32).wrapping_add(ahead as i64) as u64
}

/// What is left of `rest` for the dimensions behind this one.
pub fn next_rest(dimension: u64, rest: u64, _: u64, _: u32) -> u64 {
    rest / count(dimension)
}

/// Whether a row is outside of the tensor, in this dimension or in one before it.
pub fn is_outside(dimension: u64, position: u64, before: u64, _: u32) -> u64 {
    before | u64::from(position >= size(dimension))
}

/// Bytes of the tensor in a row: none of a row that is outside.
pub fn bytes_inside(first: u64, form: u64, is_outside: u64, _: u32) -> u64 {
    match is_outside {
        0 => size(first) * element_bytes(form),
        _ => 0,
    }
}

/// How many bytes are taken at once, `offset` bytes into a row of the tensor that has `inside` bytes, and `done` bytes into
/// that of the box: as many as are all inside, aligned, or all outside. With [`INSIDE`].
pub fn choose(offset: u64, inside: u64, done: u64, _: u32) -> u64 {
    let (offset, inside) = (offset as i64, inside as i64);
    for unit in [16i64, 4, 2] {
        let is_outside = offset + unit <= 0 || offset >= inside;
        let is_inside = offset >= 0 && offset + unit <= inside && offset % unit == 0;
        if done.is_multiple_of(unit as u64) && (is_inside || is_outside) {
            return chosen(unit as u64, is_inside);
        }
    }
    chosen(1, offset >= 0 && offset < inside)
}

/// The same by elements, for reductions.
pub fn choose_element(offset: u64, inside: u64, form: u64, _: u32) -> u64 {
    let is_inside = (offset as i64) >= 0 && (offset as i64) < inside as i64;
    chosen(element_bytes(form), is_inside)
}

fn chosen(unit: u64, is_inside: bool) -> u64 {
    match is_inside {
        true => unit | u64::from(INSIDE),
        false => unit,
    }
}

/// The address of shared memory `done` bytes into a tile at `base`.
pub fn swizzle(form: u64, base: u64, done: u64, _: u32) -> u64 {
    let address = base.wrapping_add(done);
    let chunks = (1 << (form >> 12 & 3)) - 1;
    address ^ (address >> 7 & chunks) << 4
}

/// What elements outside of the tensor are read as.
pub fn fill(form: u64, _: u64, _: u64, _: u32) -> u64 {
    match form >> 16 & 0xf {
        0 => 0,
        _ => OUTSIDE_NAN,
    }
}

/// Whether [`convert`] changes anything.
pub fn converts(form: u64, _: u64, _: u64, _: u32) -> u64 {
    use TensorElement::{Tf32, Tf32Ftz};
    u64::from(matches!(TensorElement::of(form), Some(Tf32 | Tf32Ftz)))
}

/// The two elements of `value` rounded to tf32, if `choice` says that they are inside.
pub fn convert(value: u64, choice: u64, _: u64, _: u32) -> u64 {
    match choice & u64::from(INSIDE) {
        0 => value,
        _ => u64::from(to_tf32(value as u32)) | u64::from(to_tf32((value >> 32) as u32)) << 32,
    }
}

/// Ten fraction bits, ties to even.
fn to_tf32(bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return TF32_NAN;
    }
    match value.is_finite() {
        true => bits.wrapping_add(0xfff + (bits >> 13 & 1)) & !0x1fff,
        false => bits,
    }
}

/// The function of operation `number` of a reduction; its second operand is the form.
pub fn reduction(number: usize) -> atomic::Apply {
    let all: [atomic::Apply; 8] = [
        reduce::<0>,
        reduce::<1>,
        reduce::<2>,
        reduce::<3>,
        reduce::<4>,
        reduce::<5>,
        reduce::<6>,
        reduce::<7>,
    ];
    all[number % all.len()]
}

fn reduce<const NUMBER: usize>(old: u64, value: u64, form: u64) -> u64 {
    let function = TensorElement::of(form).and_then(|element| combine(OPERATIONS[NUMBER], element));
    function.map_or(old, |apply| apply(old, value, 0))
}

/// What `operation` does to elements; `None` where they do not have it.
fn combine(operation: &str, element: TensorElement) -> Option<atomic::Apply> {
    use TensorElement::{Bf16, F16, F32, F32Ftz, F64, S32, S64, Tf32, Tf32Ftz, U8, U16, U32, U64};
    let is_logic = matches!(operation, "and" | "or" | "xor");
    let ty = match element {
        U32 | S32 if is_logic => Type::B32,
        U64 | S64 if is_logic => Type::B64,
        U32 => Type::U32,
        S32 => Type::S32,
        U64 => Type::U64,
        S64 => Type::S64,
        F16 => Type::F16,
        Bf16 => Type::Bf16,
        F32 | Tf32 => Type::F32,
        F32Ftz | Tf32Ftz if operation == "add" => return Some(add_flushed),
        F64 => Type::F64,
        U8 | U16 | F32Ftz | Tf32Ftz => return None,
    };
    bulk_function(operation, ty)
}

/// The function of a reduction in bulk: those of atomics, and the least and the greatest of halves.
pub fn bulk_function(operation: &str, ty: Type) -> Option<atomic::Apply> {
    Some(match (operation, ty) {
        ("min", Type::F16) => |old, a, _| half::compute(old, a, 0, half::MIN),
        ("max", Type::F16) => |old, a, _| half::compute(old, a, 0, half::MAX),
        ("min", Type::Bf16) => |old, a, _| half::compute(old, a, 0, half::MIN | half::BF16),
        ("max", Type::Bf16) => |old, a, _| half::compute(old, a, 0, half::MAX | half::BF16),
        _ => return atomic::function(operation, ty),
    })
}

fn add_flushed(old: u64, value: u64, _: u64) -> u64 {
    let flushed = |bits: u64| flush32(f32::from_bits(bits as u32));
    let sum = flushed(old) + flushed(value);
    u64::from(flush32(canonical32(sum)).to_bits())
}

#[cfg(test)]
mod tests;
