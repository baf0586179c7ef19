//! Extended precision: what carries and borrows do to the word above.

use super::run::{Form, Random, Wide, compare, exact_form};

/// A sum or difference of words and a carry, and the carry that it makes.
fn step(adds: bool, a: u64, b: u64, carry: u64, bits: u32) -> (u64, u64) {
    let [a, b] = [a, b].map(|word| u128::from(word & mask(bits)));
    let carry = u128::from(carry);
    let (all, limit) = if adds {
        (a + b + carry, 1_u128 << bits)
    } else {
        (a.wrapping_sub(b).wrapping_sub(carry), 1_u128 << bits)
    };
    let carried = match adds {
        true => all >= limit,
        false => a < b + carry,
    };
    ((all % limit) as u64, u64::from(carried))
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The lower or upper half of a product.
fn half(a: u64, b: u64, ty: &str, bits: u32, upper: bool) -> u64 {
    let value = |word: u64| match ty.starts_with('s') {
        true => i128::from((word << (64 - bits)) as i64 >> (64 - bits)),
        false => i128::from(word & mask(bits)),
    };
    let product = value(a).wrapping_mul(value(b)) as u128;
    (if upper { product >> bits } else { product }) as u64 & mask(bits)
}

fn forms_of(ty: &'static str) -> Vec<Form> {
    let bits: u32 = ty[1..].parse().expect("bits");
    let wide = Wide::of(bits);
    let [a, b, c, to, temporary] = [1, 2, 3, 4, 7].map(|number| wide.register(number));
    let mut forms = Vec::new();
    for (opcode, adds) in [("add", true), ("sub", false)] {
        // Two words, and three.
        forms.push(exact_form(
            format!("{opcode}.cc.{ty} {temporary}, {a}, {b}; {opcode}c.{ty} {to}, {b}, {c};"),
            wide,
            vec![wide; 3],
            move |[a, b, c]| step(adds, b, c, step(adds, a, b, 0, bits).1, bits).0,
        ));
        forms.push(exact_form(
            format!(
                "{opcode}.cc.{ty} {temporary}, {a}, {b}; {opcode}c.cc.{ty} {temporary}, {b}, {c}; {opcode}c.{ty} {to}, {c}, {a};"
            ),
            wide,
            vec![wide; 3],
            move |[a, b, c]| {
                let first = step(adds, a, b, 0, bits).1;
                let second = step(adds, b, c, first, bits).1;
                step(adds, c, a, second, bits).0
            },
        ));
    }
    for (part, upper) in [("lo", false), ("hi", true)] {
        let product = move |a, b| half(a, b, ty, bits, upper);
        let start = format!("add.cc.{ty} {temporary}, {a}, {c};");
        forms.push(exact_form(
            format!(
                "mad.{part}.cc.{ty} {temporary}, {a}, {b}, {c}; addc.{ty} {to}, {temporary}, 0;"
            ),
            wide,
            vec![wide; 3],
            move |[a, b, c]| {
                let (sum, carry) = step(true, product(a, b), c, 0, bits);
                step(true, sum, 0, carry, bits).0
            },
        ));
        forms.push(exact_form(
            format!("{start} madc.{part}.{ty} {to}, {a}, {b}, {c};"),
            wide,
            vec![wide; 3],
            move |[a, b, c]| {
                let carry = step(true, a, c, 0, bits).1;
                step(true, product(a, b), c, carry, bits).0
            },
        ));
        forms.push(exact_form(
            format!(
                "{start} madc.{part}.cc.{ty} {temporary}, {a}, {b}, {c}; addc.{ty} {to}, {temporary}, {a};"
            ),
            wide,
            vec![wide; 3],
            move |[a, b, c]| {
                let first = step(true, a, c, 0, bits).1;
                let (sum, second) = step(true, product(a, b), c, first, bits);
                step(true, sum, a, second, bits).0
            },
        ));
    }
    forms
}

/// Words of ones and zeros often: where carries run far.
fn sample(random: &mut Random) -> u64 {
    let (choice, bits) = (random.next(), random.next());
    match choice % 5 {
        0 => u64::MAX,
        1 => bits % 3,
        2 => !(bits % 3),
        3 => bits | 0xffff_fff0_ffff_fff0,
        _ => bits,
    }
}

#[test]
fn forms_of_extended_precision() {
    let forms: Vec<Form> = ["u32", "s32", "u64", "s64"]
        .into_iter()
        .flat_map(forms_of)
        .collect();
    assert_eq!(forms.len(), 40);
    compare(&forms, sample);
}
