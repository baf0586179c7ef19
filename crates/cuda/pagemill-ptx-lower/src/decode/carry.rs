//! Carry chains. The carry flag is a predicate register.

use super::context::Decoder;
use super::int::{Int, by_size, high_product};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Class, VReg, Value};
use pagemill_ptx_ir::op::Op;

pub(super) fn carry_type(
    decoder: &Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<Int, Fail> {
    let int = modifiers
        .take_type()
        .and_then(Int::of)
        .filter(|int| int.bytes >= 4);
    int.ok_or_else(|| decoder.bad_form())
}

fn add_op(int: Int) -> Op {
    by_size(int, Op::Add32, Op::Add64)
}

fn sub_op(int: Int) -> Op {
    by_size(int, Op::Sub32, Op::Sub64)
}

fn less_op(int: Int) -> Op {
    by_size(int, Op::LessU32, Op::LessU64)
}

pub(super) fn add_carry_out(decoder: &mut Decoder<'_>, int: Int) -> Result<(), Fail> {
    let (a, b) = (decoder.source(1, int.ty)?, decoder.source(2, int.ty)?);
    let dst = decoder.destination(0, int.ty)?;
    let carry = decoder.carry();
    let sum = decoder.fresh(add_op(int), int.class(), &[a, b]);
    // A sum below an operand has wrapped.
    decoder.op(less_op(int), carry, &[sum, b]);
    decoder.copy(dst, sum);
    Ok(())
}

pub(super) fn sub_borrow_out(decoder: &mut Decoder<'_>, int: Int) -> Result<(), Fail> {
    let (a, b) = (decoder.source(1, int.ty)?, decoder.source(2, int.ty)?);
    let dst = decoder.destination(0, int.ty)?;
    let carry = decoder.carry();
    // Before the difference, which may go where an operand is.
    decoder.op(less_op(int), carry, &[a, b]);
    decoder.op(sub_op(int), dst, &[a, b]);
    Ok(())
}

/// The carry as 0 or 1.
fn carry_value(decoder: &mut Decoder<'_>, int: Int) -> Result<Value, Fail> {
    let carry = decoder.carry();
    let (one, zero) = (decoder.bits(int.class(), 1)?, decoder.bits(int.class(), 0)?);
    let op = by_size(int, Op::Select32, Op::Select64);
    Ok(decoder.fresh(op, int.class(), &[one, zero, Value::Reg(carry)]))
}

/// `dst = a + b + carry`, and the carry out if wanted.
fn add_with_carry(
    decoder: &mut Decoder<'_>,
    int: Int,
    a: Value,
    b: Value,
    dst: VReg,
    out: bool,
) -> Result<(), Fail> {
    let carry_in = carry_value(decoder, int)?;
    let partial = decoder.fresh(add_op(int), int.class(), &[a, b]);
    let total = decoder.fresh(add_op(int), int.class(), &[partial, carry_in]);
    if out {
        // At most one of the two sums wraps: what is left of one that did has room for a carry.
        let first = decoder.temporary(Class::Predicate);
        let second = decoder.temporary(Class::Predicate);
        decoder.op(less_op(int), first, &[partial, b]);
        decoder.op(less_op(int), second, &[total, partial]);
        let carry = decoder.carry();
        decoder.logic(carry, (first, false), (second, false), 0b1110);
    }
    decoder.copy(dst, total);
    Ok(())
}

pub(super) fn addc(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let out = modifiers.take("cc");
    let int = carry_type(decoder, modifiers)?;
    let (a, b) = (decoder.source(1, int.ty)?, decoder.source(2, int.ty)?);
    let dst = decoder.destination(0, int.ty)?;
    add_with_carry(decoder, int, a, b, dst, out)
}

pub(super) fn subc(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let out = modifiers.take("cc");
    let int = carry_type(decoder, modifiers)?;
    let (a, b) = (decoder.source(1, int.ty)?, decoder.source(2, int.ty)?);
    let dst = decoder.destination(0, int.ty)?;
    let borrow_in = carry_value(decoder, int)?;
    let partial = decoder.fresh(sub_op(int), int.class(), &[a, b]);
    let total = decoder.fresh(sub_op(int), int.class(), &[partial, borrow_in]);
    if out {
        let first = decoder.temporary(Class::Predicate);
        let second = decoder.temporary(Class::Predicate);
        decoder.op(less_op(int), first, &[a, b]);
        decoder.op(less_op(int), second, &[partial, borrow_in]);
        let carry = decoder.carry();
        decoder.logic(carry, (first, false), (second, false), 0b1110);
    }
    decoder.copy(dst, total);
    Ok(())
}

pub(super) fn madc(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let part = modifiers.take_one(&["lo", "hi"]);
    let out = modifiers.take("cc");
    mad_with_carry(decoder, modifiers, part, true, out)
}

pub(super) fn mad_with_carry(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    part: Option<&str>,
    carry_in: bool,
    carry_out: bool,
) -> Result<(), Fail> {
    let int = carry_type(decoder, modifiers)?;
    let (a, b, c) = (
        decoder.source(1, int.ty)?,
        decoder.source(2, int.ty)?,
        decoder.source(3, int.ty)?,
    );
    let dst = decoder.destination(0, int.ty)?;
    let product = match part {
        Some("lo") => decoder.fresh(by_size(int, Op::Mul32, Op::Mul64), int.class(), &[a, b]),
        Some("hi") => high_product(decoder, int, a, b)?,
        _ => return Err(decoder.bad_form()),
    };
    if carry_in {
        return add_with_carry(decoder, int, product, c, dst, carry_out);
    }
    let sum = decoder.fresh(add_op(int), int.class(), &[product, c]);
    let carry = decoder.carry();
    decoder.op(less_op(int), carry, &[sum, c]);
    decoder.copy(dst, sum);
    Ok(())
}
