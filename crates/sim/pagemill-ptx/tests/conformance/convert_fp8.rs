//! Pairs of eight-bit floats, against a search through all 256 values of the format.

use crate::inputs::Inputs;
use crate::rows::{check_rows, row};
use crate::value::{Pair, Value};
use half::f16;

/// Exponent bits of a format: 4 is E4M3, which has no infinities; 5 is E5M2.
type Format = i32;

fn value(bits: u8, exponent_bits: Format) -> f64 {
    let fraction_bits = 7 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let (exponent, fraction) = (
        i32::from(bits & 0x7f) >> fraction_bits,
        i32::from(bits) & ((1 << fraction_bits) - 1),
    );
    let top = (1 << exponent_bits) - 1;
    let sign = if bits < 0x80 { 1.0 } else { -1.0 };
    if exponent_bits == 5 && exponent == top {
        return if fraction == 0 {
            sign * f64::INFINITY
        } else {
            f64::NAN
        };
    }
    if bits & 0x7f == 0x7f {
        return f64::NAN;
    }
    let fraction = f64::from(fraction) / 2f64.powi(fraction_bits);
    sign * match exponent {
        0 => fraction * 2f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
    }
}

/// The nearest finite value; of two as near, the one whose last bit is zero.
fn nearest(x: f64, format: Format) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    let finite = (0..=0x7f).filter(|&bits| value(bits, format).is_finite());
    let x_abs = x.abs().min(1e9);
    let distance = |bits: u8| (value(bits, format) - x_abs).abs();
    let found = finite.min_by(|&l, &r| {
        distance(l)
            .total_cmp(&distance(r))
            .then((l & 1).cmp(&(r & 1)))
    });
    found.expect("a format has values") | if x.is_sign_negative() { 0x80 } else { 0 }
}

fn relu(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { x }
}

fn same(x: f64) -> f64 {
    x
}

/// Format and what is done before rounding.
type Form = (&'static str, Format, fn(f64) -> f64);

/// In the order of the kernels.
const FORMS: [Form; 4] = [
    ("e4m3", 4, same),
    ("e4m3.relu", 4, relu),
    ("e5m2", 5, same),
    ("e5m2.relu", 5, relu),
];

fn pair(high: f64, low: f64, format: Format) -> u16 {
    u16::from(nearest(high, format)) << 8 | u16::from(nearest(low, format))
}

#[test]
fn narrowing() {
    let single = |bits: u64| f64::from(f32::from_bits64(bits));
    let rows = FORMS.map(|(name, format, before)| {
        row(name, move |a, b, _| {
            pair(before(single(a)), before(single(b)), format)
        })
    });
    check_rows("convert_fp8_sm89", "narrow", &Inputs::floats32(), &rows);
    let half = |bits: u64| f16::from_bits64(bits).to_f64();
    let rows = FORMS.map(|(name, format, before)| {
        row(name, move |a, b, _| {
            pair(before(half(b)), before(half(a)), format)
        })
    });
    check_rows(
        "convert_fp8_sm89",
        "narrow_halves",
        &Inputs::floats16(),
        &rows,
    );
}

#[test]
fn widening() {
    let rows = FORMS.map(|(name, format, after)| {
        row(name, move |a, _, _| {
            let half = |bits: u64| f16::from_f64(after(value(bits as u8, format)));
            Pair(half(a), half(a >> 8))
        })
    });
    check_rows("convert_fp8_sm89", "widen", &Inputs::integers(), &rows);
}
