//! IEEE arithmetic in every rounding, flush to zero and saturation, by means other than the executor's.

use half::{bf16, f16};
pub use rustc_apfloat::Round;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

/// `.rn`, `.rz`, `.rm`, `.rp`
pub const ROUNDINGS: [Round; 4] = [
    Round::NearestTiesToEven,
    Round::TowardZero,
    Round::TowardNegative,
    Round::TowardPositive,
];

pub const RN: Round = Round::NearestTiesToEven;
pub const RZ: Round = Round::TowardZero;
pub const RM: Round = Round::TowardNegative;
pub const RP: Round = Round::TowardPositive;

/// A float format with arithmetic in every rounding.
pub trait Ieee: Copy {
    fn sum(a: Self, b: Self, round: Round) -> Self;
    fn difference(a: Self, b: Self, round: Round) -> Self;
    fn product(a: Self, b: Self, round: Round) -> Self;
    fn quotient(a: Self, b: Self, round: Round) -> Self;
    /// `a * b + c`, rounded once.
    fn fused(a: Self, b: Self, c: Self, round: Round) -> Self;
    fn from_integer(value: i128, round: Round) -> Self;
    fn narrowed(value: f64, round: Round) -> Self;
}

macro_rules! ieee {
    ($($native:ty as $format:ty),*) => {$(
        impl Ieee for $native {
            fn sum(a: Self, b: Self, round: Round) -> Self {
                native(format(a).add_r(format(b), round).value)
            }
            fn difference(a: Self, b: Self, round: Round) -> Self {
                native(format(a).sub_r(format(b), round).value)
            }
            fn product(a: Self, b: Self, round: Round) -> Self {
                native(format(a).mul_r(format(b), round).value)
            }
            fn quotient(a: Self, b: Self, round: Round) -> Self {
                native(format(a).div_r(format(b), round).value)
            }
            fn fused(a: Self, b: Self, c: Self, round: Round) -> Self {
                native(format(a).mul_add_r(format(b), format(c), round).value)
            }
            fn from_integer(value: i128, round: Round) -> Self {
                native(<$format>::from_i128_r(value, round).value)
            }
            fn narrowed(value: f64, round: Round) -> Self {
                let mut loses_info = false;
                native(Double::from_bits(value.to_bits().into()).convert_r(round, &mut loses_info).value)
            }
        }

        impl Format for $native {
            type Soft = $format;
            fn format(self) -> $format {
                <$format>::from_bits(self.to_bits().into())
            }
            fn native(soft: $format) -> Self {
                <$native>::from_bits(soft.to_bits() as _)
            }
        }
    )*};
}

/// A native float and its software twin.
trait Format {
    type Soft;
    fn format(self) -> Self::Soft;
    fn native(soft: Self::Soft) -> Self;
}

fn format<T: Format>(value: T) -> T::Soft {
    value.format()
}

fn native<T: Format>(soft: T::Soft) -> T {
    T::native(soft)
}

ieee!(f32 as Single, f64 as Double, f16 as Half, bf16 as BFloat);

/// Square root in every rounding, from the nearest one and the sign of its error.
pub fn sqrt64(x: f64, round: Round) -> f64 {
    if x > 0.0 && x < 1e-200 {
        // Keep the error term out of the subnormals: an even power of two comes out of the root exactly.
        return sqrt64(x * 2f64.powi(600), round) * 2f64.powi(-300);
    }
    let nearest = x.sqrt();
    adjust(
        nearest,
        -f64::mul_add(nearest, nearest, -x),
        round,
        f64::next_up,
        f64::next_down,
    )
}

/// [`sqrt64`] in single precision, where the square is exact in double precision.
pub fn sqrt32(x: f32, round: Round) -> f32 {
    let nearest = x.sqrt();
    let square = f64::from(nearest) * f64::from(nearest);
    adjust(
        nearest,
        f64::from(x) - square,
        round,
        f32::next_up,
        f32::next_down,
    )
}

/// `nearest`, moved by one step if `round` wants the other side of the true value, which is off by `error`'s sign.
fn adjust<T>(nearest: T, error: f64, round: Round, up: fn(T) -> T, down: fn(T) -> T) -> T {
    match round {
        Round::TowardPositive if error > 0.0 => up(nearest),
        Round::TowardZero | Round::TowardNegative if error < 0.0 => down(nearest),
        _ => nearest,
    }
}

/// `.ftz` in single precision: subnormals become zeros of their sign.
pub fn flush32(x: f32) -> f32 {
    if x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

/// `.ftz` in half precision.
pub fn flush16(x: f16) -> f16 {
    if x.is_normal() || !x.is_finite() {
        x
    } else {
        f16::from_bits(x.to_bits() & 0x8000)
    }
}

/// `.sat` in single precision: into 0 to 1, NaN to 0.
pub fn saturate32(x: f32) -> f32 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// `.sat` in double precision.
pub fn saturate64(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// `.sat` in half precision.
pub fn saturate16(x: f16) -> f16 {
    if x > f16::ZERO {
        x.min(f16::ONE)
    } else {
        f16::ZERO
    }
}
