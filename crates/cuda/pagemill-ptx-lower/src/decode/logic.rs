//! Bitwise operations and shifts.

use super::context::Decoder;
use super::int::{Int, by_size};
use super::integer::{extended, store};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::Class;
use pagemill_ptx_ir::ast::Type;
use pagemill_ptx_ir::op::Op;

pub(super) fn logic(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    let (table, narrow, wide) = match modifiers.name {
        "and" => (0b1000, Op::And32, Op::And64),
        "or" => (0b1110, Op::Or32, Op::Or64),
        _ => (0b0110, Op::Xor32, Op::Xor64),
    };
    if ty == Type::Pred {
        let (a, b) = (decoder.predicate(1)?, decoder.predicate(2)?);
        let dst = decoder.destination(0, ty)?;
        decoder.logic(dst, a, b, table);
        return Ok(());
    }
    let int = Int::of(ty)
        .filter(|int| int.bytes > 1)
        .ok_or_else(|| decoder.bad_form())?;
    let (a, b) = (decoder.source(1, ty)?, decoder.source(2, ty)?);
    let dst = decoder.destination(0, ty)?;
    decoder.op(by_size(int, narrow, wide), dst, &[a, b]);
    Ok(())
}

pub(super) fn not(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if ty == Type::Pred {
        let a = decoder.predicate(1)?;
        let dst = decoder.destination(0, ty)?;
        // Neither of both: with one input for both, its negation.
        decoder.logic(dst, a, a, 0b0001);
        return Ok(());
    }
    let int = Int::of(ty)
        .filter(|int| int.bytes > 1)
        .ok_or_else(|| decoder.bad_form())?;
    let a = decoder.source(1, ty)?;
    let dst = decoder.destination(0, ty)?;
    store(decoder, int, by_size(int, Op::Not32, Op::Not64), dst, &[a])
}

pub(super) fn cnot(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let int = modifiers
        .take_type()
        .and_then(Int::of)
        .filter(|int| int.bytes > 1);
    let int = int.ok_or_else(|| decoder.bad_form())?;
    let a = decoder.source(1, int.ty)?;
    let dst = decoder.destination(0, int.ty)?;
    let (one, zero) = (decoder.bits(int.class(), 1)?, decoder.bits(int.class(), 0)?);
    let is_zero = decoder.fresh(
        by_size(int, Op::Equal32, Op::Equal64),
        Class::Predicate,
        &[a, zero],
    );
    decoder.op(
        by_size(int, Op::Select32, Op::Select64),
        dst,
        &[one, zero, is_zero],
    );
    Ok(())
}

pub(super) fn shl(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    shift(decoder, modifiers, |int| {
        by_size(int, Op::ShiftLeft32, Op::ShiftLeft64)
    })
}

pub(super) fn shr(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    shift(decoder, modifiers, |int| match int.signed {
        true => by_size(int, Op::ShiftRightS32, Op::ShiftRightS64),
        false => by_size(int, Op::ShiftRightU32, Op::ShiftRightU64),
    })
}

fn shift(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    op: impl Fn(Int) -> Op,
) -> Result<(), Fail> {
    let int = modifiers
        .take_type()
        .and_then(Int::of)
        .filter(|int| int.bytes > 1);
    let int = int.ok_or_else(|| decoder.bad_form())?;
    // To the right, 16 signed bits bring in their sign.
    let a = extended(decoder, 1, int)?;
    let n = decoder.source(2, Type::U32)?;
    let dst = decoder.destination(0, int.ty)?;
    store(decoder, int, op(int), dst, &[a, n])
}
