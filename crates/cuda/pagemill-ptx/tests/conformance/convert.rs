//! Conversion from and to integers, packing, and moves between widths.

use super::inputs::Inputs;
use super::oracle::{Ieee, RM, RN, ROUNDINGS, RP, RZ, Round, flush32};
use super::rows::{Row, check_rows, row};
use super::value::Value;
use half::f16;

/// The source types in the order of the kernels' macros, widened without loss.
const SOURCES: [fn(u64) -> i128; 8] = [
    |a| i128::from(a as u8),
    |a| i128::from(a as i8),
    |a| i128::from(a as u16),
    |a| i128::from(a as i16),
    |a| i128::from(a as u32),
    |a| i128::from(a as i32),
    |a| i128::from(a),
    |a| i128::from(a as i64),
];

/// One row per source type, each result narrowed by `narrow`.
fn from_every<T: Value>(rows: &mut Vec<Row>, narrow: fn(i128) -> T) {
    rows.extend(SOURCES.map(|source| row("cvt", move |a, _, _| narrow(source(a)))));
}

#[test]
fn integers() {
    let mut rows: Vec<Row> = Vec::new();
    // Eight-bit results are extended in their 32-bit registers.
    from_every(&mut rows, |x| u32::from(x as u8));
    from_every(&mut rows, |x| i32::from(x as i8));
    from_every(&mut rows, |x| x as u16);
    from_every(&mut rows, |x| x as i16);
    from_every(&mut rows, |x| x as u32);
    from_every(&mut rows, |x| x as i32);
    from_every(&mut rows, |x| x as u64);
    from_every(&mut rows, |x| x as i64);
    check_rows("convert_int", "plain", &Inputs::integers(), &rows);
}

/// `value` clamped to the range of `$to`.
macro_rules! clamp {
    ($to:ty, $value:expr) => {
        i128::from($value).clamp(i128::from(<$to>::MIN), i128::from(<$to>::MAX)) as $to
    };
}

macro_rules! saturating_rows {
    ($($to:ident($shown:ident) from $from:ident;)*) => {
        [$(row(concat!("cvt.sat.", stringify!($to), ".", stringify!($from)), |a, _, _| {
            clamp!($to, a as $from) as $shown
        })),*]
    };
}

#[test]
fn saturating_integers() {
    let rows = saturating_rows! {
        u8(u32) from i8;
        u8(u32) from u16;
        u8(u32) from i16;
        u8(u32) from i32;
        u8(u32) from u64;
        i8(i32) from u8;
        i8(i32) from i16;
        i8(i32) from u32;
        i8(i32) from i32;
        i8(i32) from i64;
        u16(u16) from i16;
        u16(u16) from u32;
        u16(u16) from i32;
        i16(i16) from u16;
        i16(i16) from i32;
        i16(i16) from u64;
        u32(u32) from i32;
        u32(u32) from u64;
        u32(u32) from i64;
        i32(i32) from u32;
        i32(i32) from i64;
        i32(i32) from u64;
        u64(u64) from i64;
        i64(i64) from u64;
        u64(u64) from i32;
    };
    check_rows("convert_int", "saturating", &Inputs::integers(), &rows);
}

/// `cvt.pack`: a and b clamped to fields of `bits`, a above b, above them what fits of c.
fn pack(a: u64, b: u64, c: Option<u64>, bits: u32, signed: bool) -> u32 {
    let (low, high) = if signed {
        (-(1i64 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    let field = |value: u64| (i64::from(value as i32).clamp(low, high) as u64) & ((1 << bits) - 1);
    let packed = field(a) << bits | field(b);
    (packed | c.map_or(0, |c| (c & 0xFFFF_FFFF) << (2 * bits))) as u32
}

#[test]
fn packing() {
    let mut rows = vec![
        row("cvt.pack.sat.s16.s32", |a, b, _| pack(a, b, None, 16, true)),
        row("cvt.pack.sat.u16.s32", |a, b, _| {
            pack(a, b, None, 16, false)
        }),
    ];
    for bits in [8, 4, 2] {
        rows.push(row("cvt.pack.sat.s", move |a, b, c| {
            pack(a, b, Some(c), bits, true)
        }));
        rows.push(row("cvt.pack.sat.u", move |a, b, c| {
            pack(a, b, Some(c), bits, false)
        }));
    }
    check_rows("convert_int", "packing", &Inputs::integers(), &rows);
}

/// `x` rounded to an integral value.
pub fn integral(x: f64, round: Round) -> f64 {
    match round {
        Round::TowardZero => x.trunc(),
        Round::TowardNegative => x.floor(),
        Round::TowardPositive => x.ceil(),
        _ => x.round_ties_even(),
    }
}

/// All integer types and roundings from one float type. Every source value is exact in double precision.
/// A NaN becomes 0, but the top bit of the destination when source or destination has 64 bits.
macro_rules! to_integers {
    ($read:expr, $double:expr; $($to:ident($shown:ident))*) => {{
        let mut rows: Vec<Row> = Vec::new();
        $(
            for round in [RN, RZ, RM, RP] {
                rows.push(row(concat!("cvt to ", stringify!($to)), move |a, _, _| {
                    let x: f64 = $read(a);
                    let wide = $double || $to::BYTES == 8;
                    let top = (1u64 << (8 * $to::BYTES - 1)) as $to;
                    let result = if x.is_nan() && wide { top } else { integral(x, round) as $to };
                    result as $shown
                }));
            }
        )*
        rows
    }};
}

#[test]
fn floats_to_integers() {
    let half = |a: u64| f64::from(f16::from_bits64(a));
    let single = |a: u64| f64::from(f32::from_bits64(a));
    let rows = to_integers!(half, false; u8(u32) i8(i32) u16(u16) i16(i16) u32(u32) i32(i32) u64(u64) i64(i64));
    check_rows(
        "convert_float_to_int",
        "from_f16",
        &Inputs::floats16(),
        &rows,
    );
    let rows = to_integers!(single, false; u8(u32) i8(i32) u16(u16) i16(i16) u32(u32) i32(i32) u64(u64) i64(i64));
    check_rows(
        "convert_float_to_int",
        "from_f32",
        &Inputs::floats32(),
        &rows,
    );
    let rows = to_integers!(f64::from_bits, true; u8(u32) i8(i32) u16(u16) i16(i16) u32(u32) i32(i32) u64(u64) i64(i64));
    // What a NaN becomes in narrow types is not pinned down: leave it out there.
    let numbers = Inputs::floats64().retain(|a, _, _| !f64::from_bits(a).is_nan());
    check_rows("convert_float_to_int", "from_f64", &numbers, &rows);
}

#[test]
fn flushed_floats_to_integers() {
    let f = |a: u64| f64::from(flush32(f32::from_bits64(a)));
    let rows = [
        row("cvt.rpi.ftz.s32.f32", move |a, _, _| f(a).ceil() as i32),
        row("cvt.rpi.ftz.u64.f32", move |a, _, _| {
            if f(a).is_nan() {
                1 << 63
            } else {
                f(a).ceil() as u64
            }
        }),
        row("cvt.rni.sat.s32.f32", move |a, _, _| {
            f32::from_bits64(a).round_ties_even() as i32
        }),
        row("cvt.rmi.ftz.sat.s16.f32", move |a, _, _| {
            f(a).floor() as i16
        }),
    ];
    check_rows(
        "convert_float_to_int",
        "modified",
        &Inputs::floats32(),
        &rows,
    );
}

/// Every source type in every rounding.
fn to_float<T: Value>(convert: fn(i128, Round) -> T) -> Vec<Row> {
    let row_of = |source: fn(u64) -> i128, round| {
        row("cvt to float", move |a, _, _| convert(source(a), round))
    };
    SOURCES
        .into_iter()
        .flat_map(|source| ROUNDINGS.map(|round| row_of(source, round)))
        .collect()
}

#[test]
fn integers_to_floats() {
    let inputs = Inputs::integers();
    check_rows(
        "convert_int_to_float",
        "to_f16",
        &inputs,
        &to_float(f16::from_integer),
    );
    check_rows(
        "convert_int_to_float",
        "to_f32",
        &inputs,
        &to_float(f32::from_integer),
    );
    check_rows(
        "convert_int_to_float",
        "to_f64",
        &inputs,
        &to_float(f64::from_integer),
    );
}

#[test]
fn moves() {
    let low = |a: u64| a & 0xFFFF_FFFF;
    let half = |a: u64| a & 0xFFFF;
    let rows = [
        row("b64 of two", move |a, b, _| low(a) | low(b) << 32),
        row("b32 of two", move |a, b, _| {
            (half(a) | half(b) << 16) as u32
        }),
        row("b64 of four", move |a, b, c| {
            half(a) | half(b) << 16 | half(c) << 32 | half(a) << 48
        }),
        row("low of b64", |a, _, _| a as u32),
        row("high of b64", |a, _, _| (a >> 32) as u32),
        row("high of b64, sink", |a, _, _| (a >> 32) as u32),
        row("low of b32", |a, _, _| a as u16),
        row("high of b32, sink", |a, _, _| (a >> 16) as u16),
        row("third of b64", |a, _, _| (a >> 32) as u16),
        row("bytes", |a, _, _| (a as u32).swap_bytes()),
        row("mov.b16", |a, _, _| a as u16),
        row("mov.u32", |a, _, _| a as u32),
        row("mov.f32", |a, _, _| a as u32),
        row("mov.f64", |a, _, _| a),
        row("mov.b64 literal", |_, _, _| -2i64),
        row("mov.u16 literal", |_, _, _| u16::MAX),
        row("mov.f32 literal", |_, _, _| std::f32::consts::PI),
        row("mov.f64 literal", |_, _, _| 1.5f64),
        row("mov.s32 expression", |_, _, _| {
            (0xFFFFu32 & !0xF0) | 1 << 20
        }),
        row("vector register", move |a, b, _| low(b) | low(a) << 32),
    ];
    check_rows("move_pack", "pack", &Inputs::integers(), &rows);
}
