//! Double precision arithmetic, bit for bit.

use super::inputs::Inputs;
use super::oracle::{Ieee, RM, RN, ROUNDINGS, RP, RZ, Round, sqrt64};
use super::rows::{Row, check_rows, row};

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// The rows that `add`, `sub` and `mul` share.
fn check_binary(kernel: &str, op: fn(f64, f64, Round) -> f64, native: fn(f64, f64) -> f64) {
    let mut rows: Vec<Row> = vec![row("default", move |a, b, _| native(d(a), d(b)))];
    rows.extend(ROUNDINGS.map(|round| row("rounded", move |a, b, _| op(d(a), d(b), round))));
    check_rows("f64_arith", kernel, &Inputs::floats64(), &rows);
}

#[test]
fn addition() {
    check_binary("add", f64::sum, |a, b| a + b);
}

#[test]
fn subtraction() {
    check_binary("sub", f64::difference, |a, b| a - b);
}

#[test]
fn multiplication() {
    check_binary("mul", f64::product, |a, b| a * b);
}

#[test]
fn fused_multiply_add() {
    let mut rows: Vec<Row> = vec![row("fma.rn", |a, b, c| d(a).mul_add(d(b), d(c)))];
    rows.extend(
        [RZ, RM, RP].map(|round| row("fma", move |a, b, c| f64::fused(d(a), d(b), d(c), round))),
    );
    rows.push(row("mad.rn", |a, b, c| f64::fused(d(a), d(b), d(c), RN)));
    check_rows("f64_arith", "fused", &Inputs::floats64(), &rows);
}

#[test]
fn division() {
    let mut rows: Vec<Row> = vec![row("div.rn", |a, b, _| d(a) / d(b))];
    rows.extend(
        [RZ, RM, RP].map(|round| row("div", move |a, b, _| f64::quotient(d(a), d(b), round))),
    );
    check_rows("f64_arith", "divide", &Inputs::floats64(), &rows);
}

#[test]
fn reciprocal_and_square_root() {
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(ROUNDINGS.map(|round| row("rcp", move |a, _, _| f64::quotient(1.0, d(a), round))));
    rows.extend(ROUNDINGS.map(|round| row("sqrt", move |a, _, _| sqrt64(d(a), round))));
    check_rows("f64_arith", "unary", &Inputs::floats64(), &rows);
}

fn min64(a: f64, b: f64) -> f64 {
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

#[test]
fn order_and_sign() {
    let rows = [
        row("min", |a, b, _| min64(d(a), d(b))),
        row("max", |a, b, _| -min64(-d(a), -d(b))),
        row("abs", |a, _, _| d(a).abs()),
        row("neg", |a, _, _| -d(a)),
        row("copysign", |a, b, _| d(b).copysign(d(a))),
    ];
    check_rows("f64_order", "order", &Inputs::floats64(), &rows);
}

#[test]
fn classes() {
    let rows = [
        row("testp.finite", |a, _, _| d(a).is_finite()),
        row("testp.infinite", |a, _, _| d(a).is_infinite()),
        row("testp.number", |a, _, _| !d(a).is_nan()),
        row("testp.notanumber", |a, _, _| d(a).is_nan()),
        row("testp.normal", |a, _, _| d(a).is_normal() || d(a) == 0.0),
        row("testp.subnormal", |a, _, _| d(a).is_subnormal()),
    ];
    check_rows("f64_order", "classes", &Inputs::floats64(), &rows);
}
