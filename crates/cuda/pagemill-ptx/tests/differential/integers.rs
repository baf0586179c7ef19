//! Integer arithmetic by numbers of 128 bits: every type and half of the result.

use super::run::{Form, Random, Wide, compare};

/// A type: name, bits, and whether it is signed.
type Integer = (&'static str, u32, bool);

const INTEGERS: [Integer; 6] = [
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

fn value((_, bits, signed): Integer, word: u64) -> i128 {
    let unused = 64 - bits;
    match signed {
        true => i128::from((word << unused) as i64 >> unused),
        false => i128::from(word << unused >> unused),
    }
}

/// `result` gets the operands as numbers; what it gives is cut to the type `to`.
fn form(
    text: String,
    from: Integer,
    to: u32,
    count: usize,
    result: impl Fn([i128; 3]) -> i128 + 'static,
) -> Form {
    Form {
        text,
        result: Wide::of(to),
        sources: vec![Wide::of(from.1); count],
        model: Box::new(move |words| result(words.map(|word| value(from, word))) as u64),
        same: |a, b| a == b,
    }
}

/// The upper half of a product of `bits` bits. Products of unsigned 64-bit numbers need all 128.
fn high(a: i128, b: i128, bits: u32) -> i128 {
    let product = a.wrapping_mul(b);
    match bits {
        64 if a >= 0 && b >= 0 => (product as u128 >> 64) as i128,
        _ => product >> bits,
    }
}

fn forms_of(ty: Integer) -> Vec<Form> {
    let (name, bits, signed) = ty;
    let mut forms = vec![
        form(format!("add.{name}"), ty, bits, 2, |[a, b, _]| a + b),
        form(format!("sub.{name}"), ty, bits, 2, |[a, b, _]| a - b),
        form(format!("mul.lo.{name}"), ty, bits, 2, |[a, b, _]| {
            a.wrapping_mul(b)
        }),
        form(format!("mul.hi.{name}"), ty, bits, 2, move |[a, b, _]| {
            high(a, b, bits)
        }),
        form(format!("mad.lo.{name}"), ty, bits, 3, |[a, b, c]| {
            a.wrapping_mul(b).wrapping_add(c)
        }),
        form(format!("mad.hi.{name}"), ty, bits, 3, move |[a, b, c]| {
            high(a, b, bits) + c
        }),
        form(format!("min.{name}"), ty, bits, 2, |[a, b, _]| a.min(b)),
        form(format!("max.{name}"), ty, bits, 2, |[a, b, _]| a.max(b)),
    ];
    if bits < 64 {
        let twice = 2 * bits;
        forms.push(form(
            format!("mul.wide.{name}"),
            ty,
            twice,
            2,
            |[a, b, _]| a * b,
        ));
    }
    if signed {
        forms.push(form(format!("neg.{name}"), ty, bits, 1, |[a, _, _]| -a));
        forms.push(form(format!("abs.{name}"), ty, bits, 1, |[a, _, _]| {
            a.abs()
        }));
    }
    if bits >= 32 {
        forms.append(&mut bit_forms(ty));
    }
    forms
}

fn bit_forms(ty: Integer) -> Vec<Form> {
    let (name, bits, _) = ty;
    let mut forms = Vec::new();
    let (first, reversed) = (format!("bfind.{name}"), ("", bits, false));
    forms.push(Form {
        text: first,
        result: Wide::W32,
        sources: vec![Wide::of(bits)],
        model: Box::new(move |[a, ..]| {
            let number = value(ty, a);
            let magnitude = if number < 0 { !number } else { number };
            u64::from(127u32.wrapping_sub(magnitude.leading_zeros()))
        }),
        same: |a, b| a == b,
    });
    forms.push(form(
        format!("popc.b{bits}"),
        reversed,
        32,
        1,
        |[a, _, _]| a.count_ones().into(),
    ));
    forms.push(form(
        format!("clz.b{bits}"),
        reversed,
        32,
        1,
        move |[a, _, _]| i128::from(a.leading_zeros()) - (128 - i128::from(bits)),
    ));
    forms.push(form(
        format!("brev.b{bits}"),
        reversed,
        bits,
        1,
        move |[a, _, _]| (a as u128).reverse_bits() as i128 >> (128 - bits),
    ));
    forms
}

fn saturating() -> Vec<Form> {
    let ty = ("s32", 32, true);
    let clamp = |value: i128| value.clamp(i32::MIN.into(), i32::MAX.into());
    vec![
        form("add.sat.s32".into(), ty, 32, 2, move |[a, b, _]| {
            clamp(a + b)
        }),
        form("sub.sat.s32".into(), ty, 32, 2, move |[a, b, _]| {
            clamp(a - b)
        }),
        form("mad.hi.sat.s32".into(), ty, 32, 3, move |[a, b, c]| {
            clamp(((a * b) >> 32) + c)
        }),
        form("sad.s32".into(), ty, 32, 3, |[a, b, c]| c + (a - b).abs()),
        form("sad.u32".into(), ("u32", 32, false), 32, 3, |[a, b, c]| {
            c + (a - b).abs()
        }),
    ]
}

fn sample(random: &mut Random) -> u64 {
    let (choice, bits) = (random.next(), random.next());
    match choice % 4 {
        0 => bits >> (choice >> 8 & 63),
        1 => !(bits >> (choice >> 8 & 63)),
        2 => 1u64
            .rotate_left(choice as u32 >> 8 & 63)
            .wrapping_add(bits % 3)
            .wrapping_sub(1),
        _ => bits,
    }
}

#[test]
fn integer_forms() {
    let mut forms: Vec<Form> = INTEGERS.into_iter().flat_map(forms_of).collect();
    forms.append(&mut saturating());
    assert_eq!(forms.len(), 79);
    compare(&forms, sample);
}
