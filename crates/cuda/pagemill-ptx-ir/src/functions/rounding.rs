//! Arithmetic in the three rounding modes that the host does not offer.

use super::super::float::{NAN32, NAN64};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// A rounding mode of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`
    Nearest = 0,
    /// `.rz`
    Zero = 1,
    /// `.rm`
    Down = 2,
    /// `.rp`
    Up = 3,
}

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add = 0,
    Sub = 1,
    Mul = 2,
    Div = 3,
    Fma = 4,
    Sqrt = 5,
    /// Double to single precision.
    Narrow = 6,
}

/// The immediate that selects what [`single`] and [`double`] do.
pub fn code(operation: Operation, rounding: Rounding) -> u32 {
    (operation as u32) << 2 | rounding as u32
}

/// The rounding mode in the low two bits of `code`.
pub fn round_of(code: u32) -> Round {
    match code & 3 {
        0 => Round::NearestTiesToEven,
        1 => Round::TowardZero,
        2 => Round::TowardNegative,
        _ => Round::TowardPositive,
    }
}

// The compiler of kernels knows the two by their addresses.
#[inline(never)]
pub fn single(a: u64, b: u64, c: u64, code: u32) -> u64 {
    let round = round_of(code);
    if code >> 2 == Operation::Sqrt as u32 {
        return u64::from(sqrt32(f32::from_bits(a as u32), round).to_bits());
    }
    let [a, b, c] = [a, b, c].map(|bits| Single::from_bits(u128::from(bits as u32)));
    let value = compute(a, b, c, code >> 2, round);
    if value.is_nan() {
        u64::from(NAN32)
    } else {
        value.to_bits() as u64
    }
}

#[inline(never)]
pub fn double(a: u64, b: u64, c: u64, code: u32) -> u64 {
    let round = round_of(code);
    if code >> 2 == Operation::Sqrt as u32 {
        return sqrt64(f64::from_bits(a), round).to_bits();
    }
    let [a, b, c] = [a, b, c].map(|bits| Double::from_bits(u128::from(bits)));
    if code >> 2 == Operation::Narrow as u32 {
        let narrow: Single = a.convert_r(round, &mut false).value;
        return if narrow.is_nan() {
            u64::from(NAN32)
        } else {
            narrow.to_bits() as u64
        };
    }
    let value = compute(a, b, c, code >> 2, round);
    if value.is_nan() {
        NAN64
    } else {
        value.to_bits() as u64
    }
}

fn compute<F: Float>(a: F, b: F, c: F, operation: u32, round: Round) -> F {
    match operation {
        0 => a.add_r(b, round).value,
        1 => a.sub_r(b, round).value,
        2 => a.mul_r(b, round).value,
        3 => a.div_r(b, round).value,
        _ => a.mul_add_r(b, c, round).value,
    }
}

/// The nearest root, moved by one unit where the exact one lies on the side the mode does not want.
fn sqrt32(value: f32, round: Round) -> f32 {
    let root = value.sqrt();
    if root.is_nan() {
        return f32::from_bits(NAN32);
    }
    // The square of a single is exact as a double.
    let square = f64::from(root) * f64::from(root);
    match adjust(
        square.total_cmp(&f64::from(value)),
        root == 0.0 || root.is_infinite(),
        round,
    ) {
        0 => root,
        1 => root.next_up(),
        _ => root.next_down(),
    }
}

fn sqrt64(value: f64, round: Round) -> f64 {
    let root = value.sqrt();
    if root.is_nan() {
        return f64::from_bits(NAN64);
    }
    // The residual of the nearest root is exact. Scaling by an even power keeps it from underflowing.
    let scale = if value < 1e-200 { 2f64.powi(600) } else { 1.0 };
    let scaled_root = root * if value < 1e-200 { 2f64.powi(300) } else { 1.0 };
    let residual = (-scaled_root).mul_add(scaled_root, value * scale);
    match adjust(
        0.0f64.total_cmp(&(residual + 0.0)),
        root == 0.0 || root.is_infinite(),
        round,
    ) {
        0 => root,
        1 => root.next_up(),
        _ => root.next_down(),
    }
}

/// Steps to take, given how the square of the nearest root compares with the value.
fn adjust(square: std::cmp::Ordering, exact: bool, round: Round) -> i32 {
    use std::cmp::Ordering::{Greater, Less};
    match (square, round) {
        _ if exact => 0,
        (Less, Round::TowardPositive) => 1,
        (Greater, Round::TowardZero | Round::TowardNegative) => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
