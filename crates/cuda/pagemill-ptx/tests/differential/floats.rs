//! Floating-point arithmetic and conversions: every type, rounding and modifier.

use num_bigint::BigUint;

use super::exact::{
    BF16, F16, F32, F64, Format, Number, ROUNDINGS, Rounding, add, divide, integer, multiply,
    negated, rounded, square_root,
};
use super::run::{Form, Random, Wide, compare};

pub fn name(format: Format) -> &'static str {
    match format {
        F16 => "f16",
        BF16 => "bf16",
        F32 => "f32",
        _ => "f64",
    }
}

/// Any NaN is as good as another.
pub fn same(format: Format) -> fn(u64, u64) -> bool {
    match format {
        F16 => |a, b| a == b || F16.is_nan(a) && F16.is_nan(b),
        BF16 => |a, b| a == b || BF16.is_nan(a) && BF16.is_nan(b),
        F32 => |a, b| a == b || F32.is_nan(a) && F32.is_nan(b),
        _ => |a, b| a == b || F64.is_nan(a) && F64.is_nan(b),
    }
}

/// As [`same`], of both halves of a word.
pub fn same_halves(format: Format) -> fn(u64, u64) -> bool {
    match format {
        F16 => |a, b| {
            [0, 16]
                .iter()
                .all(|at| same(F16)(a >> at & 0xffff, b >> at & 0xffff))
        },
        _ => |a, b| {
            [0, 16]
                .iter()
                .all(|at| same(BF16)(a >> at & 0xffff, b >> at & 0xffff))
        },
    }
}

/// What follows an operation.
#[derive(Clone, Copy, Default)]
pub struct Modifiers {
    pub flush: bool,
    pub saturate: bool,
    pub rectify: bool,
}

impl Modifiers {
    pub fn text(self) -> String {
        let part = |holds: bool, text: &'static str| if holds { text } else { "" };
        let ftz = part(self.flush, ".ftz");
        let sat = part(self.saturate, ".sat");
        format!("{ftz}{sat}{}", part(self.rectify, ".relu"))
    }

    pub fn read(self, format: Format, bits: u64) -> Number {
        let bits = bits & (u64::MAX >> (64 - format.bits()));
        format.read(if self.flush { format.flush(bits) } else { bits })
    }

    pub fn write(self, format: Format, number: &Number, rounding: Rounding) -> u64 {
        let mut bits = format.round(number, rounding);
        if self.flush {
            bits = format.flush(bits);
        }
        if self.saturate {
            bits = format.saturate(bits);
        }
        if self.rectify {
            bits = format.rectify(bits);
        }
        bits
    }
}

/// The exact result of an operation.
type Exact = fn(&[Number; 3], Rounding) -> Number;

fn operation(name: &str) -> (usize, Exact) {
    match name {
        "add" => (2, |[a, b, _], rounding| add(a, b, rounding)),
        "sub" => (2, |[a, b, _], rounding| {
            add(a, &negated(b.clone()), rounding)
        }),
        "mul" => (2, |[a, b, _], _| multiply(a, b)),
        "div" => (2, |[a, b, _], _| divide(a, b)),
        "rcp" => (1, |[a, _, _], _| divide(&integer(1), a)),
        "sqrt" => (1, |[a, _, _], _| square_root(a)),
        _ => (3, |[a, b, c], rounding| add(&multiply(a, b), c, rounding)),
    }
}

pub fn arithmetic(
    opcode: &str,
    format: Format,
    rounding: (&str, Rounding),
    after: Modifiers,
) -> Form {
    let (count, exact) = operation(opcode);
    Form {
        text: format!("{opcode}.{}{}.{}", rounding.0, after.text(), name(format)),
        result: Wide::of(format.bits()),
        sources: vec![Wide::of(format.bits()); count],
        model: Box::new(move |operands| {
            let numbers = operands.map(|bits| after.read(format, bits));
            after.write(format, &exact(&numbers, rounding.1), rounding.1)
        }),
        same: same(format),
    }
}

fn arithmetic_forms() -> Vec<Form> {
    let mut forms = Vec::new();
    let flags = [false, true];
    for opcode in ["add", "sub", "mul", "fma", "div", "rcp", "sqrt"] {
        let saturations = if matches!(opcode, "div" | "rcp" | "sqrt") {
            1
        } else {
            2
        };
        for rounding in ROUNDINGS {
            forms.push(arithmetic(opcode, F64, rounding, Modifiers::default()));
            for flush in flags {
                for &saturate in &flags[..saturations] {
                    let after = Modifiers {
                        flush,
                        saturate,
                        rectify: false,
                    };
                    forms.push(arithmetic(opcode, F32, rounding, after));
                }
            }
        }
    }
    for opcode in ["add", "sub", "mul", "fma"] {
        let nearest = ROUNDINGS[0];
        for flush in flags {
            for saturate in flags {
                let after = Modifiers {
                    flush,
                    saturate,
                    rectify: false,
                };
                forms.push(arithmetic(opcode, F16, nearest, after));
            }
        }
        forms.push(arithmetic(opcode, BF16, nearest, Modifiers::default()));
    }
    let rectify = Modifiers {
        rectify: true,
        ..Modifiers::default()
    };
    forms.push(arithmetic("fma", F16, ROUNDINGS[0], rectify));
    forms.push(arithmetic("fma", BF16, ROUNDINGS[0], rectify));
    forms
}

/// An integer type of conversions: name, bits, and whether it is signed.
pub type Integer = (&'static str, u32, bool);

pub const INTEGERS: [Integer; 8] = [
    ("u8", 8, false),
    ("s8", 8, true),
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

/// Registers of 8-bit values are 32 bits wide here.
pub fn integer_register(bits: u32) -> Wide {
    if bits == 8 { Wide::W32 } else { Wide::of(bits) }
}

pub fn from_integer(
    format: Format,
    (ty, bits, signed): Integer,
    rounding: (&str, Rounding),
) -> Form {
    Form {
        text: format!("cvt.{}.{}.{ty}", rounding.0, name(format)),
        result: Wide::of(format.bits()),
        sources: vec![integer_register(bits)],
        model: Box::new(move |[a, ..]| {
            let unused = 64 - bits;
            let value = match signed {
                true => i128::from((a << unused) as i64 >> unused),
                false => i128::from(a << unused >> unused),
            };
            format.round(&integer(value), rounding.1)
        }),
        same: same(format),
    }
}

pub fn to_integer(
    format: Format,
    (ty, bits, signed): Integer,
    rounding: (&str, Rounding),
    flush: bool,
) -> Form {
    let after = Modifiers {
        flush,
        ..Modifiers::default()
    };
    Form {
        text: format!("cvt.{}i{}.{ty}.{}", rounding.0, after.text(), name(format)),
        result: integer_register(bits),
        sources: vec![Wide::of(format.bits())],
        model: Box::new(move |[a, ..]| {
            let (least, most) = match signed {
                true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                false => (0, (1i128 << bits) - 1),
            };
            let value = match after.read(format, a) {
                Number::Nan if format != F64 && bits < 64 => 0,
                Number::Nan if signed => least,
                Number::Nan => 1 << (bits - 1),
                Number::Infinite { negative } => {
                    if negative {
                        least
                    } else {
                        most
                    }
                }
                Number::Finite {
                    negative,
                    digits,
                    exponent,
                } => {
                    let whole = rounded(&digits, exponent, rounding.1, negative);
                    let whole = whole.min(BigUint::from(1u128 << 100));
                    let whole = i128::try_from(whole).expect("it was limited");
                    if negative { -whole } else { whole }.clamp(least, most)
                }
            };
            value as u64
        }),
        same: |a, b| a == b,
    }
}

pub fn between(from: Format, to: Format, rounding: (&str, Rounding), after: Modifiers) -> Form {
    let dot = if rounding.0.is_empty() { "" } else { "." };
    let text = format!(
        "cvt{dot}{}{}.{}.{}",
        rounding.0,
        after.text(),
        name(to),
        name(from)
    );
    Form {
        text,
        result: Wide::of(to.bits()),
        sources: vec![Wide::of(from.bits())],
        model: Box::new(move |[a, ..]| {
            // Only single precision is flushed.
            let narrow = |format: Format| Modifiers {
                flush: after.flush && format == F32,
                ..after
            };
            let number = narrow(from).read(from, a);
            narrow(to).write(to, &number, rounding.1)
        }),
        same: same(to),
    }
}

fn conversion_forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for rounding in ROUNDINGS {
        for ty in INTEGERS {
            for format in [F16, F32, F64] {
                forms.push(from_integer(format, ty, rounding));
                forms.push(to_integer(format, ty, rounding, false));
            }
            forms.push(to_integer(F32, ty, rounding, true));
        }
        for flush in [false, true] {
            for saturate in [false, true] {
                let after = Modifiers {
                    flush,
                    saturate,
                    rectify: false,
                };
                forms.push(between(F64, F32, rounding, after));
            }
        }
    }
    let exact = ("", Rounding::Nearest);
    let none = Modifiers::default();
    forms.push(between(F32, F64, exact, none));
    forms.push(between(
        F32,
        F64,
        exact,
        Modifiers {
            flush: true,
            ..none
        },
    ));
    forms.push(between(F16, F32, exact, none));
    forms.push(between(F16, F64, exact, none));
    for rounding in &ROUNDINGS[..2] {
        forms.push(between(F32, F16, *rounding, none));
        forms.push(between(F32, BF16, *rounding, none));
        let rectify = Modifiers {
            rectify: true,
            ..none
        };
        forms.push(between(F32, F16, *rounding, rectify));
        forms.push(between(F32, BF16, *rounding, rectify));
    }
    forms.push(between(F64, F16, ROUNDINGS[0], none));
    forms
}

/// Bits that are edges of some format, near ties and limits, or anything.
pub fn sample(random: &mut Random) -> u64 {
    const EDGES: [u64; 12] = [
        0,
        1,
        0x007f_ffff,
        0x0080_0000,
        0x3f80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7fc0_0000,
        0x3ff0_0000_0000_0000,
        0x7ff0_0000_0000_0000,
        0x000f_ffff_ffff_ffff,
        0x7c00,
    ];
    let choice = random.next();
    let bits = random.next();
    let sign = bits & (1 << 63 | 1 << 31 | 1 << 15);
    match choice % 8 {
        0 => EDGES[(choice >> 8) as usize % EDGES.len()] ^ sign,
        1 => EDGES[(choice >> 8) as usize % EDGES.len()] ^ sign ^ (bits & 3),
        // Near one in each format.
        2 => bits & 0x000f_ffff_807f_83ff | 0x3ff0_0000_3f80_3c00 | sign,
        // Integers and halves of integers in each format.
        3 => (((bits % 100_000) as f64) / 2.0).to_bits() ^ sign,
        4 => u64::from((((bits % 1000) as f32) / 2.0).to_bits()) ^ sign,
        5 => bits >> (choice >> 8 & 63),
        _ => bits,
    }
}

#[test]
fn floating_point_forms() {
    let (arithmetic, conversions) = (arithmetic_forms(), conversion_forms());
    assert_eq!((arithmetic.len(), conversions.len()), (138, 253));
    let executions = compare(&arithmetic, sample) + compare(&conversions, sample);
    assert!(executions >= 391, "{executions} executions");
}
