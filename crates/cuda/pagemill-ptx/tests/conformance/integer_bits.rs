//! Bits, fields, logic, shifts, permutations and packed dot products.

use super::inputs::{Inputs, Random};
use super::rows::{Row, check_rows, row};

/// Position of the highest bit that is not the sign, or all ones; from the top when `shift_amount`.
fn find(value: u64, bits: u32, signed: bool, shift_amount: bool) -> u32 {
    let sign = signed && value >> (bits - 1) & 1 == 1;
    let looked_at = if sign { !value } else { value };
    let position = (0..bits).rev().find(|&bit| looked_at >> bit & 1 == 1);
    position.map_or(u32::MAX, |position| {
        if shift_amount {
            bits - 1 - position
        } else {
            position
        }
    })
}

#[test]
fn counting_and_finding() {
    let mut rows: Vec<Row> = vec![
        row("popc.b32", |a, _, _| (a as u32).count_ones()),
        row("popc.b64", |a, _, _| a.count_ones()),
        row("clz.b32", |a, _, _| (a as u32).leading_zeros()),
        row("clz.b64", |a, _, _| a.leading_zeros()),
    ];
    for (name, shift_amount) in [("bfind", false), ("bfind.shiftamt", true)] {
        rows.push(row(name, move |a, _, _| {
            find(a & 0xFFFF_FFFF, 32, false, shift_amount)
        }));
        rows.push(row(name, move |a, _, _| {
            find(a & 0xFFFF_FFFF, 32, true, shift_amount)
        }));
        rows.push(row(name, move |a, _, _| find(a, 64, false, shift_amount)));
        rows.push(row(name, move |a, _, _| find(a, 64, true, shift_amount)));
    }
    rows.push(row("brev.b32", |a, _, _| (a as u32).reverse_bits()));
    rows.push(row("brev.b64", |a, _, _| a.reverse_bits()));
    check_rows("int_bits", "bits", &Inputs::integers(), &rows);
}

/// Bit by bit, as the manual words it.
fn extract(value: u64, bits: u32, signed: bool, position: u64, length: u64) -> u64 {
    let (position, length) = (position as u32 & 0xFF, length as u32 & 0xFF);
    let top = bits - 1;
    let sign_from = (position + length).saturating_sub(1).min(top);
    let sign = signed && length > 0 && value >> sign_from & 1 == 1;
    (0..bits).fold(0, |result, bit| {
        let inside = bit < length && position + bit <= top;
        let set = if inside {
            value >> (position + bit) & 1 == 1
        } else {
            sign
        };
        result | u64::from(set) << bit
    })
}

fn insert(field: u64, into: u64, bits: u32, position: u64, length: u64) -> u64 {
    let (position, length) = (position as u32 & 0xFF, length as u32 & 0xFF);
    (0..length)
        .take_while(|bit| position + bit < bits)
        .fold(into, |result, bit| {
            result & !(1 << (position + bit)) | (field >> bit & 1) << (position + bit)
        })
}

/// Sign- or zero-extends the low `bits` of a 32-bit value.
fn extend(value: u32, bits: u32, signed: bool) -> u32 {
    match (bits, signed) {
        (32.., _) => value,
        (0, _) => 0,
        (_, true) => ((value << (32 - bits)) as i32 >> (32 - bits)) as u32,
        (_, false) => value & ((1 << bits) - 1),
    }
}

fn mask(start: u32, length: u32, wrap: bool) -> u32 {
    let (start, length) = if wrap {
        (start & 31, length & 31)
    } else {
        (start.min(32), length.min(32))
    };
    (0..32)
        .filter(|&bit| bit >= start && bit < start + length)
        .fold(0, |mask, bit| mask | 1 << bit)
}

#[test]
fn fields() {
    let at = |b: u64| b % 300;
    let word = |a: u64| a & 0xFFFF_FFFF;
    let rows = [
        row("bfe.u32", move |a, b, c| {
            extract(word(a), 32, false, at(b), at(c)) as u32
        }),
        row("bfe.s32", move |a, b, c| {
            extract(word(a), 32, true, at(b), at(c)) as u32
        }),
        row("bfe.u64", move |a, b, c| {
            extract(a, 64, false, at(b), at(c))
        }),
        row("bfe.s64", move |a, b, c| extract(a, 64, true, at(b), at(c))),
        row("bfi.b32", move |a, b, c| {
            insert(word(a), a >> 32, 32, at(b), at(c)) as u32
        }),
        row("bfi.b64", move |a, b, c| {
            insert(a, (!a).wrapping_mul(3), 64, at(b), at(c))
        }),
        row("szext.wrap.u32", move |a, b, _| {
            extend(a as u32, at(b) as u32 & 31, false)
        }),
        row("szext.wrap.s32", move |a, b, _| {
            extend(a as u32, at(b) as u32 & 31, true)
        }),
        row("szext.clamp.u32", move |a, b, _| {
            extend(a as u32, at(b) as u32, false)
        }),
        row("szext.clamp.s32", move |a, b, _| {
            extend(a as u32, at(b) as u32, true)
        }),
        row("bmsk.wrap.b32", move |_, b, c| {
            mask(at(b) as u32, at(c) as u32, true)
        }),
        row("bmsk.clamp.b32", move |_, b, c| {
            mask(at(b) as u32, at(c) as u32, false)
        }),
    ];
    let inputs = Inputs::new(
        &[0, 1, 5, 31, 32, 33, 63, 64, 255, 256, 260, u64::MAX],
        Random::next,
    );
    check_rows("int_bits", "fields", &inputs, &rows);
}

#[test]
fn nth_set_bit() {
    let rows = [row("fns.b32", |a, b, c| {
        let (mask, base, offset) = (a as u32, (b % 32) as i32, (c % 65) as i32 - 32);
        let set = |bit: &i32| mask >> bit & 1 == 1;
        let found = match offset {
            0 => Some(base).filter(set),
            1.. => (base..32).filter(set).nth(offset as usize - 1),
            _ => (0..=base).rev().filter(set).nth(-offset as usize - 1),
        };
        found.map_or(u32::MAX, |bit| bit as u32)
    })];
    check_rows("int_bits", "find_nth", &Inputs::integers(), &rows);
}

#[test]
fn logic() {
    let rows = [
        row("and.b16", |a, b, _| (a & b) as u16),
        row("and.b32", |a, b, _| (a & b) as u32),
        row("and.b64", |a, b, _| a & b),
        row("or.b16", |a, b, _| (a | b) as u16),
        row("or.b32", |a, b, _| (a | b) as u32),
        row("or.b64", |a, b, _| a | b),
        row("xor.b16", |a, b, _| (a ^ b) as u16),
        row("xor.b32", |a, b, _| (a ^ b) as u32),
        row("xor.b64", |a, b, _| a ^ b),
        row("not.b16", |a, _, _| !a as u16),
        row("not.b32", |a, _, _| !a as u32),
        row("not.b64", |a, _, _| !a),
        row("cnot.b16", |a, _, _| u16::from(a as u16 == 0)),
        row("cnot.b32", |a, _, _| u32::from(a as u32 == 0)),
        row("cnot.b64", |a, _, _| u64::from(a == 0)),
    ];
    check_rows("int_logic", "logic", &Inputs::integers(), &rows);
}

/// The truth table `number` applied to each bit of three words.
fn lookup(a: u64, b: u64, c: u64, number: u32) -> u32 {
    (0..32).fold(0, |result, bit| {
        let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1;
        result | (number >> index & 1) << bit
    })
}

#[test]
fn truth_tables() {
    const TABLES: [u32; 11] = [
        0x00, 0x01, 0x16, 0x1B, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0xFE, 0xFF,
    ];
    let rows = TABLES.map(|number| row("lop3.b32", move |a, b, c| lookup(a, b, c, number)));
    check_rows("int_logic", "tables", &Inputs::integers(), &rows);
}

#[test]
fn predicates() {
    let p = |a: u64| a & 1 == 1;
    let rows = [
        row("and.pred", move |a, b, _| p(a) & p(b)),
        row("or.pred", move |a, b, _| p(a) | p(b)),
        row("xor.pred", move |a, b, _| p(a) ^ p(b)),
        row("not.pred", move |a, _, _| !p(a)),
        row("mov.pred", move |_, b, _| p(b)),
        row("and.pred with !", move |a, b, _| p(a) & !p(b)),
        row("lop3.and.b32", move |a, b, c| {
            (lookup(a, b, c, 0x96) != 0) & p(a)
        }),
        row("lop3.or.b32", move |a, b, c| {
            (lookup(a, b, c, 0x80) != 0) | p(b)
        }),
    ];
    check_rows("int_logic", "predicates", &Inputs::integers(), &rows);
}

/// Rows of shifts: amounts at or past the width shift everything out.
macro_rules! shifts {
    ($($name:literal $ty:ident $method:ident $beyond:expr;)*) => {
        [$(row($name, |a, b, _| {
            let (value, amount) = (a as $ty, (b % 80) as u32);
            value.$method(amount).unwrap_or($beyond(value))
        })),*]
    };
}

#[test]
fn shifts() {
    let rows: [Row; 12] = shifts! {
        "shl.b16" u16 checked_shl |_| 0;
        "shl.b32" u32 checked_shl |_| 0;
        "shl.b64" u64 checked_shl |_| 0;
        "shr.u16" u16 checked_shr |_| 0;
        "shr.s16" i16 checked_shr |value| if value < 0 { -1 } else { 0 };
        "shr.b16" u16 checked_shr |_| 0;
        "shr.u32" u32 checked_shr |_| 0;
        "shr.s32" i32 checked_shr |value| if value < 0 { -1 } else { 0 };
        "shr.b32" u32 checked_shr |_| 0;
        "shr.u64" u64 checked_shr |_| 0;
        "shr.s64" i64 checked_shr |value| if value < 0 { -1 } else { 0 };
        "shr.b64" u64 checked_shr |_| 0;
    };
    check_rows("int_shift", "shifts", &Inputs::integers(), &rows);
}

#[test]
fn funnel_shifts() {
    let pair = |a: u64, b: u64| (b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF;
    let left = move |a, b, n: u64| (u128::from(pair(a, b)) << n >> 32) as u32;
    let right = move |a, b, n: u64| (pair(a, b) >> n) as u32;
    let rows = [
        row("shf.l.wrap", move |a, b, c| left(a, b, (c % 80) & 31)),
        row("shf.l.clamp", move |a, b, c| left(a, b, (c % 80).min(32))),
        row("shf.r.wrap", move |a, b, c| right(a, b, (c % 80) & 31)),
        row("shf.r.clamp", move |a, b, c| right(a, b, (c % 80).min(32))),
    ];
    check_rows("int_shift", "funnels", &Inputs::integers(), &rows);
}

/// Four byte selectors, most significant first, for each value of c's low two bits.
fn select_by_mode(a: u64, b: u64, selectors: [[u32; 4]; 4], mode: u64) -> u32 {
    let bytes = a & 0xFFFF_FFFF | b << 32;
    selectors[mode as usize & 3]
        .iter()
        .fold(0, |word, selector| {
            word << 8 | (bytes >> (8 * selector) & 0xFF) as u32
        })
}

#[test]
fn byte_permutation() {
    let default = |a: u64, b: u64, c: u64| {
        let bytes = a & 0xFFFF_FFFF | b << 32;
        (0..4).fold(0, |word, place| {
            let selector = c >> (4 * place) & 0xF;
            let byte = (bytes >> (8 * (selector & 7))) as u8;
            let byte = if selector & 8 != 0 {
                (byte as i8 >> 7) as u8
            } else {
                byte
            };
            word | u32::from(byte) << (8 * place)
        })
    };
    const F4E: [[u32; 4]; 4] = [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]];
    const B4E: [[u32; 4]; 4] = [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]];
    const RC8: [[u32; 4]; 4] = [[0; 4], [1; 4], [2; 4], [3; 4]];
    const ECL: [[u32; 4]; 4] = [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]];
    const ECR: [[u32; 4]; 4] = [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]];
    const RC16: [[u32; 4]; 4] = [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]];
    let rows = [
        row("prmt.b32", default),
        row("prmt.b32.f4e", |a, b, c| select_by_mode(a, b, F4E, c)),
        row("prmt.b32.b4e", |a, b, c| select_by_mode(a, b, B4E, c)),
        row("prmt.b32.rc8", |a, b, c| select_by_mode(a, b, RC8, c)),
        row("prmt.b32.ecl", |a, b, c| select_by_mode(a, b, ECL, c)),
        row("prmt.b32.ecr", |a, b, c| select_by_mode(a, b, ECR, c)),
        row("prmt.b32.rc16", |a, b, c| select_by_mode(a, b, RC16, c)),
    ];
    check_rows("int_permute", "permute", &Inputs::integers(), &rows);
}

/// Byte `index` of a word, as signed or unsigned number.
fn byte(word: u64, index: u32, signed: bool) -> i64 {
    let byte = (word >> (8 * index)) as u8;
    if signed {
        i64::from(byte as i8)
    } else {
        i64::from(byte)
    }
}

fn half_word(word: u64, index: u32, signed: bool) -> i64 {
    let half = (word >> (16 * index)) as u16;
    if signed {
        i64::from(half as i16)
    } else {
        i64::from(half)
    }
}

#[test]
fn dot_products() {
    let mut rows: Vec<Row> = Vec::new();
    let signs = [(false, false), (false, true), (true, false), (true, true)];
    for (sign_a, sign_b) in signs {
        rows.push(row("dp4a", move |a, b, c| {
            let products = (0..4).map(|i| byte(a, i, sign_a) * byte(b, i, sign_b));
            (c as u32).wrapping_add(products.sum::<i64>() as u32)
        }));
    }
    for (name, first) in [("dp2a.lo", 0), ("dp2a.hi", 2)] {
        for (sign_a, sign_b) in signs {
            rows.push(row(name, move |a, b, c| {
                let products = (0..2).map(|i| half_word(a, i, sign_a) * byte(b, first + i, sign_b));
                (c as u32).wrapping_add(products.sum::<i64>() as u32)
            }));
        }
    }
    check_rows("int_permute", "dot", &Inputs::integers(), &rows);
}
