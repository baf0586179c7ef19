//! Half and bfloat arithmetic, bit for bit, alone and in pairs.

use super::inputs::Inputs;
use super::oracle::{Ieee, RN, Round, flush16, saturate16};
use super::rows::{Row, check_rows, row};
use super::value::Pair;
use half::{bf16, f16};

fn h(bits: u64) -> f16 {
    f16::from_bits(bits as u16)
}

fn b16(bits: u64) -> bf16 {
    bf16::from_bits(bits as u16)
}

/// `op` on both halves of words.
fn pairwise(op: impl Fn(f16, f16, f16) -> f16) -> impl Fn(u64, u64, u64) -> Pair<f16> {
    move |a, b, c| Pair(op(h(a), h(b), h(c)), op(h(a >> 16), h(b >> 16), h(c >> 16)))
}

fn pairwise_bf16(op: impl Fn(bf16, bf16, bf16) -> bf16) -> impl Fn(u64, u64, u64) -> Pair<bf16> {
    move |a, b, c| {
        Pair(
            op(b16(a), b16(b), b16(c)),
            op(b16(a >> 16), b16(b >> 16), b16(c >> 16)),
        )
    }
}

type Binary = fn(f16, f16, Round) -> f16;
const BINARIES: [Binary; 3] = [f16::sum, f16::difference, f16::product];

fn flushed(op: impl Fn(f16, f16, f16) -> f16, a: f16, b: f16, c: f16) -> f16 {
    flush16(op(flush16(a), flush16(b), flush16(c)))
}

fn fma(a: f16, b: f16, c: f16) -> f16 {
    f16::fused(a, b, c, RN)
}

#[test]
fn half_arithmetic() {
    let mut rows: Vec<Row> = Vec::new();
    for op in BINARIES {
        let ftz = move |a: u64, b: u64| flushed(|a, b, _| op(a, b, RN), h(a), h(b), f16::ZERO);
        rows.push(row("default", move |a, b, _| op(h(a), h(b), RN)));
        rows.push(row("rn", move |a, b, _| op(h(a), h(b), RN)));
        rows.push(row("ftz", move |a, b, _| ftz(a, b)));
        rows.push(row("sat", move |a, b, _| saturate16(op(h(a), h(b), RN))));
        rows.push(row("ftz.sat", move |a, b, _| saturate16(ftz(a, b))));
    }
    rows.extend([
        row("fma.rn", |a, b, c| fma(h(a), h(b), h(c))),
        row("fma.rn.ftz", |a, b, c| flushed(fma, h(a), h(b), h(c))),
        row("fma.rn.sat", |a, b, c| saturate16(fma(h(a), h(b), h(c)))),
        row("fma.rn.ftz.sat", |a, b, c| {
            saturate16(flushed(fma, h(a), h(b), h(c)))
        }),
        row("neg", |a, _, _| -h(a)),
        row("neg.ftz", |a, _, _| -flush16(h(a))),
        row("abs", |a, _, _| f16::from_bits(a as u16 & 0x7FFF)),
        row("abs.ftz", |a, _, _| {
            f16::from_bits(flush16(h(a)).to_bits() & 0x7FFF)
        }),
    ]);
    check_rows("f16_arith", "arith", &Inputs::floats16(), &rows);
}

#[test]
fn paired_half_arithmetic() {
    let mut rows: Vec<Row> = Vec::new();
    for op in BINARIES {
        rows.push(row("default", pairwise(move |a, b, _| op(a, b, RN))));
        rows.push(row("rn", pairwise(move |a, b, _| op(a, b, RN))));
        rows.push(row(
            "ftz",
            pairwise(move |a, b, c| flushed(|a, b, _| op(a, b, RN), a, b, c)),
        ));
        rows.push(row(
            "sat",
            pairwise(move |a, b, _| saturate16(op(a, b, RN))),
        ));
    }
    rows.extend([
        row("fma.rn", pairwise(fma)),
        row("fma.rn.ftz", pairwise(|a, b, c| flushed(fma, a, b, c))),
        row("fma.rn.sat", pairwise(|a, b, c| saturate16(fma(a, b, c)))),
        row("neg", pairwise(|a, _, _| -a)),
        row("neg.ftz", pairwise(|a, _, _| -flush16(a))),
        row(
            "abs",
            pairwise(|a, _, _| f16::from_bits(a.to_bits() & 0x7FFF)),
        ),
    ]);
    check_rows("f16x2_arith", "arith", &Inputs::floats16(), &rows);
}

/// The smaller, or larger if not `min`, of two narrow floats; a NaN gives way unless `nan`. -0 is smaller than +0.
macro_rules! ordered {
    ($name:ident, $ty:ty) => {
        fn $name(a: $ty, b: $ty, min: bool, nan: bool) -> $ty {
            if nan && (a.is_nan() || b.is_nan()) {
                return <$ty>::NAN;
            }
            let a_first = match (a.is_nan(), b.is_nan()) {
                (true, _) => return b,
                (_, true) => return a,
                _ if a == b => a.is_sign_negative(),
                _ => a < b,
            };
            if a_first == min { a } else { b }
        }
    };
}

ordered!(order16, f16);
ordered!(order_bf16, bf16);
ordered!(order32, f32);

fn relu(x: f16) -> f16 {
    if x.is_nan() || x > f16::ZERO {
        x
    } else {
        f16::ZERO
    }
}

fn relu_bf16(x: bf16) -> bf16 {
    if x.is_nan() || x > bf16::ZERO {
        x
    } else {
        bf16::ZERO
    }
}

#[test]
fn order_and_fused_of_narrow_floats() {
    let fma_bf16 = |a, b, c| bf16::fused(b16(a), b16(b), b16(c), RN);
    let rows = [
        row("min.f16", |a, b, _| order16(h(a), h(b), true, false)),
        row("max.f16", |a, b, _| order16(h(a), h(b), false, false)),
        row("min.ftz.f16", |a, b, _| {
            order16(flush16(h(a)), flush16(h(b)), true, false)
        }),
        row("max.NaN.f16", |a, b, _| order16(h(a), h(b), false, true)),
        row("min.NaN.f16", |a, b, _| order16(h(a), h(b), true, true)),
        row("min.bf16", |a, b, _| {
            order_bf16(b16(a), b16(b), true, false)
        }),
        row("max.bf16", |a, b, _| {
            order_bf16(b16(a), b16(b), false, false)
        }),
        row("max.NaN.bf16", |a, b, _| {
            order_bf16(b16(a), b16(b), false, true)
        }),
        row("neg.bf16", |a, _, _| -b16(a)),
        row("abs.bf16", |a, _, _| bf16::from_bits(a as u16 & 0x7FFF)),
        row("fma.rn.relu.f16", |a, b, c| relu(fma(h(a), h(b), h(c)))),
        row("fma.rn.bf16", fma_bf16),
        row("fma.rn.relu.bf16", move |a, b, c| {
            relu_bf16(fma_bf16(a, b, c))
        }),
    ];
    check_rows("half_order_sm80", "order16", &Inputs::floats16(), &rows);
}

#[test]
fn order_and_fused_of_pairs_and_nan_propagation() {
    let f = |bits: u64| f32::from_bits(bits as u32);
    let flush = |x: f32| super::oracle::flush32(x);
    let rows = [
        row("min.f16x2", pairwise(|a, b, _| order16(a, b, true, false))),
        row("max.f16x2", pairwise(|a, b, _| order16(a, b, false, false))),
        row(
            "max.NaN.f16x2",
            pairwise(|a, b, _| order16(a, b, false, true)),
        ),
        row(
            "min.bf16x2",
            pairwise_bf16(|a, b, _| order_bf16(a, b, true, false)),
        ),
        row(
            "max.bf16x2",
            pairwise_bf16(|a, b, _| order_bf16(a, b, false, false)),
        ),
        row("neg.bf16x2", pairwise_bf16(|a, _, _| -a)),
        row(
            "abs.bf16x2",
            pairwise_bf16(|a, _, _| bf16::from_bits(a.to_bits() & 0x7FFF)),
        ),
        row("fma.rn.relu.f16x2", pairwise(|a, b, c| relu(fma(a, b, c)))),
        row(
            "fma.rn.bf16x2",
            pairwise_bf16(|a, b, c| bf16::fused(a, b, c, RN)),
        ),
        row("min.NaN.f32", move |a, b, _| {
            order32(f(a), f(b), true, true)
        }),
        row("max.NaN.f32", move |a, b, _| {
            order32(f(a), f(b), false, true)
        }),
        row("max.ftz.NaN.f32", move |a, b, _| {
            order32(flush(f(a)), flush(f(b)), false, true)
        }),
    ];
    check_rows("half_order_sm80", "order32", &Inputs::floats16(), &rows);
    check_rows("half_order_sm80", "order32", &Inputs::floats32(), &rows);
}

#[test]
fn bfloat_arithmetic() {
    type Operation = fn(bf16, bf16, Round) -> bf16;
    let operations: [Operation; 3] = [bf16::sum, bf16::difference, bf16::product];
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(operations.map(|op| row("bf16", move |a, b, _| op(b16(a), b16(b), RN))));
    rows.extend(operations.map(|op| row("bf16x2", pairwise_bf16(move |a, b, _| op(a, b, RN)))));
    check_rows("bf16_arith_sm90", "arith", &Inputs::floats16(), &rows);
}
