//! Bits of words: fields, shifts, permutations, truth tables, dot products, and quotients.

use super::run::{Form, Random, Wide, compare, exact_form};

const UNSIGNED: [&str; 2] = ["u32", "u64"];
const SIGNED: [&str; 2] = ["s32", "s64"];

fn bits_of(ty: &str) -> u32 {
    ty[1..].parse().expect("a type ends with its bits")
}

fn low(word: u64, bits: u32) -> u64 {
    word & (u64::MAX >> (64 - bits))
}

/// The lowest `bits` as a signed number.
fn signed(word: u64, bits: u32) -> i64 {
    (word << (64 - bits)) as i64 >> (64 - bits)
}

fn bit(word: u64, at: u64) -> u64 {
    word >> at & 1
}

/// Bit by bit, as the manual describes it.
fn extract(a: u64, position: u64, length: u64, bits: u64, is_signed: bool) -> u64 {
    let fill = match is_signed && length > 0 {
        true => bit(a, (position + length - 1).min(bits - 1)),
        false => 0,
    };
    let taken = |i: u64| i < length && position + i < bits;
    let one = |i: u64| if taken(i) { bit(a, position + i) } else { fill };
    (0..bits).map(|i| one(i) << i).sum()
}

fn insert(a: u64, b: u64, position: u64, length: u64, bits: u64) -> u64 {
    let taken = |i: u64| i >= position && i - position < length;
    let one = |i: u64| {
        if taken(i) {
            bit(a, i - position)
        } else {
            bit(b, i)
        }
    };
    (0..bits).map(|i| one(i) << i).sum()
}

fn field_forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for ty in UNSIGNED.into_iter().chain(SIGNED) {
        let (bits, wide) = (bits_of(ty), Wide::of(bits_of(ty)));
        let is_signed = ty.starts_with('s');
        let sources = vec![wide, Wide::W32, Wide::W32];
        forms.push(exact_form(
            format!("bfe.{ty}"),
            wide,
            sources,
            move |[a, b, c]| extract(low(a, bits), b & 0xff, c & 0xff, bits.into(), is_signed),
        ));
    }
    for bits in [32, 64] {
        let wide = Wide::of(bits);
        let [to, a, b] = [4, 1, 2].map(|number| wide.register(number));
        forms.push(exact_form(
            format!("shr.u32 %r7, %r3, 8; bfi.b{bits} {to}, {a}, {b}, %r3, %r7;"),
            wide,
            vec![wide; 3],
            move |[a, b, c]| insert(a, b, c & 0xff, c >> 8 & 0xff, bits.into()),
        ));
    }
    for mode in ["clamp", "wrap"] {
        let length = move |c: u64| match mode {
            "clamp" => low(c, 32).min(32),
            _ => c & 31,
        };
        forms.push(exact_form(
            format!("bmsk.{mode}.b32"),
            Wide::W32,
            vec![Wide::W32; 2],
            move |[a, b, _]| {
                let (first, count) = (length(a), length(b));
                (0..32)
                    .filter(|i| (first..first + count).contains(i))
                    .map(|i| 1u64 << i)
                    .sum()
            },
        ));
        for ty in ["u32", "s32"] {
            forms.push(exact_form(
                format!("szext.{mode}.{ty}"),
                Wide::W32,
                vec![Wide::W32; 2],
                move |[a, b, _]| match length(b) {
                    0 => 0,
                    count if count >= 32 => a,
                    count if ty == "s32" => signed(a, count as u32) as u64,
                    count => low(a, count as u32),
                },
            ));
        }
    }
    forms
}

fn shift_forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for ty in [
        "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64",
    ] {
        let bits = bits_of(ty);
        let (wide, count) = (Wide::of(bits), move |b: u64| low(b, 32).min(bits.into()));
        let sources = vec![wide, Wide::W32];
        if ty.starts_with('b') {
            forms.push(exact_form(
                format!("shl.{ty}"),
                wide,
                sources.clone(),
                move |[a, b, _]| (u128::from(a) << count(b)) as u64,
            ));
        }
        forms.push(exact_form(
            format!("shr.{ty}"),
            wide,
            sources,
            move |[a, b, _]| match ty.starts_with('s') {
                true => (i128::from(signed(a, bits)) >> count(b)) as u64,
                false => (u128::from(low(a, bits)) >> count(b)) as u64,
            },
        ));
    }
    for (mode, to_left) in [
        ("l.wrap", true),
        ("l.clamp", true),
        ("r.wrap", false),
        ("r.clamp", false),
    ] {
        forms.push(exact_form(
            format!("shf.{mode}.b32"),
            Wide::W32,
            vec![Wide::W32; 3],
            move |[a, b, c]| {
                let count = match mode.ends_with("wrap") {
                    true => c & 31,
                    false => low(c, 32).min(32),
                };
                let both = low(b, 32) << 32 | low(a, 32);
                match to_left {
                    true => (u128::from(both) << count >> 32) as u64,
                    false => (u128::from(both) >> count) as u64,
                }
            },
        ));
    }
    forms
}

/// For each of the four bytes of the result, the byte of `b:a` that it is; of its sign only where bit 3 is set.
fn selectors(mode: &str, c: u64) -> [u64; 4] {
    let n = c & 3;
    std::array::from_fn(|i| {
        let i = i as u64;
        match mode {
            "" => c >> (4 * i) & 15,
            ".f4e" => n + i,
            ".b4e" => (n + 8 - i) % 8,
            ".rc8" => n,
            ".ecl" => n.max(i),
            ".ecr" => n.min(i),
            _ => (n & 1) * 2 + (i & 1),
        }
    })
}

fn permutation_forms() -> Vec<Form> {
    let form = |mode: &'static str| {
        exact_form(
            format!("prmt.b32{mode}"),
            Wide::W32,
            vec![Wide::W32; 3],
            move |[a, b, c]| {
                let both = low(b, 32) << 32 | low(a, 32);
                let byte = |selector: u64| {
                    let byte = both >> (8 * (selector & 7)) & 0xff;
                    match selector & 8 {
                        0 => byte,
                        _ => 0xff * (byte >> 7),
                    }
                };
                let bytes = selectors(mode, c).map(byte);
                (0..4).map(|i| bytes[i] << (8 * i)).sum()
            },
        )
    };
    ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]
        .map(form)
        .into()
}

fn logic_forms() -> Vec<Form> {
    let mut forms = Vec::new();
    type Two = fn(u64, u64) -> u64;
    let two: [(&str, Two); 3] = [
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
    ];
    for bits in [16, 32, 64] {
        let wide = Wide::of(bits);
        for (name, model) in two {
            let text = format!("{name}.b{bits}");
            forms.push(exact_form(text, wide, vec![wide; 2], move |[a, b, _]| {
                model(a, b)
            }));
        }
        forms.push(exact_form(
            format!("not.b{bits}"),
            wide,
            vec![wide],
            |[a, ..]| !a,
        ));
        forms.push(exact_form(
            format!("cnot.b{bits}"),
            wide,
            vec![wide],
            move |[a, ..]| u64::from(low(a, bits) == 0),
        ));
    }
    for table in (0..256_u64).step_by(5) {
        forms.push(exact_form(
            format!("lop3.b32 %r4, %r1, %r2, %r3, {table};"),
            Wide::W32,
            vec![Wide::W32; 3],
            move |[a, b, c]| {
                (0..32)
                    .map(|i| bit(table, bit(a, i) * 4 + bit(b, i) * 2 + bit(c, i)) << i)
                    .sum()
            },
        ));
    }
    forms
}

/// Part number `at` of a word, as a number of type `ty` but `bits` wide.
fn part(word: u64, at: u32, bits: u32, ty: &str) -> i64 {
    let part = low(word >> (at * bits), bits);
    match ty {
        "s32" => signed(part, bits),
        _ => part as i64,
    }
}

fn product_forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for one in ["u32", "s32"] {
        for other in ["u32", "s32"] {
            forms.push(exact_form(
                format!("dp4a.{one}.{other}"),
                Wide::W32,
                vec![Wide::W32; 3],
                move |[a, b, c]| {
                    let products = (0..4).map(|i| part(a, i, 8, one) * part(b, i, 8, other));
                    c.wrapping_add(products.sum::<i64>() as u64)
                },
            ));
            for (half, first) in [("lo", 0), ("hi", 2)] {
                forms.push(exact_form(
                    format!("dp2a.{half}.{one}.{other}"),
                    Wide::W32,
                    vec![Wide::W32; 3],
                    move |[a, b, c]| {
                        let products =
                            (0..2).map(|i| part(a, i, 16, one) * part(b, first + i, 8, other));
                        c.wrapping_add(products.sum::<i64>() as u64)
                    },
                ));
            }
        }
        for (half, shift) in [("lo", 0), ("hi", 16)] {
            let product = move |a, b| (part(a, 0, 24, one) * part(b, 0, 24, one)) >> shift;
            forms.push(exact_form(
                format!("mul24.{half}.{one}"),
                Wide::W32,
                vec![Wide::W32; 2],
                move |[a, b, _]| product(a, b) as u64,
            ));
            forms.push(exact_form(
                format!("mad24.{half}.{one}"),
                Wide::W32,
                vec![Wide::W32; 3],
                move |[a, b, c]| c.wrapping_add(product(a, b) as u64),
            ));
        }
    }
    forms
}

/// The divisor is odd, and so not zero; the quotient that no number holds is the least number.
fn quotient_forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for ty in ["u16", "u32", "u64", "s16", "s32", "s64"] {
        let bits = bits_of(ty);
        let wide = Wide::of(bits);
        let [to, a, b, c] = [4, 1, 2, 3].map(|number| wide.register(number));
        let value = move |word: u64| match ty.starts_with('s') {
            true => i128::from(signed(word, bits)),
            false => i128::from(low(word, bits)),
        };
        for (opcode, is_quotient) in [("div", true), ("rem", false)] {
            forms.push(exact_form(
                format!("or.b{bits} {b}, {b}, 1; {opcode}.{ty} {to}, {a}, {b};"),
                wide,
                vec![wide; 2],
                move |[a, b, _]| match is_quotient {
                    true => (value(a) / value(b | 1)) as u64,
                    false => (value(a) % value(b | 1)) as u64,
                },
            ));
        }
        forms.push(exact_form(
            format!("sad.{ty} {to}, {a}, {b}, {c};"),
            wide,
            vec![wide; 3],
            move |[a, b, c]| (value(c) + (value(a) - value(b)).abs()) as u64,
        ));
    }
    forms
}

/// Small counts and positions often.
fn sample(random: &mut Random) -> u64 {
    let (choice, bits) = (random.next(), random.next());
    match choice % 4 {
        0 => bits % 80,
        1 => bits & 0x3f3f,
        2 => bits >> (choice >> 8 & 63),
        _ => bits,
    }
}

#[test]
fn forms_of_bits() {
    let groups = [
        (field_forms(), 12),
        (shift_forms(), 16),
        (permutation_forms(), 7),
        (logic_forms(), 15 + 52),
        (product_forms(), 20),
        (quotient_forms(), 18),
    ];
    for (forms, count) in groups {
        assert_eq!(forms.len(), count);
        compare(&forms, sample);
    }
}
