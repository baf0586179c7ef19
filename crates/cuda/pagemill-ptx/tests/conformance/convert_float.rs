//! Conversion between float formats.

use super::convert::integral;
use super::inputs::Inputs;
use super::oracle::{
    Ieee, RN, ROUNDINGS, RP, RZ, Round, flush32, saturate16, saturate32, saturate64,
};
use super::rows::{Row, check_rows, row};
use super::value::{Pair, Value};
use half::{bf16, f16};

fn h(bits: u64) -> f16 {
    f16::from_bits64(bits)
}

fn f(bits: u64) -> f32 {
    f32::from_bits64(bits)
}

fn d(bits: u64) -> f64 {
    f64::from_bits64(bits)
}

#[test]
fn widening() {
    let rows = [
        row("cvt.f32.f16", |a, _, _| f32::from(h(a))),
        row("cvt.f64.f16", |a, _, _| f64::from(h(a))),
        row("cvt.f64.f32", |a, _, _| f64::from(f(a))),
        row("cvt.ftz.f64.f32", |a, _, _| f64::from(flush32(f(a)))),
        row("cvt.sat.f64.f32", |a, _, _| saturate64(f(a).into())),
        row("cvt.sat.f32.f16", |a, _, _| saturate32(h(a).into())),
    ];
    check_rows("convert_float", "widen", &Inputs::floats32(), &rows);
    check_rows("convert_float", "widen", &Inputs::floats16(), &rows);
}

/// Single to half precision.
fn narrow(x: f32, round: Round) -> f16 {
    f16::narrowed(x.into(), round)
}

#[test]
fn from_single() {
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(ROUNDINGS.map(|round| row("cvt.f16.f32", move |a, _, _| narrow(f(a), round))));
    rows.push(row("cvt.rn.ftz.f16.f32", |a, _, _| {
        narrow(flush32(f(a)), RN)
    }));
    rows.push(row("cvt.rn.sat.f16.f32", |a, _, _| {
        saturate16(narrow(f(a), RN))
    }));
    rows.extend(ROUNDINGS.map(|round| {
        row("cvt.f32.f32", move |a, _, _| {
            integral(f(a).into(), round) as f32
        })
    }));
    rows.extend([
        row("cvt.rpi.ftz.f32.f32", |a, _, _| {
            integral(flush32(f(a)).into(), RP) as f32
        }),
        row("cvt.sat.f32.f32", |a, _, _| saturate32(f(a))),
        row("cvt.ftz.f32.f32", |a, _, _| flush32(f(a))),
        row("cvt.ftz.sat.f32.f32", |a, _, _| saturate32(flush32(f(a)))),
    ]);
    check_rows("convert_float", "from_f32", &Inputs::floats32(), &rows);
}

#[test]
fn from_double() {
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(
        ROUNDINGS.map(|round| row("cvt.f16.f64", move |a, _, _| f16::narrowed(d(a), round))),
    );
    rows.extend(
        ROUNDINGS.map(|round| row("cvt.f32.f64", move |a, _, _| f32::narrowed(d(a), round))),
    );
    rows.push(row("cvt.rn.ftz.f32.f64", |a, _, _| {
        flush32(f32::narrowed(d(a), RN))
    }));
    rows.push(row("cvt.rn.sat.f32.f64", |a, _, _| {
        saturate32(f32::narrowed(d(a), RN))
    }));
    rows.extend(ROUNDINGS.map(|round| row("cvt.f64.f64", move |a, _, _| integral(d(a), round))));
    rows.push(row("cvt.sat.f64.f64", |a, _, _| saturate64(d(a))));
    check_rows("convert_float", "from_f64", &Inputs::floats64(), &rows);
}

#[test]
fn half_to_integral() {
    let rows = ROUNDINGS.map(|round| {
        row("cvt.f16.f16", move |a, _, _| {
            f16::from_f64(integral(h(a).into(), round))
        })
    });
    check_rows("convert_float", "from_f16", &Inputs::floats16(), &rows);
}

fn bfloat_of(x: f32, round: Round) -> bf16 {
    bf16::narrowed(x.into(), round)
}

fn at_least_zero(x: f32) -> f32 {
    if x.is_nan() || x > 0.0 { x } else { 0.0 }
}

#[test]
fn to_bfloat_and_pairs() {
    // The first source becomes the upper half.
    let rows = [
        row("cvt.rn.bf16.f32", |a, _, _| bfloat_of(f(a), RN)),
        row("cvt.rz.bf16.f32", |a, _, _| bfloat_of(f(a), RZ)),
        row("cvt.rn.relu.bf16.f32", |a, _, _| {
            bfloat_of(at_least_zero(f(a)), RN)
        }),
        row("cvt.rn.bf16x2.f32", |a, b, _| {
            Pair(bfloat_of(f(b), RN), bfloat_of(f(a), RN))
        }),
        row("cvt.rz.bf16x2.f32", |a, b, _| {
            Pair(bfloat_of(f(b), RZ), bfloat_of(f(a), RZ))
        }),
        row("cvt.rn.f16x2.f32", |a, b, _| {
            Pair(narrow(f(b), RN), narrow(f(a), RN))
        }),
        row("cvt.rz.f16x2.f32", |a, b, _| {
            Pair(narrow(f(b), RZ), narrow(f(a), RZ))
        }),
        row("cvt.rn.relu.f16x2.f32", |a, b, _| {
            Pair(
                narrow(at_least_zero(f(b)), RN),
                narrow(at_least_zero(f(a)), RN),
            )
        }),
    ];
    check_rows("convert_bf16_sm80", "narrow", &Inputs::floats32(), &rows);
}

#[test]
fn from_bfloat() {
    let rows = [row("cvt.f32.bf16", |a, _, _| {
        f32::from(bf16::from_bits64(a))
    })];
    check_rows("convert_bf16_sm90", "widen", &Inputs::floats16(), &rows);
}
