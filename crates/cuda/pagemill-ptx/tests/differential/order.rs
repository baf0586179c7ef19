//! Comparisons, selections, and the lesser or greater of two: integers, floats, and pairs of them.

use std::cmp::Ordering;

use super::exact::{BF16, F16, F32, F64, Format, compare as order};
use super::floats::{name, same, same_halves, sample};
use super::run::{Form, Wide, compare, exact_form};

const INTEGER_OPERATORS: [&str; 10] = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"];
const FLOAT_OPERATORS: [&str; 14] = [
    "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

/// Whether `operator` holds for operands in that order; none where one of them is NaN.
fn holds(operator: &str, order: Option<Ordering>) -> bool {
    let Some(order) = order else {
        return operator.len() == 3 && operator != "num";
    };
    match operator {
        "num" => true,
        "nan" => false,
        "eq" | "equ" => order.is_eq(),
        "ne" | "neu" => order.is_ne(),
        "lt" | "ltu" | "lo" => order.is_lt(),
        "le" | "leu" | "ls" => order.is_le(),
        "gt" | "gtu" | "hi" => order.is_gt(),
        _ => order.is_ge(),
    }
}

fn low(word: u64, bits: u32) -> u64 {
    word & (u64::MAX >> (64 - bits))
}

fn integer(ty: &str, word: u64) -> i128 {
    let bits: u32 = ty[1..].parse().expect("bits");
    match ty.starts_with('s') {
        true => i128::from((word << (64 - bits)) as i64 >> (64 - bits)),
        false => i128::from(low(word, bits)),
    }
}

fn float_order(format: Format, flush: bool, a: u64, b: u64) -> Option<Ordering> {
    let [a, b] = [a, b].map(|word| {
        let word = low(word, format.bits());
        format.read(if flush { format.flush(word) } else { word })
    });
    order(&a, &b)
}

fn set(operator: &'static str, ty: &str, bits: u32, order: Order) -> Form {
    let wide = Wide::of(bits);
    let text = format!("set.{operator}.u32.{ty}");
    exact_form(text, Wide::W32, vec![wide; 2], move |[a, b, _]| {
        u64::MAX * u64::from(holds(operator, order(a, b)))
    })
}

/// Both predicates of a comparison that is combined with a third operand, as two bits.
fn combined(operator: &'static str, ty: &str, combine: &'static str, order: Order) -> Form {
    let text = format!(
        "setp.ne.u32 %p0, %r3, 0; setp.{operator}.{combine}.{ty} %p1|%p2, %r1, %r2, %p0; selp.u32 %r4, 1, 0, %p1; selp.u32 %r7, 2, 0, %p2; or.b32 %r4, %r4, %r7;"
    );
    exact_form(text, Wide::W32, vec![Wide::W32; 3], move |[a, b, c]| {
        let (is_so, other) = (holds(operator, order(a, b)), low(c, 32) != 0);
        let both = [is_so, !is_so].map(|one| match combine {
            "and" => one && other,
            "or" => one || other,
            _ => one != other,
        });
        u64::from(both[0]) + 2 * u64::from(both[1])
    })
}

type Order = Box<dyn Fn(u64, u64) -> Option<Ordering>>;

fn integer_order(ty: &'static str) -> Order {
    Box::new(move |a, b| Some(integer(ty, a).cmp(&integer(ty, b))))
}

fn integer_comparisons() -> Vec<Form> {
    let mut forms = Vec::new();
    for ty in [
        "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64",
    ] {
        let bits: u32 = ty[1..].parse().expect("bits");
        let operators = match &ty[..1] {
            "b" => 2,
            "s" => 6,
            _ => INTEGER_OPERATORS.len(),
        };
        for operator in &INTEGER_OPERATORS[..operators] {
            forms.push(set(operator, ty, bits, integer_order(ty)));
        }
    }
    for operator in &INTEGER_OPERATORS[..6] {
        for combine in ["and", "or", "xor"] {
            forms.push(combined(operator, "s32", combine, integer_order("s32")));
        }
    }
    forms
}

fn float_comparisons() -> Vec<Form> {
    let mut forms = Vec::new();
    for operator in FLOAT_OPERATORS {
        for (format, flush) in [
            (F32, false),
            (F32, true),
            (F64, false),
            (F16, false),
            (F16, true),
            (BF16, false),
        ] {
            let flushing = if flush { "ftz." } else { "" };
            let text = format!("{operator}.{flushing}u32.{}", name(format));
            let wide = Wide::of(format.bits());
            forms.push(exact_form(
                format!("set.{text}"),
                Wide::W32,
                vec![wide; 2],
                move |[a, b, _]| {
                    u64::MAX * u64::from(holds(operator, float_order(format, flush, a, b)))
                },
            ));
        }
        for combine in ["and", "or", "xor"] {
            let order = Box::new(|a, b| float_order(F32, false, a, b));
            forms.push(combined(operator, "f32", combine, order));
        }
        for (format, ty, flush) in [
            (F16, "f16x2", false),
            (F16, "ftz.f16x2", true),
            (BF16, "bf16x2", false),
        ] {
            forms.push(exact_form(
                format!(
                    "setp.{operator}.{ty} %p1|%p2, %r1, %r2; selp.u32 %r4, 1, 0, %p1; selp.u32 %r7, 2, 0, %p2; or.b32 %r4, %r4, %r7;"
                ),
                Wide::W32,
                vec![Wide::W32; 2],
                move |[a, b, _]| {
                    let half = |shift: u32| {
                        u64::from(holds(operator, float_order(format, flush, a >> shift, b >> shift)))
                    };
                    half(0) + 2 * half(16)
                },
            ));
        }
    }
    forms
}

fn selections() -> Vec<Form> {
    let mut forms = Vec::new();
    for bits in [16, 32, 64] {
        let wide = Wide::of(bits);
        let [a, b, to] = [1, 2, 4].map(|number| wide.register(number));
        forms.push(exact_form(
            format!("setp.ne.u32 %p1, %r3, 0; selp.b{bits} {to}, {a}, {b}, %p1;"),
            wide,
            vec![wide; 2],
            |[a, b, c]| if low(c, 32) != 0 { a } else { b },
        ));
        for (kind, ty, flush) in [
            ("", "s32", false),
            ("", "f32", false),
            ("ftz.", "f32", true),
        ] {
            forms.push(exact_form(
                format!("slct.{kind}b{bits}.{ty}"),
                wide,
                vec![wide, wide, Wide::W32],
                move |[a, b, c]| {
                    let is_first = match ty {
                        "s32" => integer(ty, c) >= 0,
                        _ => holds("ge", float_order(F32, flush, c, 0)),
                    };
                    if is_first { a } else { b }
                },
            ));
        }
    }
    for format in [F32, F64] {
        let wide = Wide::of(format.bits());
        let (ty, a) = (name(format), wide.register(1));
        for property in [
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal",
        ] {
            forms.push(exact_form(
                format!("testp.{property}.{ty} %p1, {a}; selp.u32 %r4, 1, 0, %p1;"),
                Wide::W32,
                vec![wide],
                move |[a, ..]| {
                    let a = low(a, format.bits());
                    let is_infinite = low(a << 1, format.bits()) == format.infinity() << 1;
                    let is_small = a != format.flush(a);
                    u64::from(match property {
                        "finite" => !format.is_nan(a) && !is_infinite,
                        "infinite" => is_infinite,
                        "number" => !format.is_nan(a),
                        "notanumber" => format.is_nan(a),
                        "normal" => !format.is_nan(a) && !is_infinite && !is_small,
                        _ => is_small,
                    })
                },
            ));
        }
        let sign = 1 << (format.bits() - 1);
        forms.push(exact_form(
            format!("copysign.{ty}"),
            wide,
            vec![wide; 2],
            move |[a, b, _]| b & !sign | a & sign,
        ));
    }
    forms
}

/// What the lesser or greater of two floats depends on.
#[derive(Clone, Copy)]
struct Choice {
    greater: bool,
    flush: bool,
    propagates_nan: bool,
    of_magnitudes: bool,
}

impl Choice {
    fn all(flushes: bool, variants: bool) -> Vec<Self> {
        let flags = |has: bool| if has { 0..2 } else { 0..1 };
        let mut all = Vec::new();
        for greater in 0..2 {
            for flush in flags(flushes) {
                for propagates_nan in flags(variants) {
                    for of_magnitudes in flags(variants) {
                        all.push(Self {
                            greater: greater == 1,
                            flush: flush == 1,
                            propagates_nan: propagates_nan == 1,
                            of_magnitudes: of_magnitudes == 1,
                        });
                    }
                }
            }
        }
        all
    }

    fn text(self) -> String {
        let part = |holds: bool, text: &'static str| if holds { text } else { "" };
        format!(
            "{}{}{}{}",
            if self.greater { "max" } else { "min" },
            part(self.flush, ".ftz"),
            part(self.propagates_nan, ".NaN"),
            part(self.of_magnitudes, ".xorsign.abs")
        )
    }

    fn of(self, format: Format, a: u64, b: u64) -> u64 {
        let sign = 1 << (format.bits() - 1);
        let [mut a, mut b] = [a, b].map(|word| {
            let word = low(word, format.bits());
            if self.flush { format.flush(word) } else { word }
        });
        let signs = (a ^ b) & sign;
        if self.of_magnitudes {
            (a, b) = (a & !sign, b & !sign);
        }
        let nan = format.infinity() | 1;
        let chosen = match (format.is_nan(a), format.is_nan(b)) {
            (true, true) => nan,
            (true, _) | (_, true) if self.propagates_nan => nan,
            (true, _) => b,
            (_, true) => a,
            _ => {
                // Minus zero is less than zero.
                let order = order(&format.read(a), &format.read(b)).expect("numbers");
                let is_less = order.then((b & sign).cmp(&(a & sign))).is_lt();
                if is_less == self.greater { b } else { a }
            }
        };
        if self.of_magnitudes {
            chosen | signs
        } else {
            chosen
        }
    }
}

fn float_choices() -> Vec<Form> {
    let mut forms = Vec::new();
    for (format, flushes, variants) in [
        (F32, true, true),
        (F16, true, true),
        (BF16, false, true),
        (F64, false, false),
    ] {
        for choice in Choice::all(flushes, variants) {
            let wide = Wide::of(format.bits());
            forms.push(Form {
                text: format!("{}.{}", choice.text(), name(format)),
                result: wide,
                sources: vec![wide; 2],
                model: Box::new(move |[a, b, _]| choice.of(format, a, b)),
                same: same(format),
            });
            if format.bits() == 16 {
                forms.push(Form {
                    text: format!("{}.{}x2", choice.text(), name(format)),
                    result: Wide::W32,
                    sources: vec![Wide::W32; 2],
                    model: Box::new(move |[a, b, _]| {
                        choice.of(format, a, b) | choice.of(format, a >> 16, b >> 16) << 16
                    }),
                    same: same_halves(format),
                });
            }
        }
    }
    forms
}

fn integer_choices() -> Vec<Form> {
    let mut forms = Vec::new();
    for (opcode, greater) in [("min", false), ("max", true)] {
        for (ty, of, relu) in [
            ("u16x2", "u16", ""),
            ("s16x2", "s16", ""),
            ("s16x2", "s16", ".relu"),
            ("s32", "s32", ".relu"),
        ] {
            let choose = move |a: u64, b: u64| {
                let [a, b] = [a, b].map(|word| integer(of, word));
                let chosen = if greater { a.max(b) } else { a.min(b) };
                (if relu.is_empty() {
                    chosen
                } else {
                    chosen.max(0)
                }) as u64
            };
            forms.push(exact_form(
                format!("{opcode}{relu}.{ty}"),
                Wide::W32,
                vec![Wide::W32; 2],
                move |[a, b, _]| match of {
                    "s32" => choose(a, b),
                    _ => choose(a, b) & 0xffff | choose(a >> 16, b >> 16) << 16,
                },
            ));
        }
    }
    for ty in ["u16x2", "s16x2"] {
        forms.push(exact_form(
            format!("add.{ty}"),
            Wide::W32,
            vec![Wide::W32; 2],
            |[a, b, _]| {
                a.wrapping_add(b) & 0xffff | ((a >> 16 & 0xffff) + (b >> 16 & 0xffff)) << 16
            },
        ));
    }
    forms
}

#[test]
fn forms_of_order() {
    let groups = [
        (integer_comparisons(), 54 + 18),
        (float_comparisons(), 14 * 12),
        (selections(), 12 + 14),
        (float_choices(), 16 + 32 + 16 + 2),
        (integer_choices(), 10),
    ];
    for (forms, count) in groups {
        assert_eq!(forms.len(), count);
        compare(&forms, sample);
    }
}
