//! Approximations, within the error bounds that the PTX manual gives.

use super::inputs::{Inputs, Random};
use super::oracle::flush32;
use super::rows::{Row, check_rows, checked};
use half::f16;
use std::f64::consts::PI;

/// What a result may differ from the exact one by.
#[derive(Clone, Copy)]
enum Bound {
    /// Units in the last place of single precision.
    Ulps(f64),
    /// A power of two, times the exact value.
    Relative(f64),
    /// A power of two.
    Absolute(f64),
    /// Relative, but absolute for results smaller than 1: near a zero of the function.
    RelativeOrAbsolute(f64),
}

impl Bound {
    fn admits(self, found: f64, exact: f64) -> bool {
        // Infinities, NaNs and zeros are no approximations, and what overflows or underflows is one or the other.
        let overflows = exact.abs() > f64::from(f32::MAX);
        let underflows = exact.abs() < f64::from(f32::MIN_POSITIVE);
        if exact.is_nan() || found.is_nan() {
            return exact.is_nan() && found.is_nan();
        }
        if exact.is_infinite() || found.is_infinite() {
            return overflows && found == f64::INFINITY.copysign(exact);
        }
        if found == 0.0 && underflows {
            return true;
        }
        let error = (found - exact).abs();
        error
            <= match self {
                Self::Ulps(ulps) => ulps * ulp32(exact),
                Self::Relative(power) => exact.abs() * power.exp2(),
                Self::Absolute(power) => power.exp2(),
                Self::RelativeOrAbsolute(power) => exact.abs().max(1.0) * power.exp2(),
            }
    }
}

/// The distance of single precision numbers around `exact`.
fn ulp32(exact: f64) -> f64 {
    let exponent = exact.abs().log2().floor().clamp(-126.0, 127.0);
    (exponent - 23.0).exp2()
}

/// A row of one source, `exact` in double precision; the source is flushed when `ftz`.
fn unary(name: &'static str, bound: Bound, ftz: bool, exact: impl Fn(f64) -> f64 + 'static) -> Row {
    checked(name, move |a, _, _, found| {
        let a = f32::from_bits(a as u32);
        let exact = exact(f64::from(if ftz { flush32(a) } else { a }));
        let found = f32::from_bits(found as u32);
        if bound.admits(found.into(), exact) {
            Ok(())
        } else {
            Err(format!("{exact:e}, not {found:e}"))
        }
    })
}

fn sampled(low: f64, high: f64) -> Inputs {
    Inputs::sampled32(move |random: &mut Random| (low + (high - low) * random.unit()) as f32)
}

/// Both tables of inputs one after the other.
fn check_on(kernel: &str, rows: &[Row], inputs: &[Inputs]) {
    for inputs in inputs {
        check_rows("f32_approx", kernel, inputs, rows);
    }
}

#[test]
fn quotients() {
    let quotient = |name, ftz: bool| {
        checked(name, move |a, b, _, found| {
            let read = |bits: u64| f32::from_bits(bits as u32);
            let (a, b) = if ftz {
                (flush32(read(a)), flush32(read(b)))
            } else {
                (read(a), read(b))
            };
            let (exact, found) = (f64::from(a) / f64::from(b), read(found));
            if Bound::Ulps(2.0).admits(found.into(), exact) {
                Ok(())
            } else {
                Err(format!("{exact:e}, not {found:e}"))
            }
        })
    };
    check_large_divisors();
    let rows = [
        quotient("div.approx", false),
        quotient("div.approx.ftz", true),
        quotient("div.full", false),
        quotient("div.full.ftz", true),
    ];
    // The bound holds for divisors from 2^-126 to 2^126; `.full` wants dividends there, too.
    let inside = |bits: u64| {
        let magnitude = f64::from(f32::from_bits(bits as u32)).abs();
        (-126f64).exp2() <= magnitude && magnitude <= 126f64.exp2()
    };
    check_on(
        "quotients",
        &rows,
        &[Inputs::floats32().retain(move |a, b, _| inside(a) && inside(b))],
    );
}

/// For divisors above 2^126, `div.approx` gives NaN for infinite dividends, and zero for all others.
fn check_large_divisors() {
    let is_large = |bits: u64| {
        let magnitude = f32::from_bits(bits as u32).abs();
        magnitude > 126f32.exp2() && magnitude.is_finite()
    };
    let large = |name| {
        checked(name, |a, b, _, found| {
            let [a, b, found] = [a, b, found].map(|bits| f32::from_bits(bits as u32));
            let is_right = match a.is_finite() {
                true => {
                    found == 0.0
                        && found.is_sign_negative()
                            == (a.is_sign_negative() != b.is_sign_negative())
                }
                false => found.is_nan(),
            };
            is_right
                .then_some(())
                .ok_or(format!("{a:e} / {b:e} is {found:e}"))
        })
    };
    // `.full` has no such range.
    let full = |name| checked(name, |_, _, _, _| Ok(()));
    let rows = [
        large("div.approx"),
        large("div.approx.ftz"),
        full("div.full"),
        full("div.full.ftz"),
    ];
    let inputs = Inputs::floats32().retain(move |_, b, _| is_large(b));
    assert!(inputs.len() > 50, "{} inputs", inputs.len());
    check_on("quotients", &rows, &[inputs]);
}

#[test]
fn roots() {
    let rows = [
        unary("rcp.approx", Bound::Ulps(1.0), false, f64::recip),
        unary("rcp.approx.ftz", Bound::Ulps(1.0), true, f64::recip),
        unary("sqrt.approx", Bound::Relative(-22.9), false, f64::sqrt),
        unary("sqrt.approx.ftz", Bound::Relative(-22.9), true, f64::sqrt),
        unary("rsqrt.approx", Bound::Relative(-22.4), false, |x| {
            1.0 / x.sqrt()
        }),
        unary("rsqrt.approx.ftz", Bound::Relative(-22.4), true, |x| {
            1.0 / x.sqrt()
        }),
    ];
    check_on("roots", &rows, &[Inputs::floats32(), sampled(0.5, 4.0)]);
}

#[test]
fn waves() {
    let rows = [
        unary("sin.approx", Bound::Absolute(-20.5), false, f64::sin),
        unary("sin.approx.ftz", Bound::Absolute(-20.5), true, f64::sin),
        unary("cos.approx", Bound::Absolute(-20.5), false, f64::cos),
        unary("cos.approx.ftz", Bound::Absolute(-20.5), true, f64::cos),
        unary("tanh.approx", Bound::Relative(-10.9), false, f64::tanh),
    ];
    // The bound holds from -pi to pi, and for what is no number.
    let edges = Inputs::floats32().retain(|a, _, _| {
        let a = f32::from_bits(a as u32);
        !a.is_finite() || f64::from(a).abs() <= PI
    });
    check_on("waves", &rows, &[sampled(-PI, PI), edges]);
}

#[test]
fn powers_of_two() {
    let rows = [
        unary("ex2.approx", Bound::Ulps(2.0), false, f64::exp2),
        unary("ex2.approx.ftz", Bound::Ulps(2.0), true, f64::exp2),
    ];
    check_on(
        "powers",
        &rows,
        &[
            Inputs::floats32(),
            sampled(-10.0, 10.0),
            sampled(-150.0, 130.0),
        ],
    );
}

#[test]
fn logarithms() {
    // Absolute between 1/2 and 2, relative elsewhere.
    let rows = [
        unary(
            "lg2.approx",
            Bound::RelativeOrAbsolute(-22.0),
            false,
            f64::log2,
        ),
        unary(
            "lg2.approx.ftz",
            Bound::RelativeOrAbsolute(-22.0),
            true,
            f64::log2,
        ),
    ];
    check_on(
        "logarithms",
        &rows,
        &[Inputs::floats32(), sampled(0.25, 4.0), sampled(0.0, 1e6)],
    );
}

fn half_row(name: &'static str, bound: Bound, exact: fn(f64) -> f64, lanes: u32) -> Row {
    checked(name, move |a, _, _, found| {
        for lane in 0..lanes {
            let read = |bits: u64| f64::from(f16::from_bits((bits >> (16 * lane)) as u16));
            let (exact, found) = (exact(read(a)), read(found));
            // Past the range of half precision, and where its spacing is wider than the bound.
            let too_large = exact >= 65504.0 && found >= 65504.0;
            let subnormal = exact.abs() < 6.2e-5 && (found - exact).abs() <= 6.0e-8;
            if !too_large && !subnormal && !bound.admits(found, exact) {
                return Err(format!("{exact:e}, not {found:e}"));
            }
        }
        Ok(())
    })
}

#[test]
fn half_precision() {
    for (file, lanes) in [("f16_arith", 1), ("f16x2_arith", 2)] {
        let rows = [
            half_row("ex2.approx", Bound::Relative(-9.9), f64::exp2, lanes),
            half_row("tanh.approx", Bound::Absolute(-10.987), f64::tanh, lanes),
        ];
        check_rows(file, "approx", &Inputs::floats16(), &rows);
    }
}

#[test]
fn double_precision() {
    let flush = |x: f64| {
        if x.is_subnormal() {
            0f64.copysign(x)
        } else {
            x
        }
    };
    // These work on the upper half of a double only.
    let close = |name, exact: fn(f64) -> f64, ftz: bool| {
        checked(name, move |a, _, _, found| {
            let a = f64::from_bits(a);
            let exact = exact(if ftz { flush(a) } else { a });
            let found = f64::from_bits(found);
            let near = (found - exact).abs() <= exact.abs() * (-20f64).exp2();
            let special = found == exact || (found.is_nan() && exact.is_nan());
            let flushed = ftz && exact.is_subnormal() && found == 0.0;
            if near || special || flushed {
                Ok(())
            } else {
                Err(format!("{exact:e}, not {found:e}"))
            }
        })
    };
    let rows = [
        close("rcp.approx.ftz", f64::recip, true),
        close("rsqrt.approx", |x| 1.0 / x.sqrt(), false),
        close("rsqrt.approx.ftz", |x| 1.0 / x.sqrt(), true),
    ];
    check_rows("f64_order", "approx", &Inputs::floats64(), &rows);
}
