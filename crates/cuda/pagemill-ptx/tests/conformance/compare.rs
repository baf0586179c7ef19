//! Comparison, selection, and their results as predicates, pairs of predicates and numbers.

use super::inputs::Inputs;
use super::oracle::{flush16, flush32};
use super::rows::{Row, check_rows, row};
use super::value::{Pair, Value};
use half::f16;
use std::cmp::Ordering::{self, Equal, Greater, Less};

const SIGNED: [fn(Ordering) -> bool; 6] = [
    |order| order == Equal,
    |order| order != Equal,
    |order| order == Less,
    |order| order != Greater,
    |order| order == Greater,
    |order| order != Less,
];

/// Rows for a type: all tests in the order of the kernel's macros.
macro_rules! integer_rows {
    ($rows:ident, $ty:ident, $tests:expr) => {
        $rows.extend($tests.iter().map(|&test| {
            row(stringify!($ty), move |a, b, _| {
                test((a as $ty).cmp(&(b as $ty)))
            })
        }));
    };
}

#[test]
fn integers() {
    // lo, ls, hi, hs are lt, le, gt, ge of unsigned types.
    let unsigned: Vec<_> = SIGNED.iter().chain(&SIGNED[2..]).copied().collect();
    let mut rows: Vec<Row> = Vec::new();
    integer_rows!(rows, i16, SIGNED);
    integer_rows!(rows, i32, SIGNED);
    integer_rows!(rows, i64, SIGNED);
    integer_rows!(rows, u16, unsigned);
    integer_rows!(rows, u32, unsigned);
    integer_rows!(rows, u64, unsigned);
    integer_rows!(rows, u16, SIGNED[..2]);
    integer_rows!(rows, u32, SIGNED[..2]);
    integer_rows!(rows, u64, SIGNED[..2]);
    check_rows("compare_int", "compare", &Inputs::integers(), &rows);
}

type Combine = fn(bool, bool) -> bool;
const COMBINES: [Combine; 3] = [|p, q| p & q, |p, q| p | q, |p, q| p ^ q];

/// Both destinations: the comparison, and its opposite, each combined with q.
fn both(compared: bool, combine: Combine, q: bool) -> u32 {
    u32::from(combine(compared, q)) | u32::from(combine(!compared, q)) << 1
}

#[test]
fn combined_integers() {
    let q = |c: u64| c & 1 == 1;
    let mut rows: Vec<Row> = Vec::new();
    rows.extend(COMBINES.map(|op| row("lt", move |a, b, c| both((a as i32) < b as i32, op, q(c)))));
    rows.extend(COMBINES.map(|op| row("ge", move |a, b, c| both(a as u32 >= b as u32, op, !q(c)))));
    rows.push(row("gt", |a, b, _| {
        both(a as i32 > b as i32, |p, _| p, false)
    }));
    check_rows("compare_int", "combine", &Inputs::integers(), &rows);
}

/// `.u32` and `.s32` destinations hold all ones for true, `.f32` ones 1.0.
fn ones(truth: bool) -> u32 {
    if truth { u32::MAX } else { 0 }
}

fn one(truth: bool) -> f32 {
    f32::from(u8::from(truth))
}

#[test]
fn integers_as_numbers() {
    let q = |c: u64| c & 1 == 1;
    let rows = [
        row("set.lt.u32.s32", |a, b, _| ones((a as i32) < b as i32)),
        row("set.hs.s32.u32", |a, b, _| ones(a as u32 >= b as u32)),
        row("set.eq.f32.u32", |a, b, _| one(a as u32 == b as u32)),
        row("set.ne.u32.u16", |a, b, _| ones(a as u16 != b as u16)),
        row("set.le.u32.s64", |a, b, _| ones(a as i64 <= b as i64)),
        row("set.gt.f32.u64", |a, b, _| one(a > b)),
        row("set.lt.and", move |a, b, c| {
            ones(((a as i32) < b as i32) & q(c))
        }),
        row("set.lt.xor", move |a, b, c| {
            one(((a as i32) < b as i32) ^ !q(c))
        }),
    ];
    check_rows("compare_int", "numbers", &Inputs::integers(), &rows);
}

#[test]
fn selection() {
    let f = |bits: u64| f32::from_bits(bits as u32);
    let rows = [
        row(
            "selp.b64",
            |a, b, c| if (a as i64) < b as i64 { a } else { c },
        ),
        row("selp.b32", |a, b, c| {
            if (a as i32) < b as i32 {
                a as u32
            } else {
                c as u32
            }
        }),
        row("selp.b16", |a, b, c| {
            if (a as i16) < b as i16 {
                a as u16
            } else {
                c as u16
            }
        }),
        row("selp.s32", |a, b, _| {
            if (a as i32) < b as i32 { a as u32 } else { 77 }
        }),
        row("selp.f64", |a, b, _| if a < b { a } else { 1f64.to_bits() }),
        row("selp.f32", |a, b, c| {
            if (a as u32) < b as u32 {
                1f32.to_bits()
            } else {
                c as u32
            }
        }),
        row("slct.b32.s32", |a, b, c| {
            if c as i32 >= 0 { a as u32 } else { b as u32 }
        }),
        row("slct.u64.s32", |a, b, c| if c as i32 >= 0 { a } else { b }),
        row("slct.s16.s32", |a, b, c| {
            if c as i32 >= 0 { a as u16 } else { b as u16 }
        }),
        // A NaN is not at least zero, -0 is.
        row("slct.f32.f32", move |a, b, c| {
            if f(c) >= 0.0 { a as u32 } else { b as u32 }
        }),
        row("slct.ftz.s32.f32", move |a, b, c| {
            if flush32(f(c)) >= 0.0 {
                a as u32
            } else {
                b as u32
            }
        }),
        row(
            "slct.f64.f32",
            move |a, b, c| if f(c) >= 0.0 { a } else { b },
        ),
    ];
    check_rows("compare_int", "choose", &Inputs::integers(), &rows);
    check_rows("compare_int", "choose", &Inputs::floats32(), &rows);
}

/// All float tests, given how two numbers compare: `None` when one is NaN.
const FLOAT_TESTS: [fn(Option<Ordering>) -> bool; 14] = [
    |order| order == Some(Equal),
    |order| order.is_some_and(|order| order != Equal),
    |order| order == Some(Less),
    |order| order.is_some_and(|order| order != Greater),
    |order| order == Some(Greater),
    |order| order.is_some_and(|order| order != Less),
    |order| order.is_none_or(|order| order == Equal),
    |order| order != Some(Equal),
    |order| order.is_none_or(|order| order == Less),
    |order| order != Some(Greater),
    |order| order.is_none_or(|order| order == Greater),
    |order| order != Some(Less),
    |order| order.is_some(),
    |order| order.is_none(),
];

/// Rows of all float tests between numbers that `read` makes of the inputs.
fn float_rows<T: PartialOrd + 'static>(read: fn(u64) -> T) -> impl Iterator<Item = Row> {
    FLOAT_TESTS.into_iter().map(move |test| {
        row("float test", move |a, b, _| {
            test(read(a).partial_cmp(&read(b)))
        })
    })
}

fn half_of(bits: u64) -> f16 {
    f16::from_bits64(bits)
}

#[test]
fn floats() {
    let single: Vec<Row> = float_rows(f32::from_bits64)
        .chain(float_rows(|bits| flush32(f32::from_bits64(bits))))
        .collect();
    check_rows("compare_float", "compare32", &Inputs::floats32(), &single);
    let double: Vec<Row> = float_rows(f64::from_bits64).collect();
    check_rows("compare_float", "compare64", &Inputs::floats64(), &double);
    let half: Vec<Row> = float_rows(half_of)
        .chain(float_rows(|bits| flush16(half_of(bits))))
        .collect();
    check_rows("compare_float", "compare16", &Inputs::floats16(), &half);
}

#[test]
fn pairs_of_halves() {
    let tests = [
        FLOAT_TESTS[0],
        FLOAT_TESTS[2],
        FLOAT_TESTS[11],
        FLOAT_TESTS[13],
    ];
    let rows = tests.map(|test| {
        row("pair", move |a, b, _| {
            let lane =
                |shift: u32| u32::from(test(half_of(a >> shift).partial_cmp(&half_of(b >> shift))));
            lane(0) | lane(16) << 1
        })
    });
    check_rows("compare_float", "compare16x2", &Inputs::floats16(), &rows);
}

#[test]
fn floats_as_numbers() {
    let f = |bits: u64| f32::from_bits64(bits);
    let d = |bits: u64| f64::from_bits64(bits);
    let q = |c: u64| c & 1 == 1;
    let half_one = |truth: bool| if truth { f16::ONE } else { f16::ZERO };
    let rows = [
        row("set.lt.u32.f32", move |a, b, _| ones(f(a) < f(b))),
        row("set.geu.f32.f32", move |a, b, _| {
            one(f(a) >= f(b) || f(a).is_nan() || f(b).is_nan())
        }),
        row("set.eq.ftz.s32.f32", move |a, b, _| {
            ones(flush32(f(a)) == flush32(f(b)))
        }),
        row("set.num.u32.f64", move |a, b, _| {
            ones(!d(a).is_nan() && !d(b).is_nan())
        }),
        row("set.gt.f32.f64", move |a, b, _| one(d(a) > d(b))),
        row("set.lt.f16.f16", move |a, b, _| {
            half_one(half_of(a) < half_of(b))
        }),
        row("set.lt.u32.f16", move |a, b, _| {
            ones(half_of(a) < half_of(b))
        }),
        row("set.neu.f16x2.f16x2", move |a, b, _| {
            Pair(
                half_one(half_of(a) != half_of(b)),
                half_one(half_of(a >> 16) != half_of(b >> 16)),
            )
        }),
        row("set.ltu.or", move |a, b, c| {
            ones(FLOAT_TESTS[8](f(a).partial_cmp(&f(b))) | q(c))
        }),
        row("setp.leu.xor", move |a, b, c| {
            both(FLOAT_TESTS[9](f(a).partial_cmp(&f(b))), |p, q| p ^ q, q(c))
        }),
    ];
    check_rows("compare_float", "numbers", &Inputs::floats32(), &rows);
    check_rows("compare_float", "numbers", &Inputs::floats64(), &rows);
}
