//! Bit fields, counts, permutations, dot products.

use super::context::Decoder;
use super::int::Int;
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Class, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Type};
use pagemill_ptx_ir::code::ScalarFn;
use pagemill_ptx_ir::functions::bits as functions;
use pagemill_ptx_ir::op::Op;

fn take_int(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<Int, Fail> {
    let int = modifiers
        .take_type()
        .and_then(Int::of)
        .filter(|int| int.bytes >= 4);
    int.ok_or_else(|| decoder.bad_form())
}

fn flag(is_set: bool, flag: u32) -> u32 {
    if is_set { flag } else { 0 }
}

fn code(int: Int) -> u32 {
    flag(int.bytes == 8, functions::WIDE) | flag(int.signed, functions::SIGNED)
}

pub(super) fn bfe(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let int = take_int(decoder, modifiers)?;
    let (a, position, length) = (
        decoder.source(1, int.ty)?,
        decoder.source(2, Type::U32)?,
        decoder.source(3, Type::U32)?,
    );
    let dst = decoder.destination(0, int.ty)?;
    let known = (decoder.literal(position), decoder.literal(length));
    if let (Some(position), Some(length @ 1..=32)) = known
        && int.bytes == 4
        && position + length <= 32
    {
        return fixed_field(decoder, int, dst, a, position, length);
    }
    decoder.scalar(functions::extract, code(int), dst, &[a, position, length]);
    Ok(())
}

/// A field whose place is known: up to the top, and down again.
fn fixed_field(
    decoder: &mut Decoder<'_>,
    int: Int,
    dst: VReg,
    value: Value,
    position: u64,
    length: u64,
) -> Result<(), Fail> {
    let up = decoder.bits(Class::Narrow, 32 - position - length)?;
    let down = decoder.bits(Class::Narrow, 32 - length)?;
    let raised = decoder.fresh(Op::ShiftLeft32, Class::Narrow, &[value, up]);
    let op = if int.signed {
        Op::ShiftRightS32
    } else {
        Op::ShiftRightU32
    };
    decoder.op(op, dst, &[raised, down]);
    Ok(())
}

pub(super) fn bfi(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let int = take_int(decoder, modifiers)?;
    // Four operands: position and length become a mask first.
    let place = [decoder.source(3, Type::U32)?, decoder.source(4, Type::U32)?];
    let mask = decoder.scalar_fresh(functions::field_mask, code(int), int.class(), &place);
    let (a, b) = (decoder.source(1, int.ty)?, decoder.source(2, int.ty)?);
    let dst = decoder.destination(0, int.ty)?;
    let wide = int.bytes == 8;
    // Positions count modulo 256; a field that starts past the end has an empty mask.
    let limit = decoder.bits(Class::Narrow, 255)?;
    let position = decoder.fresh(Op::And32, Class::Narrow, &[place[0], limit]);
    let pick = |narrow, double| if wide { double } else { narrow };
    let shifted = decoder.fresh(
        pick(Op::ShiftLeft32, Op::ShiftLeft64),
        int.class(),
        &[a, position],
    );
    let inserted = decoder.fresh(pick(Op::And32, Op::And64), int.class(), &[shifted, mask]);
    let outside = decoder.fresh(pick(Op::Not32, Op::Not64), int.class(), &[mask]);
    let kept = decoder.fresh(pick(Op::And32, Op::And64), int.class(), &[b, outside]);
    decoder.op(pick(Op::Or32, Op::Or64), dst, &[inserted, kept]);
    Ok(())
}

/// One operand of the type, a 32-bit result.
fn count(decoder: &mut Decoder<'_>, int: Int, function: ScalarFn, extra: u32) -> Result<(), Fail> {
    let source = decoder.source(1, int.ty)?;
    let dst = decoder.destination(0, Type::U32)?;
    decoder.scalar(function, code(int) | extra, dst, &[source]);
    Ok(())
}

/// The vector operation for 32 bits, the lane function for 64.
fn count_by(decoder: &mut Decoder<'_>, int: Int, op: Op, function: ScalarFn) -> Result<(), Fail> {
    if int.bytes == 8 {
        return count(decoder, int, function, 0);
    }
    let source = decoder.source(1, int.ty)?;
    let dst = decoder.destination(0, Type::U32)?;
    decoder.op(op, dst, &[source]);
    Ok(())
}

pub(super) fn bfind(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let shift = modifiers.take("shiftamt");
    let int = take_int(decoder, modifiers)?;
    count(
        decoder,
        int,
        functions::find_leading,
        flag(shift, functions::SHIFT),
    )
}

pub(super) fn clz(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let int = take_int(decoder, modifiers)?;
    count_by(decoder, int, Op::LeadingZeros32, functions::leading_zeros)
}

pub(super) fn popc(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let int = take_int(decoder, modifiers)?;
    count_by(decoder, int, Op::PopCount32, functions::population)
}

pub(super) fn brev(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let int = take_int(decoder, modifiers)?;
    let source = decoder.source(1, int.ty)?;
    let dst = decoder.destination(0, int.ty)?;
    decoder.scalar(functions::reverse, code(int), dst, &[source]);
    Ok(())
}

pub(super) fn fns(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    take_int(decoder, modifiers)?;
    let srcs = [
        decoder.source(1, Type::B32)?,
        decoder.source(2, Type::B32)?,
        decoder.source(3, Type::B32)?,
    ];
    let dst = decoder.destination(0, Type::B32)?;
    decoder.scalar(functions::find_nth_set, 0, dst, &srcs);
    Ok(())
}

pub(super) fn bmsk(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let wrap = clamp_or_wrap(decoder, modifiers)?;
    take_int(decoder, modifiers)?;
    let srcs = [decoder.source(1, Type::B32)?, decoder.source(2, Type::B32)?];
    let dst = decoder.destination(0, Type::B32)?;
    decoder.scalar(functions::make_mask, wrap, dst, &srcs);
    Ok(())
}

pub(super) fn szext(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let wrap = clamp_or_wrap(decoder, modifiers)?;
    let int = take_int(decoder, modifiers)?;
    let srcs = [decoder.source(1, Type::B32)?, decoder.source(2, Type::U32)?];
    let dst = decoder.destination(0, Type::B32)?;
    decoder.scalar(functions::extend_from, wrap | code(int), dst, &srcs);
    Ok(())
}

/// The flag for `.wrap`.
fn clamp_or_wrap(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<u32, Fail> {
    match modifiers.take_one(&["clamp", "wrap"]) {
        Some("wrap") => Ok(functions::WRAP),
        Some(_) => Ok(0),
        None => Err(decoder.bad_form()),
    }
}

pub(super) fn lop3(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let combine = modifiers.take_one(&["or", "and"]);
    take_int(decoder, modifiers)?;
    let srcs = [
        decoder.source(1, Type::B32)?,
        decoder.source(2, Type::B32)?,
        decoder.source(3, Type::B32)?,
    ];
    let Operand::Integer(table) = decoder.operand(4)? else {
        return Err(decoder.fail("the truth table of lop3 must be a number"));
    };
    let table = *table as u32 & 0xff;
    let Some(combine) = combine else {
        let dst = decoder.destination(0, Type::B32)?;
        decoder.scalar(functions::logic3, table, dst, &srcs);
        return Ok(());
    };
    // `lop3.or.b32 d|p, a, b, c, table, q`: p says whether the result is not zero, joined with q.
    let (value, predicate) = match decoder.operand(0)? {
        Operand::Pair(value, predicate) => (&**value, &**predicate),
        _ => return Err(decoder.bad_form()),
    };
    let result = decoder.scalar_fresh(functions::logic3, table, Class::Narrow, &srcs);
    let zero = decoder.bits(Class::Narrow, 0)?;
    let Value::Reg(not_zero) = decoder.fresh(Op::NotEqual32, Class::Predicate, &[result, zero])
    else {
        return Err(decoder.bad_form());
    };
    let other = decoder.predicate(5)?;
    let predicate = decoder.destination_of(predicate, Type::Pred)?;
    let value = decoder.destination_of(value, Type::B32)?;
    decoder.logic(
        predicate,
        (not_zero, false),
        other,
        if combine == "or" { 0b1110 } else { 0b1000 },
    );
    decoder.copy(value, result);
    Ok(())
}

pub(super) fn prmt(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    take_int(decoder, modifiers)?;
    let modes = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
    let mode = modifiers
        .take_one(&modes)
        .and_then(|mode| modes.iter().position(|name| *name == mode));
    let mode = mode.map_or(0, |mode| mode as u32 + 1);
    let srcs = [
        decoder.source(1, Type::B32)?,
        decoder.source(2, Type::B32)?,
        decoder.source(3, Type::B32)?,
    ];
    let dst = decoder.destination(0, Type::B32)?;
    match mode {
        0 => decoder.op(Op::PermuteBytes, dst, &srcs),
        mode => decoder.scalar(functions::permute, mode, dst, &srcs),
    }
    Ok(())
}

pub(super) fn shf(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let left = match modifiers.take_one(&["l", "r"]) {
        Some(direction) => direction == "l",
        None => return Err(decoder.bad_form()),
    };
    let wrap = clamp_or_wrap(decoder, modifiers)? != 0;
    take_int(decoder, modifiers)?;
    let srcs = [
        decoder.source(1, Type::B32)?,
        decoder.source(2, Type::B32)?,
        decoder.source(3, Type::U32)?,
    ];
    let dst = decoder.destination(0, Type::B32)?;
    let op = match (left, wrap) {
        (true, true) => Op::FunnelLeftWrap,
        (true, false) => Op::FunnelLeftClamp,
        (false, true) => Op::FunnelRightWrap,
        (false, false) => Op::FunnelRightClamp,
    };
    decoder.op(op, dst, &srcs);
    Ok(())
}

pub(super) fn sad(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let int = modifiers
        .take_type()
        .and_then(Int::of)
        .filter(|int| int.bytes > 1)
        .ok_or_else(|| decoder.bad_form())?;
    let (a, b) = (
        super::integer::extended(decoder, 1, int)?,
        super::integer::extended(decoder, 2, int)?,
    );
    let c = decoder.source(3, int.ty)?;
    let dst = decoder.destination(0, int.ty)?;
    let value = decoder.scalar_fresh(
        functions::absolute_difference,
        code(int),
        int.class(),
        &[a, b, c],
    );
    if int.bytes == 2 {
        super::integer::cut(decoder, dst, value)
    } else {
        decoder.copy(dst, value);
        Ok(())
    }
}

pub(super) fn mul24(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let high = modifiers
        .take_one(&["lo", "hi"])
        .ok_or_else(|| decoder.bad_form())?
        == "hi";
    let int = modifiers
        .take_type()
        .and_then(Int::of)
        .filter(|int| int.bytes == 4)
        .ok_or_else(|| decoder.bad_form())?;
    let srcs = [decoder.source(1, int.ty)?, decoder.source(2, int.ty)?];
    let dst = decoder.destination(0, int.ty)?;
    decoder.scalar(
        functions::multiply24,
        code(int) | flag(high, functions::HIGH),
        dst,
        &srcs,
    );
    Ok(())
}

pub(super) fn mad24(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let high = modifiers
        .take_one(&["lo", "hi"])
        .ok_or_else(|| decoder.bad_form())?
        == "hi";
    let saturate = high && modifiers.take("sat");
    let int = modifiers
        .take_type()
        .and_then(Int::of)
        .filter(|int| int.bytes == 4)
        .ok_or_else(|| decoder.bad_form())?;
    let srcs = [decoder.source(1, int.ty)?, decoder.source(2, int.ty)?];
    let c = decoder.source(3, int.ty)?;
    let dst = decoder.destination(0, int.ty)?;
    let flags = code(int) | flag(high, functions::HIGH);
    let product = decoder.scalar_fresh(functions::multiply24, flags, Class::Narrow, &srcs);
    match saturate {
        true => decoder.scalar(
            pagemill_ptx_ir::functions::integer::add_saturating,
            0,
            dst,
            &[product, c],
        ),
        false => decoder.op(Op::Add32, dst, &[product, c]),
    }
    Ok(())
}

pub(super) fn dp4a(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    dot(decoder, modifiers, functions::dot4, 0)
}

pub(super) fn dp2a(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let high = modifiers
        .take_one(&["lo", "hi"])
        .ok_or_else(|| decoder.bad_form())?
        == "hi";
    dot(
        decoder,
        modifiers,
        functions::dot2,
        flag(high, functions::HIGH),
    )
}

fn dot(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    function: ScalarFn,
    flags: u32,
) -> Result<(), Fail> {
    let mut signs = [false; 2];
    for sign in &mut signs {
        let int = modifiers
            .take_type()
            .and_then(Int::of)
            .filter(|int| int.bytes == 4);
        *sign = int.ok_or_else(|| decoder.bad_form())?.signed;
    }
    let srcs = [
        decoder.source(1, Type::B32)?,
        decoder.source(2, Type::B32)?,
        decoder.source(3, Type::B32)?,
    ];
    let dst = decoder.destination(0, Type::B32)?;
    let code = flags | flag(signs[0], functions::SIGNED) | flag(signs[1], functions::SIGNED_B);
    decoder.scalar(function, code, dst, &srcs);
    Ok(())
}
