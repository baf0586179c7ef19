//! Pairs of floats of eight bits and fewer, against a search through all values of the format.

use super::inputs::Inputs;
use super::rows::{check_rows, row};
use super::value::{Pair, Value};
use half::{bf16, f16};

/// Exponent and fraction bits of a format. (4, 3) is E4M3, which has no infinities; those of fewer than eight bits have no NaN.
type Format = (u32, u32);

fn value(bits: u8, (exponent_bits, fraction_bits): Format) -> f64 {
    let bias = (1 << (exponent_bits - 1)) - 1;
    let magnitude = bits & ((1 << (exponent_bits + fraction_bits)) - 1);
    let (exponent, fraction) = (
        i32::from(magnitude) >> fraction_bits,
        i32::from(magnitude) & ((1 << fraction_bits) - 1),
    );
    let top = (1 << exponent_bits) - 1;
    let sign = match bits >> (exponent_bits + fraction_bits) & 1 {
        0 => 1.0,
        _ => -1.0,
    };
    if exponent_bits == 5 && exponent == top {
        return if fraction == 0 {
            sign * f64::INFINITY
        } else {
            f64::NAN
        };
    }
    if magnitude == 0x7f {
        return f64::NAN;
    }
    let fraction = f64::from(fraction) / 2f64.powi(fraction_bits as i32);
    sign * match exponent {
        0 => fraction * 2f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
    }
}

/// The nearest finite value; of two as near, the one whose last bit is zero.
fn nearest(x: f64, format: Format) -> u8 {
    let sign_bit = 1 << (format.0 + format.1);
    if x.is_nan() {
        return sign_bit - 1;
    }
    let finite = (0..sign_bit).filter(|&bits| value(bits, format).is_finite());
    let x_abs = x.abs().min(1e9);
    let distance = |bits: u8| (value(bits, format) - x_abs).abs();
    let found = finite.min_by(|&l, &r| {
        distance(l)
            .total_cmp(&distance(r))
            .then((l & 1).cmp(&(r & 1)))
    });
    let sign = if x.is_sign_negative() { sign_bit } else { 0 };
    found.expect("a format has values") | sign
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
    ("e4m3", (4, 3), same),
    ("e4m3.relu", (4, 3), relu),
    ("e5m2", (5, 2), same),
    ("e5m2.relu", (5, 2), relu),
];

const NARROW_FORMS: [Form; 6] = [
    ("e2m3", (2, 3), same),
    ("e2m3.relu", (2, 3), relu),
    ("e3m2", (3, 2), same),
    ("e3m2.relu", (3, 2), relu),
    ("e2m1", (2, 1), same),
    ("e2m1.relu", (2, 1), relu),
];

/// From one value of a pair to the next, in bits.
fn step(format: Format) -> u32 {
    if format == (2, 1) { 4 } else { 8 }
}

fn pair(high: f64, low: f64, format: Format) -> u16 {
    u16::from(nearest(high, format)) << step(format) | u16::from(nearest(low, format))
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
    let rows = NARROW_FORMS.map(|(name, format, after)| {
        row(name, move |a, _, _| {
            // The kernel clears what no value of six bits has.
            let a = a & 0x3f3f;
            let half = |bits: u64| f16::from_f64(after(value(bits as u8, format)));
            Pair(half(a), half(a >> step(format)))
        })
    });
    check_rows("narrow_floats_sm100a", "widen", &Inputs::integers(), &rows);
}

#[test]
fn narrowing_to_six_and_four_bits() {
    let single = |bits: u64| f64::from(f32::from_bits64(bits));
    let rows = NARROW_FORMS.map(|(name, format, before)| {
        row(name, move |a, b, _| {
            pair(before(single(a)), before(single(b)), format)
        })
    });
    // Among many values, and among those that these formats have.
    let small = Inputs::sampled32(|random| (random.unit() * 20.0 - 10.0) as f32);
    check_rows("narrow_floats_sm100a", "narrow", &small, &rows);
    check_rows("narrow_floats_sm100a", "narrow", &Inputs::floats32(), &rows);
}

/// The exponent of the power of two at, or next to, a magnitude.
fn power(x: f64, goes_up: bool, is_finite: bool) -> u8 {
    let x = x.abs();
    if x.is_nan() {
        return 0xff;
    }
    let powers = 0..=254i32;
    let found = match goes_up {
        true => powers.clone().find(|&power| 2f64.powi(power - 127) >= x),
        false => powers.rev().find(|&power| 2f64.powi(power - 127) <= x),
    };
    let beyond = if is_finite { 0xfe } else { 0xff };
    match (found, goes_up) {
        (Some(254), false) if x.is_infinite() => beyond,
        (Some(power), _) => power as u8,
        (None, true) => beyond,
        (None, false) => 0,
    }
}

#[test]
fn powers_of_two() {
    let single = |bits: u64| f64::from(f32::from_bits64(bits));
    let half = |bits: u64| bf16::from_bits64(bits).to_f64();
    let both = |high: f64, low: f64, goes_up: bool, is_finite: bool| {
        u16::from(power(high, goes_up, is_finite)) << 8 | u16::from(power(low, goes_up, is_finite))
    };
    let of_singles = [(false, false), (false, true), (true, false), (true, true)];
    let mut rows: Vec<_> = of_singles
        .map(|(goes_up, is_finite)| {
            row("f32", move |a, b, _| {
                both(single(a), single(b), goes_up, is_finite)
            })
        })
        .into();
    rows.extend([(false, false), (true, true)].map(|(goes_up, is_finite)| {
        row("bf16x2", move |a, _, _| {
            both(half(a >> 16), half(a), goes_up, is_finite)
        })
    }));
    check_rows("narrow_floats_sm100a", "powers", &Inputs::floats32(), &rows);
    let widened = [row("bf16x2", |a, _, _| {
        let one = |bits: u64| match bits as u8 {
            0xff => bf16::NAN,
            power => bf16::from_f64(2f64.powi(i32::from(power) - 127)),
        };
        Pair(one(a), one(a >> 8))
    })];
    check_rows(
        "narrow_floats_sm100a",
        "widen_powers",
        &Inputs::integers(),
        &widened,
    );
}
