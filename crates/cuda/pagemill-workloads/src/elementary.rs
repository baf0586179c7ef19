//! Transcendental functions from ordinary single-precision arithmetic, operation by operation as the kernels compute them.
//! Hardware approximations differ from chip to chip; these do not, so results can be compared bit for bit.

/// 2 to the power `x`, `x` taken into -126 to 126. Relative error below 3e-7.
pub(crate) fn power_of_two(x: f32) -> f32 {
    let x = if x < -126.0 { -126.0 } else { x };
    let x = if x > 126.0 { 126.0 } else { x };
    let whole = x.round_ties_even();
    let f = x - whole;
    let mut p = 1.540_353e-4;
    p = p * f + 1.3333558e-3;
    p = p * f + 9.618_129e-3;
    p = p * f + 5.550_411e-2;
    p = p * f + 2.402_265e-1;
    p = p * f + std::f32::consts::LN_2;
    p = p * f + 1.0;
    p * f32::from_bits(((whole as i32 + 127) as u32) << 23)
}

/// The logarithm to base 2 of a positive normal number. Absolute error below 2e-7 times the larger of 1 and the result.
pub(crate) fn log_two(x: f32) -> f32 {
    const ROOT_OF_HALF: i32 = 0x3f35_04f3;
    let bits = x.to_bits() as i32;
    let exponent = bits.wrapping_sub(ROOT_OF_HALF) >> 23;
    let m = f32::from_bits(bits.wrapping_sub(exponent << 23) as u32);
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let mut p = 0.41219858;
    p = p * s2 + 0.57707802;
    p = p * s2 + 0.961_796_7;
    p = p * s2 + 2.885_39;
    p * s + exponent as f32
}

/// A positive normal number to a power.
pub(crate) fn power(base: f32, exponent: f32) -> f32 {
    power_of_two(exponent * log_two(base))
}

#[cfg(test)]
mod tests;
