//! Instructions on two halfwords or four bytes of a register, and their forms on whole words.

/// Operations, in the low byte of the code.
pub const ADD: u32 = 0;
pub const SUB: u32 = 1;
pub const AVERAGE: u32 = 2;
pub const DIFFERENCE: u32 = 3;
pub const MIN: u32 = 4;
pub const MAX: u32 = 5;

/// Bits of an element, in the second byte: 8, 16 or 32.
pub const BITS_AT: u32 = 8;
/// The result, and the operands, are signed.
pub const SIGNED: u32 = 1 << 16;
pub const SIGNED_A: u32 = 1 << 17;
pub const SIGNED_B: u32 = 1 << 18;
/// Results stop at the ends of their range.
pub const SATURATE: u32 = 1 << 19;
/// The results are added to the third operand.
pub const ACCUMULATE: u32 = 1 << 20;
/// The result on whole words is the smaller, or the larger, of it and the third operand.
pub const THEN_MIN: u32 = 1 << 21;
pub const THEN_MAX: u32 = 1 << 22;

/// Element `index` of `bits` bits.
fn element(word: u64, index: u32, bits: u32, signed: bool) -> i64 {
    let raised = word << (64 - bits * (index + 1));
    match signed {
        true => raised as i64 >> (64 - bits),
        false => (raised >> (64 - bits)) as i64,
    }
}

fn one(a: i64, b: i64, code: u32) -> i64 {
    match code & 0xff {
        ADD => a + b,
        SUB => a - b,
        // Halves away from zero where the sum is positive.
        AVERAGE if a + b >= 0 => (a + b + 1) >> 1,
        AVERAGE => (a + b) >> 1,
        DIFFERENCE => (a - b).abs(),
        MIN => a.min(b),
        _ => a.max(b),
    }
}

fn saturated(value: i64, bits: u32, code: u32) -> i64 {
    let (lowest, highest) = match code & SIGNED != 0 {
        true => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    };
    match code & SATURATE != 0 {
        true => value.clamp(lowest, highest),
        false => value,
    }
}

/// Computes the operation on every element; `c` is what results are joined with.
pub fn compute(a: u64, b: u64, c: u64, code: u32) -> u64 {
    let bits = code >> BITS_AT & 0xff;
    let result = |index: u32| {
        let a = element(a, index, bits, code & SIGNED_A != 0);
        let b = element(b, index, bits, code & SIGNED_B != 0);
        saturated(one(a, b, code), bits, code)
    };
    if bits == 32 {
        return u64::from(joined(result(0), c as u32, code));
    }
    let results = (0..32 / bits).map(result);
    if code & ACCUMULATE != 0 {
        return u64::from((c as u32).wrapping_add(results.sum::<i64>() as u32));
    }
    let mask = (1u64 << bits) - 1;
    let packed = results.enumerate();
    packed.fold(0, |word, (index, value)| {
        word | (value as u64 & mask) << (bits * index as u32)
    })
}

/// The second operation of the forms on whole words.
fn joined(value: i64, c: u32, code: u32) -> u32 {
    let word = value as u32;
    let pick = |first: bool| if first { word } else { c };
    let less = match code & SIGNED != 0 {
        true => (word as i32) < c as i32,
        false => word < c,
    };
    match code {
        _ if code & ACCUMULATE != 0 => c.wrapping_add(word),
        _ if code & THEN_MIN != 0 => pick(less),
        _ if code & THEN_MAX != 0 => pick(!less),
        _ => word,
    }
}
