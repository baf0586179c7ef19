//! Pairs of narrow floats, signs of floats, and the conversions beside those of [`super::floats`].

use super::exact::{BF16, F16, F32, F64, Format, Number, ROUNDINGS, Rounding, rounded};
use super::floats::{INTEGERS, Integer, Modifiers, between, from_integer, integer_register};
use super::floats::{arithmetic, name, same, same_halves, sample, to_integer};
use super::run::{Form, Wide, compare, exact_form};

const NEAREST: (&str, Rounding) = ROUNDINGS[0];

/// The same operation on both halves of a word.
fn in_halves(one: Form, opcode: &str, after: Modifiers, format: Format) -> Form {
    let model = one.model;
    Form {
        text: format!("{opcode}.rn{}.{}x2", after.text(), name(format)),
        result: Wide::W32,
        sources: vec![Wide::W32; one.sources.len()],
        model: Box::new(move |operands| {
            let upper = operands.map(|word| word >> 16);
            model(operands) & 0xffff | (model(upper) & 0xffff) << 16
        }),
        same: same_halves(format),
    }
}

fn pairs() -> Vec<Form> {
    let mut forms = Vec::new();
    let mut push = |opcode: &str, format: Format, after: Modifiers| {
        let one = arithmetic(opcode, format, NEAREST, after);
        forms.push(in_halves(one, opcode, after, format));
    };
    let modifiers = |flush, saturate, rectify| Modifiers {
        flush,
        saturate,
        rectify,
    };
    for opcode in ["add", "sub", "mul", "fma"] {
        for flush in [false, true] {
            for saturate in [false, true] {
                push(opcode, F16, modifiers(flush, saturate, false));
            }
        }
        push(opcode, BF16, Modifiers::default());
    }
    push("fma", F16, modifiers(false, false, true));
    push("fma", F16, modifiers(true, false, true));
    push("fma", BF16, modifiers(false, false, true));
    forms
}

fn signs() -> Vec<Form> {
    let mut forms = Vec::new();
    for opcode in ["neg", "abs"] {
        for (format, flush) in [
            (F32, false),
            (F32, true),
            (F64, false),
            (F16, false),
            (F16, true),
            (BF16, false),
        ] {
            let flushing = if flush { ".ftz" } else { "" };
            let model = move |word: u64| {
                let word = word & (u64::MAX >> (64 - format.bits()));
                let word = if flush { format.flush(word) } else { word };
                let sign = 1 << (format.bits() - 1);
                match opcode {
                    "neg" => word ^ sign,
                    _ => word & !sign,
                }
            };
            let wide = Wide::of(format.bits());
            forms.push(Form {
                text: format!("{opcode}{flushing}.{}", name(format)),
                result: wide,
                sources: vec![wide],
                model: Box::new(move |[a, ..]| model(a)),
                same: same(format),
            });
            if format.bits() == 16 {
                forms.push(Form {
                    text: format!("{opcode}{flushing}.{}x2", name(format)),
                    result: Wide::W32,
                    sources: vec![Wide::W32],
                    model: Box::new(move |[a, ..]| model(a) | model(a >> 16) << 16),
                    same: same_halves(format),
                });
            }
        }
    }
    forms
}

fn value((_, bits, signed): Integer, word: u64) -> i128 {
    match signed {
        true => i128::from((word << (64 - bits)) as i64 >> (64 - bits)),
        false => i128::from(word << (64 - bits) >> (64 - bits)),
    }
}

/// A narrow result is widened to its register as its type says.
fn between_integers(from: Integer, to: Integer, saturate: bool) -> Form {
    let (least, most) = match to.2 {
        true => (-(1i128 << (to.1 - 1)), (1i128 << (to.1 - 1)) - 1),
        false => (0, (1i128 << to.1) - 1),
    };
    let saturating = if saturate { ".sat" } else { "" };
    exact_form(
        format!("cvt{saturating}.{}.{}", to.0, from.0),
        integer_register(to.1),
        vec![integer_register(from.1)],
        move |[a, ..]| {
            let number = value(from, a);
            match saturate {
                true => number.clamp(least, most) as u64,
                false => value(to, number as u64) as u64,
            }
        },
    )
}

/// To the integer beside it, still a float.
fn integral(format: Format, rounding: (&str, Rounding), after: Modifiers) -> Form {
    let (ty, wide) = (name(format), Wide::of(format.bits()));
    Form {
        text: format!("cvt.{}i{}.{ty}.{ty}", rounding.0, after.text()),
        result: wide,
        sources: vec![wide],
        model: Box::new(move |[a, ..]| {
            let number = match after.read(format, a) {
                Number::Finite {
                    negative,
                    digits,
                    exponent,
                } => Number::Finite {
                    negative,
                    digits: rounded(&digits, exponent, rounding.1, negative),
                    exponent: 0,
                },
                other => other,
            };
            after.write(format, &number, rounding.1)
        }),
        same: same(format),
    }
}

fn to_pair(format: Format, rounding: (&str, Rounding), rectify: bool) -> Form {
    let after = Modifiers {
        rectify,
        ..Modifiers::default()
    };
    Form {
        text: format!("cvt.{}{}.{}x2.f32", rounding.0, after.text(), name(format)),
        result: Wide::W32,
        sources: vec![Wide::W32; 2],
        model: Box::new(move |[a, b, _]| {
            let half = |word| after.write(format, &after.read(F32, word), rounding.1);
            half(a) << 16 | half(b)
        }),
        same: same_halves(format),
    }
}

fn conversions() -> Vec<Form> {
    let mut forms = Vec::new();
    let none = Modifiers::default();
    for from in INTEGERS {
        for to in INTEGERS {
            for saturate in [false, true] {
                forms.push(between_integers(from, to, saturate));
            }
        }
        forms.push(from_integer(BF16, from, NEAREST));
        forms.push(to_integer(BF16, from, ROUNDINGS[1], false));
    }
    for rounding in ROUNDINGS {
        for saturate in [false, true] {
            for (format, flush) in [(F32, false), (F32, true), (F64, false), (F16, false)] {
                let after = Modifiers {
                    flush,
                    saturate,
                    rectify: false,
                };
                forms.push(integral(format, rounding, after));
            }
        }
    }
    for rounding in &ROUNDINGS[..2] {
        for format in [F16, BF16] {
            for rectify in [false, true] {
                forms.push(to_pair(format, *rounding, rectify));
            }
        }
    }
    forms.push(between(BF16, F32, ("", Rounding::Nearest), none));
    forms.push(between(F64, BF16, NEAREST, none));
    forms
}

#[test]
fn forms_of_pairs_signs_and_conversions() {
    for (forms, count) in [
        (pairs(), 23),
        (signs(), 18),
        (conversions(), 128 + 16 + 32 + 8 + 2),
    ] {
        assert_eq!(forms.len(), count);
        compare(&forms, sample);
    }
}
