//! Single precision arithmetic, bit for bit.

use super::inputs::Inputs;
use super::oracle::{Ieee, RM, RN, ROUNDINGS, RP, RZ, Round, flush32, saturate32, sqrt32};
use super::rows::{Row, check_rows, row};
use super::value::Pair;

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// `op` between flushed inputs, the result flushed.
fn flushed(op: impl Fn(f32, f32) -> f32, a: f32, b: f32) -> f32 {
    flush32(op(flush32(a), flush32(b)))
}

type Binary = fn(f32, f32, Round) -> f32;

/// The rows that `add`, `sub` and `mul` share.
fn check_binary(kernel: &str, op: Binary, native: fn(f32, f32) -> f32) {
    let mut rows: Vec<Row> = vec![row("default", move |a, b, _| native(f(a), f(b)))];
    rows.extend(ROUNDINGS.map(|round| row("rounded", move |a, b, _| op(f(a), f(b), round))));
    rows.extend([
        row("ftz", move |a, b, _| {
            flushed(|a, b| op(a, b, RN), f(a), f(b))
        }),
        row("rz.ftz", move |a, b, _| {
            flushed(|a, b| op(a, b, RZ), f(a), f(b))
        }),
        row("sat", move |a, b, _| saturate32(op(f(a), f(b), RN))),
        row("rp.ftz.sat", move |a, b, _| {
            saturate32(flushed(|a, b| op(a, b, RP), f(a), f(b)))
        }),
    ]);
    check_rows("f32_arith", kernel, &Inputs::floats32(), &rows);
}

#[test]
fn addition() {
    check_binary("add", f32::sum, |a, b| a + b);
}

#[test]
fn subtraction() {
    check_binary("sub", f32::difference, |a, b| a - b);
}

#[test]
fn multiplication() {
    check_binary("mul", f32::product, |a, b| a * b);
}

#[test]
fn fused_multiply_add() {
    let fma = |round| move |a: f32, b: f32, c: f32| f32::fused(a, b, c, round);
    let ftz = move |round| {
        move |a, b, c| flush32(fma(round)(flush32(f(a)), flush32(f(b)), flush32(f(c))))
    };
    let rows = [
        row("fma.rn", |a, b, c| f(a).mul_add(f(b), f(c))),
        row("fma.rz", move |a, b, c| fma(RZ)(f(a), f(b), f(c))),
        row("fma.rm", move |a, b, c| fma(RM)(f(a), f(b), f(c))),
        row("fma.rp", move |a, b, c| fma(RP)(f(a), f(b), f(c))),
        row("fma.rn.ftz", ftz(RN)),
        row("fma.rz.ftz", ftz(RZ)),
        row("fma.rn.sat", move |a, b, c| {
            saturate32(fma(RN)(f(a), f(b), f(c)))
        }),
        row("fma.rm.ftz.sat", move |a, b, c| {
            saturate32(ftz(RM)(a, b, c))
        }),
        row("mad.rn", move |a, b, c| fma(RN)(f(a), f(b), f(c))),
        row("mad.rp.ftz", ftz(RP)),
    ];
    check_rows("f32_arith", "fused", &Inputs::floats32(), &rows);
}

#[test]
fn two_singles_at_once() {
    let both = |op: fn(f32, f32, f32) -> f32| {
        move |a: u64, b: u64, c: u64| {
            // As the kernel joins its inputs.
            let (a, b, c) = ([a, b], [b, c], [c, a]);
            Pair(op(f(a[0]), f(b[0]), f(c[0])), op(f(a[1]), f(b[1]), f(c[1])))
        }
    };
    let rows = [
        row("add.rn", both(|a, b, _| a + b)),
        row(
            "add.rz.ftz",
            both(|a, b, _| flushed(|a, b| f32::sum(a, b, RZ), a, b)),
        ),
        row("sub.rm", both(|a, b, _| f32::difference(a, b, RM))),
        row(
            "mul.rn.ftz",
            both(|a, b, _| flushed(|a, b| f32::product(a, b, RN), a, b)),
        ),
        row("mul.rp", both(|a, b, _| f32::product(a, b, RP))),
        row("fma.rn", both(f32::mul_add)),
        row(
            "fma.rz.ftz",
            both(|a, b, c| flush32(f32::fused(flush32(a), flush32(b), flush32(c), RZ))),
        ),
    ];
    check_rows(
        "narrow_floats_sm100a",
        "singles",
        &Inputs::floats32(),
        &rows,
    );
}

#[test]
fn division() {
    let mut rows: Vec<Row> = vec![row("div.rn", |a, b, _| f(a) / f(b))];
    rows.extend(
        [RZ, RM, RP].map(|round| row("div", move |a, b, _| f32::quotient(f(a), f(b), round))),
    );
    rows.extend([RN, RP].map(|round| {
        row("div.ftz", move |a, b, _| {
            flushed(|a, b| f32::quotient(a, b, round), f(a), f(b))
        })
    }));
    check_rows("f32_divide", "divide", &Inputs::floats32(), &rows);
}

#[test]
fn reciprocal_and_square_root() {
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(ROUNDINGS.map(|round| row("rcp", move |a, _, _| f32::quotient(1.0, f(a), round))));
    rows.push(row("rcp.rn.ftz", |a, _, _| {
        flushed(|one, a| one / a, 1.0, f(a))
    }));
    rows.extend(ROUNDINGS.map(|round| row("sqrt", move |a, _, _| sqrt32(f(a), round))));
    rows.push(row("sqrt.rn.ftz", |a, _, _| flush32(f(a)).sqrt()));
    check_rows("f32_divide", "unary", &Inputs::floats32(), &rows);
}

/// The smaller number; a NaN gives way, and -0 is smaller than +0.
pub fn min32(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => a.min(b),
    }
}

/// The larger number, likewise.
pub fn max32(a: f32, b: f32) -> f32 {
    -min32(-a, -b)
}

#[test]
fn order_and_sign() {
    let rows = [
        row("min", |a, b, _| min32(f(a), f(b))),
        row("max", |a, b, _| max32(f(a), f(b))),
        row("min.ftz", |a, b, _| flushed(min32, f(a), f(b))),
        row("max.ftz", |a, b, _| flushed(max32, f(a), f(b))),
        row("abs", |a, _, _| f(a).abs()),
        row("abs.ftz", |a, _, _| flush32(f(a)).abs()),
        row("neg", |a, _, _| -f(a)),
        row("neg.ftz", |a, _, _| -flush32(f(a))),
        row("copysign", |a, b, _| f(b).copysign(f(a))),
    ];
    check_rows("f32_order", "order", &Inputs::floats32(), &rows);
}

#[test]
fn classes() {
    let rows = [
        row("testp.finite", |a, _, _| f(a).is_finite()),
        row("testp.infinite", |a, _, _| f(a).is_infinite()),
        row("testp.number", |a, _, _| !f(a).is_nan()),
        row("testp.notanumber", |a, _, _| f(a).is_nan()),
        row("testp.normal", |a, _, _| f(a).is_normal() || f(a) == 0.0),
        row("testp.subnormal", |a, _, _| f(a).is_subnormal()),
    ];
    check_rows("f32_order", "classes", &Inputs::floats32(), &rows);
}
