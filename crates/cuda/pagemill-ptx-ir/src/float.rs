//! Floating-point rules of PTX that differ from the host's, without branches so that they vectorise.

/// The NaN every 32-bit operation gives.
pub const NAN32: u32 = 0x7fff_ffff;
/// The NaN every 64-bit operation gives.
pub const NAN64: u64 = 0xfff8_0000_0000_0000;

#[inline(always)]
pub fn canonical32(value: f32) -> f32 {
    if value.is_nan() {
        f32::from_bits(NAN32)
    } else {
        value
    }
}

#[inline(always)]
pub fn canonical64(value: f64) -> f64 {
    if value.is_nan() {
        f64::from_bits(NAN64)
    } else {
        value
    }
}

/// The square root. Whether it is NaN is decided by the operand's bits, above those of infinity and not -0: LLVM knows
/// when roots are NaN, and drops a choice between one NaN and another that it can see through.
#[inline(always)]
pub fn root32(value: f32) -> f32 {
    let bits = value.to_bits();
    let is_nan = (bits > 0x7f80_0000) & (bits != 0x8000_0000);
    f32::from_bits(if is_nan {
        NAN32
    } else {
        value.sqrt().to_bits()
    })
}

#[inline(always)]
pub fn root64(value: f64) -> f64 {
    let bits = value.to_bits();
    let is_nan = (bits > 0x7ff0_0000_0000_0000) & (bits != 1 << 63);
    f64::from_bits(if is_nan {
        NAN64
    } else {
        value.sqrt().to_bits()
    })
}

/// `div.approx`: the dividend times a reciprocal, which is zero for divisors above 2^126. Elsewhere the quotient is exact,
/// which is within the two units that PTX allows.
#[inline(always)]
pub fn divide_approximately(a: f32, b: f32) -> f32 {
    const LARGEST: f32 = f32::from_bits(0x7e80_0000);
    let is_large = b.abs() > LARGEST;
    let product = a * 0f32.copysign(b);
    canonical32(if is_large { product } else { a / b })
}

/// Subnormal to zero, sign kept.
#[inline(always)]
pub fn flush32(value: f32) -> f32 {
    let bits = value.to_bits();
    let keep = if bits & 0x7f80_0000 == 0 {
        0x8000_0000
    } else {
        u32::MAX
    };
    f32::from_bits(bits & keep)
}

/// Subnormal to zero, sign kept.
#[inline(always)]
pub fn flush64(value: f64) -> f64 {
    let bits = value.to_bits();
    let keep = if bits & 0x7ff0_0000_0000_0000 == 0 {
        1 << 63
    } else {
        u64::MAX
    };
    f64::from_bits(bits & keep)
}

/// Clamp to [0, 1]; NaN is +0.
#[inline(always)]
pub fn saturate32(value: f32) -> f32 {
    let low = if value > 0.0 { value } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

#[inline(always)]
pub fn saturate64(value: f64) -> f64 {
    let low = if value > 0.0 { value } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

/// The other operand when one is NaN; -0 is less than +0.
#[inline(always)]
pub fn min32(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() | b.to_bits());
    let ordered = if a < b { a } else { b };
    let ordered = if a == b { equal } else { ordered };
    let ordered = if b.is_nan() { a } else { ordered };
    canonical32(if a.is_nan() { b } else { ordered })
}

#[inline(always)]
pub fn max32(a: f32, b: f32) -> f32 {
    let equal = f32::from_bits(a.to_bits() & b.to_bits());
    let ordered = if a > b { a } else { b };
    let ordered = if a == b { equal } else { ordered };
    let ordered = if b.is_nan() { a } else { ordered };
    canonical32(if a.is_nan() { b } else { ordered })
}

#[inline(always)]
pub fn min64(a: f64, b: f64) -> f64 {
    let equal = f64::from_bits(a.to_bits() | b.to_bits());
    let ordered = if a < b { a } else { b };
    let ordered = if a == b { equal } else { ordered };
    let ordered = if b.is_nan() { a } else { ordered };
    canonical64(if a.is_nan() { b } else { ordered })
}

#[inline(always)]
pub fn max64(a: f64, b: f64) -> f64 {
    let equal = f64::from_bits(a.to_bits() & b.to_bits());
    let ordered = if a > b { a } else { b };
    let ordered = if a == b { equal } else { ordered };
    let ordered = if b.is_nan() { a } else { ordered };
    canonical64(if a.is_nan() { b } else { ordered })
}

/// 1.5 * 2^52: a double plus this holds the rounded integer in its low bits.
pub const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Toward zero, saturating, NaN is 0. The cast operator does the same lane by lane; this vectorises.
#[inline(always)]
pub fn to_s32(value: f64) -> i32 {
    let low = if value > -2_147_483_648.0 {
        value
    } else {
        -2_147_483_648.0
    };
    let clamped = if low < 2_147_483_647.0 {
        low
    } else {
        2_147_483_647.0
    };
    let number = if value.is_nan() { 0.0 } else { clamped };
    (number.trunc() + MAGIC).to_bits() as i32
}

/// Toward zero, saturating, NaN is 0.
#[inline(always)]
pub fn to_u32(value: f64) -> u32 {
    let low = if value > 0.0 { value } else { 0.0 };
    let clamped = if low < 4_294_967_295.0 {
        low
    } else {
        4_294_967_295.0
    };
    (clamped.trunc() + MAGIC).to_bits() as u32
}

/// Taylor's coefficients of the exponential, the highest first. On |x| <= 0.347 the tenth term is below 2^-38.
pub const EXPONENTIAL: [f64; 10] = [
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// 2^x within one unit in the last place: a polynomial in doubles on [-1/2, 1/2], scaled by the exponent.
#[inline(always)]
pub fn exp2_f32(x: f32) -> f32 {
    let x64 = f64::from(x);
    let low = if x64 > -200.0 { x64 } else { -200.0 };
    let clamped = if low < 200.0 { low } else { 200.0 };
    let shifted = clamped + MAGIC;
    let fraction = (clamped - (shifted - MAGIC)) * std::f64::consts::LN_2;
    let [mut series, rest @ ..] = EXPONENTIAL;
    for coefficient in rest {
        series = series * fraction + coefficient;
    }
    let exponent = (shifted.to_bits() & 0xfff).wrapping_add(1023) & 0x7ff;
    let scaled = series * f64::from_bits(exponent << 52);
    canonical32(if x.is_nan() { x } else { scaled as f32 })
}

#[cfg(test)]
mod tests;
