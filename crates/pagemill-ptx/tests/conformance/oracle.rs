//! IEEE arithmetic in every rounding, flush to zero and saturation, by means other than the executor's.

use half::f16;
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

/// The four operations and fused multiply-add of one format, on raw bits.
macro_rules! arithmetic {
    ($module:ident, $format:ty, $native:ty) => {
        pub mod $module {
            use super::*;

            fn of(value: $native) -> $format {
                <$format>::from_bits(value.to_bits().into())
            }

            fn native(value: $format) -> $native {
                <$native>::from_bits(value.to_bits() as _)
            }

            pub fn add(a: $native, b: $native, round: Round) -> $native {
                native(of(a).add_r(of(b), round).value)
            }

            pub fn sub(a: $native, b: $native, round: Round) -> $native {
                native(of(a).sub_r(of(b), round).value)
            }

            pub fn mul(a: $native, b: $native, round: Round) -> $native {
                native(of(a).mul_r(of(b), round).value)
            }

            pub fn div(a: $native, b: $native, round: Round) -> $native {
                native(of(a).div_r(of(b), round).value)
            }

            pub fn fma(a: $native, b: $native, c: $native, round: Round) -> $native {
                native(of(a).mul_add_r(of(b), of(c), round).value)
            }

            pub fn from_integer(value: i128, round: Round) -> $native {
                native(<$format>::from_i128_r(value, round).value)
            }

            pub fn from_f64(value: f64, round: Round) -> $native {
                let mut loses_info = false;
                native(
                    Double::from_bits(value.to_bits().into())
                        .convert_r(round, &mut loses_info)
                        .value,
                )
            }

            pub fn integral(value: $native, round: Round) -> $native {
                native(of(value).round_to_integral(round).value)
            }
        }
    };
}

arithmetic!(single, Single, f32);
arithmetic!(double, Double, f64);
arithmetic!(half_, Half, f16);
arithmetic!(bfloat, BFloat, half::bf16);

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
