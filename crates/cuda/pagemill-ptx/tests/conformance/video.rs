//! Instructions on bytes, halfwords and words at once, by the pseudocode of the PTX manual, element by element.

use super::inputs::Inputs;
use super::rows::{Row, check_rows, row};

type Operation = fn(i64, i64) -> i64;

const OPERATIONS: [(&str, Operation); 6] = [
    ("vadd", |a, b| a + b),
    ("vsub", |a, b| a - b),
    ("vavrg", |a, b| {
        (a + b + i64::from(a + b >= 0)).div_euclid(2)
    }),
    ("vabsdiff", |a, b| if a > b { a - b } else { b - a }),
    ("vmin", |a, b| if a < b { a } else { b }),
    ("vmax", |a, b| if a < b { b } else { a }),
];

/// Signs of the result, of a and of b, in the order of the kernels.
fn signs() -> impl Iterator<Item = [bool; 3]> {
    (0..8).map(|at| [at & 4 != 0, at & 2 != 0, at & 1 != 0])
}

/// The number that `bits` bits stand for.
fn number(value: u64, bits: u32, signed: bool) -> i64 {
    let low = (value & ((1 << bits) - 1)) as i64;
    if signed && low >> (bits - 1) == 1 {
        low - (1 << bits)
    } else {
        low
    }
}

fn stopped(value: i64, bits: u32, signed: bool) -> i64 {
    let (low, high) = match signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    };
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

/// The results for all elements of a and b.
fn results(
    operation: Operation,
    bits: u32,
    [_, a_signed, b_signed]: [bool; 3],
    a: u64,
    b: u64,
) -> Vec<i64> {
    let places = (0..32).step_by(bits as usize);
    places
        .map(|at| {
            operation(
                number(a >> at, bits, a_signed),
                number(b >> at, bits, b_signed),
            )
        })
        .collect()
}

fn packed(values: &[i64], bits: u32) -> u32 {
    let digits = values.iter().rev();
    digits.fold(0u64, |word, value| {
        word << bits | (*value as u64 & ((1 << bits) - 1))
    }) as u32
}

fn check_packed(kernel: &str, bits: u32) {
    let mut rows: Vec<Row> = Vec::new();
    for (name, operation) in OPERATIONS {
        let all = move |signs, a, b| results(operation, bits, signs, a, b);
        rows.extend(signs().map(|signs| row(name, move |a, b, _| packed(&all(signs, a, b), bits))));
        rows.extend(signs().map(|signs| {
            row(name, move |a, b, _| {
                let values = all(signs, a, b).into_iter();
                let values: Vec<i64> = values.map(|value| stopped(value, bits, signs[0])).collect();
                packed(&values, bits)
            })
        }));
        rows.extend(signs().map(|signs| {
            row(name, move |a, b, c| {
                (c as u32).wrapping_add(all(signs, a, b).iter().sum::<i64>() as u32)
            })
        }));
    }
    check_rows("video", kernel, &Inputs::integers(), &rows);
}

#[test]
fn bytes_and_halves() {
    check_packed("bytes", 8);
    check_packed("halves", 16);
}

#[test]
fn words() {
    let mut rows: Vec<Row> = Vec::new();
    for (name, operation) in OPERATIONS.into_iter().filter(|(name, _)| *name != "vavrg") {
        let one = move |signs, a, b| results(operation, 32, signs, a, b)[0];
        let second = |pick: fn(i64, i64) -> i64, name| {
            signs().map(move |signs| {
                row(name, move |a, b, c| {
                    let signed = signs[0];
                    let first = number(one(signs, a, b) as u64, 32, signed);
                    pick(first, number(c, 32, signed)) as u32
                })
            })
        };
        rows.extend(signs().map(|signs| row(name, move |a, b, _| one(signs, a, b) as u32)));
        rows.extend(signs().map(|signs| {
            row(name, move |a, b, _| {
                stopped(one(signs, a, b), 32, signs[0]) as u32
            })
        }));
        rows.extend(second(|first, c| first + c, name));
        rows.extend(second(i64::min, name));
        rows.extend(second(i64::max, name));
        rows.extend(signs().map(|signs| {
            row(name, move |a, b, c| {
                (c as u32).wrapping_add(stopped(one(signs, a, b), 32, signs[0]) as u32)
            })
        }));
    }
    check_rows("video", "words", &Inputs::integers(), &rows);
}
