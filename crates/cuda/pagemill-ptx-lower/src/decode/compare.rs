//! Comparisons and selections.

use super::context::Decoder;
use super::half;
use super::int::Int;
use super::integer::extended;
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Class, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Type};
use pagemill_ptx_ir::op::Op;

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];

/// A comparison and how its result joins another predicate.
struct Test {
    comparison: &'static str,
    combine: Option<&'static str>,
    ftz: bool,
}

impl Test {
    fn take(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<Self, Fail> {
        let comparison = modifiers
            .take_one(&COMPARISONS)
            .ok_or_else(|| decoder.bad_form())?;
        let combine = modifiers.take_one(&["and", "or", "xor"]);
        Ok(Self {
            comparison,
            combine,
            ftz: modifiers.take("ftz"),
        })
    }
}

pub(super) fn setp(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let test = Test::take(decoder, modifiers)?;
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if matches!(ty, Type::F16x2 | Type::Bf16x2) {
        return pair(decoder, &test, ty);
    }
    let truth = decoder.temporary(Class::Predicate);
    compare(decoder, &test, ty, truth)?;
    let (yes, no) = match decoder.operand(0)? {
        Operand::Pair(yes, no) => (&**yes, Some(&**no)),
        yes => (yes, None),
    };
    let yes = decoder.destination_of(yes, Type::Pred)?;
    let no = no
        .map(|no| decoder.destination_of(no, Type::Pred))
        .transpose()?;
    combine(decoder, &test, truth, yes, no)
}

/// `yes = truth op c` and `no = !truth op c`.
fn combine(
    decoder: &mut Decoder<'_>,
    test: &Test,
    truth: VReg,
    yes: VReg,
    no: Option<VReg>,
) -> Result<(), Fail> {
    let (table, other) = match test.combine {
        // Bit a + 2 b of a table is the result: 1000 is and, 1110 or, 0110 exclusive or.
        None => (0b1000, (truth, false)),
        Some(name) => {
            let table = match name {
                "and" => 0b1000,
                "or" => 0b1110,
                _ => 0b0110,
            };
            (table, decoder.predicate(3)?)
        }
    };
    let other = match no {
        // The other predicate may be overwritten by the first result.
        Some(_) if test.combine.is_some() => {
            let copy = decoder.temporary(Class::Predicate);
            decoder.logic(copy, other, other, 0b1000);
            (copy, false)
        }
        _ => other,
    };
    decoder.logic(yes, (truth, false), other, table);
    if let Some(no) = no {
        let other = if test.combine.is_none() {
            (truth, true)
        } else {
            other
        };
        decoder.logic(no, (truth, true), other, table);
    }
    Ok(())
}

/// `truth = a comparison b` on operands 1 and 2.
fn compare(decoder: &mut Decoder<'_>, test: &Test, ty: Type, truth: VReg) -> Result<(), Fail> {
    match ty {
        Type::F32 | Type::F64 => {
            let (a, b) = (decoder.source(1, ty)?, decoder.source(2, ty)?);
            let (a, b) = if test.ftz && ty == Type::F32 {
                (
                    decoder.fresh(Op::FlushF32, Class::Narrow, &[a]),
                    decoder.fresh(Op::FlushF32, Class::Narrow, &[b]),
                )
            } else {
                (a, b)
            };
            compare_floats(decoder, test.comparison, ty == Type::F64, a, b, truth)
        }
        Type::F16 | Type::Bf16 => {
            let (a, b) = (decoder.source(1, ty)?, decoder.source(2, ty)?);
            let (a, b) = (
                half::widen(decoder, ty, a, test.ftz),
                half::widen(decoder, ty, b, test.ftz),
            );
            compare_floats(decoder, test.comparison, false, a, b, truth)
        }
        _ => {
            let int = Int::of(ty).ok_or_else(|| decoder.bad_form())?;
            compare_integers(decoder, test.comparison, int, truth)
        }
    }
}

fn compare_integers(
    decoder: &mut Decoder<'_>,
    comparison: &str,
    int: Int,
    truth: VReg,
) -> Result<(), Fail> {
    let (a, b) = (extended(decoder, 1, int)?, extended(decoder, 2, int)?);
    let wide = int.bytes == 8;
    let (less, less_equal) = match (
        wide,
        // These four compare without signs, whatever the type says.
        int.signed && !matches!(comparison, "lo" | "ls" | "hi" | "hs"),
    ) {
        (false, true) => (Op::LessS32, Op::LessEqualS32),
        (false, false) => (Op::LessU32, Op::LessEqualU32),
        (true, true) => (Op::LessS64, Op::LessEqualS64),
        (true, false) => (Op::LessU64, Op::LessEqualU64),
    };
    let (op, a, b) = match comparison {
        "eq" => (if wide { Op::Equal64 } else { Op::Equal32 }, a, b),
        "ne" => (if wide { Op::NotEqual64 } else { Op::NotEqual32 }, a, b),
        "lt" | "lo" => (less, a, b),
        "le" | "ls" => (less_equal, a, b),
        "gt" | "hi" => (less, b, a),
        "ge" | "hs" => (less_equal, b, a),
        _ => return Err(decoder.bad_form()),
    };
    decoder.op(op, truth, &[a, b]);
    Ok(())
}

/// The unordered comparisons are the negations of ordered ones.
fn compare_floats(
    decoder: &mut Decoder<'_>,
    comparison: &str,
    wide: bool,
    a: Value,
    b: Value,
    truth: VReg,
) -> Result<(), Fail> {
    let pick = |narrow, double| if wide { double } else { narrow };
    let equal = pick(Op::EqualF32, Op::EqualF64);
    let less = pick(Op::LessF32, Op::LessF64);
    let less_equal = pick(Op::LessEqualF32, Op::LessEqualF64);
    let unordered = pick(Op::UnorderedF32, Op::UnorderedF64);
    let (op, a, b, negated) = match comparison {
        "eq" => (equal, a, b, false),
        "neu" => (equal, a, b, true),
        "lt" => (less, a, b, false),
        "geu" => (less, a, b, true),
        "gt" => (less, b, a, false),
        "leu" => (less, b, a, true),
        "le" => (less_equal, a, b, false),
        "gtu" => (less_equal, a, b, true),
        "ge" => (less_equal, b, a, false),
        "ltu" => (less_equal, b, a, true),
        "nan" => (unordered, a, b, false),
        "num" => (unordered, a, b, true),
        // Unequal and ordered, or equal or unordered: no comparison of the machine, nor its negation, is one of these.
        "ne" | "equ" => {
            let is_equal = decoder.temporary(Class::Predicate);
            let is_unordered = decoder.temporary(Class::Predicate);
            decoder.op(equal, is_equal, &[a, b]);
            decoder.op(unordered, is_unordered, &[a, b]);
            let table = if comparison == "ne" { 0b0001 } else { 0b1110 };
            decoder.logic(truth, (is_equal, false), (is_unordered, false), table);
            return Ok(());
        }
        _ => return Err(decoder.bad_form()),
    };
    decoder.op(op, truth, &[a, b]);
    if negated {
        decoder.logic(truth, (truth, false), (truth, false), 0b0001);
    }
    Ok(())
}

/// Both halves compared, each with its own destination.
fn pair(decoder: &mut Decoder<'_>, test: &Test, ty: Type) -> Result<(), Fail> {
    let Operand::Pair(low, high) = decoder.operand(0)? else {
        return Err(decoder.bad_form());
    };
    let truths = compare_pair(decoder, test, ty)?;
    let dsts = [
        decoder.destination_of(low, Type::Pred)?,
        decoder.destination_of(high, Type::Pred)?,
    ];
    for (dst, truth) in dsts.into_iter().zip(truths) {
        decoder.logic(dst, (truth, false), (truth, false), 0b1000);
    }
    Ok(())
}

/// The truth of the comparison in the low and in the high half, joined with the other predicate if there is one.
fn compare_pair(decoder: &mut Decoder<'_>, test: &Test, ty: Type) -> Result<[VReg; 2], Fail> {
    let (a, b) = (decoder.source(1, ty)?, decoder.source(2, ty)?);
    let mut truths = [
        decoder.temporary(Class::Predicate),
        decoder.temporary(Class::Predicate),
    ];
    for (truth, shift) in truths.iter_mut().zip([0, 16]) {
        let (a, b) = (
            half_of(decoder, ty, a, shift, test.ftz)?,
            half_of(decoder, ty, b, shift, test.ftz)?,
        );
        compare_floats(decoder, test.comparison, false, a, b, *truth)?;
        let joined = decoder.temporary(Class::Predicate);
        combine(decoder, test, *truth, joined, None)?;
        *truth = joined;
    }
    Ok(truths)
}

/// One half of a pair as single precision.
fn half_of(
    decoder: &mut Decoder<'_>,
    ty: Type,
    pair: Value,
    shift: u64,
    ftz: bool,
) -> Result<Value, Fail> {
    let element = if ty == Type::F16x2 {
        Type::F16
    } else {
        Type::Bf16
    };
    let (shift, mask) = (
        decoder.bits(Class::Narrow, shift)?,
        decoder.bits(Class::Narrow, 0xffff)?,
    );
    let shifted = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[pair, shift]);
    let bits = decoder.fresh(Op::And32, Class::Narrow, &[shifted, mask]);
    Ok(half::widen(decoder, element, bits, ftz))
}

/// `set` on pairs: each half of the result is of its half of the operands.
fn set_pair(
    decoder: &mut Decoder<'_>,
    test: &Test,
    result: Type,
    source: Type,
) -> Result<(), Fail> {
    let yes = match result {
        Type::F16x2 => 0x3c00,
        Type::Bf16x2 => 0x3f80,
        Type::U32 | Type::S32 => 0xffff,
        _ => return Err(decoder.bad_form()),
    };
    let [low, high] = compare_pair(decoder, test, source)?;
    let dst = decoder.destination(0, result)?;
    let zero = decoder.bits(Class::Narrow, 0)?;
    let (low_yes, high_yes) = (
        decoder.bits(Class::Narrow, yes)?,
        decoder.bits(Class::Narrow, yes << 16)?,
    );
    let low = decoder.fresh(
        Op::Select32,
        Class::Narrow,
        &[low_yes, zero, Value::Reg(low)],
    );
    let high = decoder.fresh(
        Op::Select32,
        Class::Narrow,
        &[high_yes, zero, Value::Reg(high)],
    );
    decoder.op(Op::Or32, dst, &[low, high]);
    Ok(())
}

pub(super) fn set(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let test = Test::take(decoder, modifiers)?;
    let result = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let source = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if matches!(source, Type::F16x2 | Type::Bf16x2) {
        return set_pair(decoder, &test, result, source);
    }
    let yes = match result {
        Type::U32 | Type::S32 => u64::from(u32::MAX),
        Type::U16 | Type::S16 => 0xffff,
        Type::F32 => u64::from(1.0f32.to_bits()),
        Type::F16 => 0x3c00,
        Type::Bf16 => 0x3f80,
        _ => return Err(decoder.bad_form()),
    };
    let truth = decoder.temporary(Class::Predicate);
    compare(decoder, &test, source, truth)?;
    let joined = decoder.temporary(Class::Predicate);
    combine(decoder, &test, truth, joined, None)?;
    let (yes, no) = (
        decoder.bits(Class::Narrow, yes)?,
        decoder.bits(Class::Narrow, 0)?,
    );
    let dst = decoder.destination(0, result)?;
    decoder.op(Op::Select32, dst, &[yes, no, Value::Reg(joined)]);
    Ok(())
}

pub(super) fn selp(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let ty = modifiers
        .take_type()
        .filter(|ty| *ty != Type::Pred && ty.bytes() <= 8)
        .ok_or_else(|| decoder.bad_form())?;
    let (a, b) = (decoder.source(1, ty)?, decoder.source(2, ty)?);
    let (predicate, negated) = decoder.predicate(3)?;
    let dst = decoder.destination(0, ty)?;
    let (a, b) = if negated { (b, a) } else { (a, b) };
    select(decoder, ty, dst, a, b, predicate);
    Ok(())
}

fn select(decoder: &mut Decoder<'_>, ty: Type, dst: VReg, a: Value, b: Value, predicate: VReg) {
    let op = if ty.bytes() == 8 {
        Op::Select64
    } else {
        Op::Select32
    };
    decoder.op(op, dst, &[a, b, Value::Reg(predicate)]);
}

pub(super) fn slct(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let ftz = modifiers.take("ftz");
    let ty = modifiers
        .take_type()
        .filter(|ty| *ty != Type::Pred && ty.bytes() <= 8)
        .ok_or_else(|| decoder.bad_form())?;
    let condition = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let (a, b, c) = (
        decoder.source(1, ty)?,
        decoder.source(2, ty)?,
        decoder.source(3, condition)?,
    );
    let dst = decoder.destination(0, ty)?;
    let zero = decoder.bits(Class::Narrow, 0)?;
    let truth = decoder.temporary(Class::Predicate);
    match condition {
        Type::S32 => decoder.op(Op::LessEqualS32, truth, &[zero, c]),
        // Of a NaN the second is chosen: it is not at least zero.
        Type::F32 => {
            let c = if ftz {
                decoder.fresh(Op::FlushF32, Class::Narrow, &[c])
            } else {
                c
            };
            decoder.op(Op::LessEqualF32, truth, &[zero, c]);
        }
        _ => return Err(decoder.bad_form()),
    }
    select(decoder, ty, dst, a, b, truth);
    Ok(())
}
