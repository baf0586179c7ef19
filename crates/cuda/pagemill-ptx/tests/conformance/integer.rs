//! Integer arithmetic.

use super::inputs::Inputs;
use super::rows::{Row, check_rows, row};

/// Rows of one operation over several types: `each!(rows, "add", |a, b| a.wrapping_add(b), u16 u32)`.
macro_rules! each {
    ($rows:ident, $name:literal, |$a:ident, $b:ident| $f:expr, $($ty:ident)*) => {$(
        $rows.push(row(concat!($name, ".", stringify!($ty)), |a, b, _| {
            let ($a, $b) = (a as $ty, b as $ty);
            let result: $ty = $f;
            result
        }));
    )*};
    ($rows:ident, $name:literal, |$a:ident, $b:ident, $c:ident| $f:expr, $($ty:ident)*) => {$(
        $rows.push(row(concat!($name, ".", stringify!($ty)), |a, b, c| {
            let ($a, $b, $c) = (a as $ty, b as $ty, c as $ty);
            let result: $ty = $f;
            result
        }));
    )*};
}

/// The high half of a product, in the width of the factors.
macro_rules! high {
    ($a:expr, $b:expr) => {{
        let factor = $a;
        let bits = 8 * size_of_val(&factor);
        let (a, b) = (factor as i128, $b as i128);
        (a.wrapping_mul(b) as u128 >> bits) as _
    }};
}

fn low24(x: u32) -> u64 {
    u64::from(x & 0xFF_FFFF)
}

fn low24_signed(x: i32) -> i64 {
    i64::from(x << 8 >> 8)
}

fn saturate(x: i64) -> i32 {
    x.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

#[test]
fn addition_and_subtraction() {
    let mut rows: Vec<Row> = Vec::new();
    each!(rows, "add", |a, b| a.wrapping_add(b), u16 i16 u32 i32);
    rows.push(row("add.sat.s32", |a, b, _| {
        (a as i32).saturating_add(b as i32)
    }));
    each!(rows, "add", |a, b| a.wrapping_add(b), u64 i64);
    each!(rows, "sub", |a, b| a.wrapping_sub(b), u16 i16 u32 i32);
    rows.push(row("sub.sat.s32", |a, b, _| {
        (a as i32).saturating_sub(b as i32)
    }));
    each!(rows, "sub", |a, b| a.wrapping_sub(b), u64 i64);
    check_rows("int_add_sub", "add_sub", &Inputs::integers(), &rows);
}

#[test]
fn multiplication() {
    let mut rows: Vec<Row> = Vec::new();
    each!(rows, "mul.lo", |a, b| a.wrapping_mul(b), u16 i16 u32 i32 u64 i64);
    each!(rows, "mul.hi", |a, b| high!(a, b), u16 i16 u32 i32 u64 i64);
    rows.push(row("mul.wide.u16", |a, b, _| {
        u32::from(a as u16) * u32::from(b as u16)
    }));
    rows.push(row("mul.wide.s16", |a, b, _| {
        i32::from(a as i16) * i32::from(b as i16)
    }));
    rows.push(row("mul.wide.u32", |a, b, _| {
        u64::from(a as u32) * u64::from(b as u32)
    }));
    rows.push(row("mul.wide.s32", |a, b, _| {
        i64::from(a as i32) * i64::from(b as i32)
    }));
    rows.push(row("mul24.lo.u32", |a, b, _| {
        (low24(a as u32) * low24(b as u32)) as u32
    }));
    rows.push(row("mul24.lo.s32", |a, b, _| {
        (low24_signed(a as i32) * low24_signed(b as i32)) as i32
    }));
    rows.push(row("mul24.hi.u32", |a, b, _| {
        ((low24(a as u32) * low24(b as u32)) >> 16) as u32
    }));
    rows.push(row("mul24.hi.s32", |a, b, _| {
        ((low24_signed(a as i32) * low24_signed(b as i32)) >> 16) as i32
    }));
    check_rows("int_mul", "mul", &Inputs::integers(), &rows);
}

#[test]
fn multiply_add() {
    let mut rows: Vec<Row> = Vec::new();
    each!(rows, "mad.lo", |a, b, c| a.wrapping_mul(b).wrapping_add(c), u16 i16 u32 i32 u64 i64);
    each!(rows, "mad.hi", |a, b, c| c.wrapping_add(high!(a, b)), u16 i16 u32 i32);
    rows.push(row("mad.hi.sat.s32", |a, b, c| {
        let high: i32 = high!(a as i32, b as i32);
        high.saturating_add(c as i32)
    }));
    each!(rows, "mad.hi", |a, b, c| c.wrapping_add(high!(a, b)), u64 i64);
    rows.push(row("mad.wide.u16", |a, b, c| {
        (u32::from(a as u16) * u32::from(b as u16)).wrapping_add(c as u32)
    }));
    rows.push(row("mad.wide.s16", |a, b, c| {
        (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32)
    }));
    rows.push(row("mad.wide.u32", |a, b, c| {
        (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
    }));
    rows.push(row("mad.wide.s32", |a, b, c| {
        (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64)
    }));
    rows.push(row("mad24.lo.u32", |a, b, c| {
        ((low24(a as u32) * low24(b as u32)) as u32).wrapping_add(c as u32)
    }));
    rows.push(row("mad24.lo.s32", |a, b, c| {
        ((low24_signed(a as i32) * low24_signed(b as i32)) as i32).wrapping_add(c as i32)
    }));
    rows.push(row("mad24.hi.u32", |a, b, c| {
        (((low24(a as u32) * low24(b as u32)) >> 16) as u32).wrapping_add(c as u32)
    }));
    rows.push(row("mad24.hi.s32", |a, b, c| {
        (((low24_signed(a as i32) * low24_signed(b as i32)) >> 16) as i32).wrapping_add(c as i32)
    }));
    rows.push(row("mad24.hi.sat.s32", |a, b, c| {
        saturate(((low24_signed(a as i32) * low24_signed(b as i32)) >> 16) + i64::from(c as i32))
    }));
    check_rows("int_mad", "mad", &Inputs::integers(), &rows);
}

#[test]
fn division_and_remainder() {
    let mut rows: Vec<Row> = Vec::new();
    each!(rows, "div", |a, b| a.wrapping_div(b), u16 i16 u32 i32 u64 i64);
    each!(rows, "rem", |a, b| a.wrapping_rem(b), u16 i16 u32 i32 u64 i64);
    let inputs = Inputs::integers().retain(|_, b, _| b as u16 != 0 && b as u32 != 0);
    check_rows("int_div_rem", "div_rem", &inputs, &rows);
}

#[test]
fn order_and_magnitude() {
    let mut rows: Vec<Row> = Vec::new();
    each!(rows, "min", |a, b| a.min(b), u16 i16 u32 i32 u64 i64);
    each!(rows, "max", |a, b| a.max(b), u16 i16 u32 i32 u64 i64);
    each!(rows, "abs", |a, _b| a.wrapping_abs(), i16 i32 i64);
    each!(rows, "neg", |a, _b| a.wrapping_neg(), i16 i32 i64);
    each!(rows, "sad", |a, b, c| c.wrapping_add(a.abs_diff(b) as _), u16 i16 u32 i32 u64 i64);
    check_rows("int_min_max", "min_max", &Inputs::integers(), &rows);
}

#[test]
fn sums_through_the_carry_flag() {
    let mut rows: Vec<Row> = Vec::new();
    for subtract in [false, false, true, true] {
        let result = move |a: u64, b: u64, c: u64| {
            let (left, right) = (wide(c, a), wide(a ^ b, b));
            if subtract {
                left.wrapping_sub(right)
            } else {
                left.wrapping_add(right)
            }
        };
        rows.push(row("low half", move |a, b, c| result(a, b, c) as u64));
        rows.push(row("high half", move |a, b, c| {
            (result(a, b, c) >> 64) as u64
        }));
    }
    check_rows("int_carry", "wide_sums", &Inputs::integers(), &rows);
}

fn wide(high: u64, low: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// Three 32-bit words as a number of 96 bits.
fn words(low: u64, middle: u64, high: u64) -> u128 {
    u128::from(low as u32) | u128::from(middle as u32) << 32 | u128::from(high as u32) << 64
}

#[test]
fn chains_of_words() {
    let mut rows: Vec<Row> = Vec::new();
    for subtract in [false, false, true, true] {
        let result = move |a: u64, b: u64, c: u64| {
            let (left, right) = (words(a, a >> 32, c), words(b, b >> 32, c >> 32));
            if subtract {
                left.wrapping_sub(right)
            } else {
                left + right
            }
        };
        rows.push(row("low words", move |a, b, c| result(a, b, c) as u64));
        rows.push(row("high word and carry", move |a, b, c| {
            // After a subtraction the flag is the borrow, and `addc` adds it.
            (result(a, b, c) >> 64) as u64 & 0x1_FFFF_FFFF
        }));
    }
    check_rows("int_carry", "chains", &Inputs::integers(), &rows);
}

#[test]
fn products_through_the_carry_flag() {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let sum = move |a: u64, b: u64, c: u64| product(a, b).wrapping_add(c.into());
    let high_and_carry = |a: u64, b: u64, c: u64| {
        let high = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
        high.overflowing_add(c as u32)
    };
    let rows = [
        row("product, low", move |a, b, _| product(a, b) as u64),
        row("product, high", move |a, b, _| (product(a, b) >> 64) as u64),
        row("sum, low", move |a, b, c| sum(a, b, c) as u64),
        row("sum, high", move |a, b, c| (sum(a, b, c) >> 64) as u64),
        row("mad.hi.cc.s32", move |a, b, c| high_and_carry(a, b, c).0),
        row("madc.lo.s32", move |a, b, c| {
            let low = (a as u32).wrapping_mul(b as u32).wrapping_add(c as u32);
            low.wrapping_add(high_and_carry(a, b, c).1.into())
        }),
    ];
    check_rows("int_carry", "products", &Inputs::integers(), &rows);
}
