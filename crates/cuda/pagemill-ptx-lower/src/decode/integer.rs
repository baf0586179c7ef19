//! Arithmetic that integers and floats share names for; the integer forms are here.

use super::arithmetic::{Arithmetic, Sign};
use super::context::Decoder;
use super::int::{Int, by_size, high_product};
use super::modifiers::Modifiers;
use super::{carry, float, half};
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, VReg, Value};
use pagemill_ptx_ir::ast::Type;
use pagemill_ptx_ir::functions::integer as functions;
use pagemill_ptx_ir::op::Op;

/// `dst = op(srcs)`, cut to 16 bits where the type has no more.
pub(super) fn store(
    decoder: &mut Decoder<'_>,
    int: Int,
    op: Op,
    dst: VReg,
    srcs: &[Value],
) -> Result<(), Fail> {
    if int.bytes >= 4 {
        decoder.op(op, dst, srcs);
        return Ok(());
    }
    let value = decoder.fresh(op, Class::Narrow, srcs);
    cut(decoder, dst, value)
}

/// `dst` gets the low 16 bits of `value`.
pub(super) fn cut(decoder: &mut Decoder<'_>, dst: VReg, value: Value) -> Result<(), Fail> {
    let mask = decoder.bits(Class::Narrow, 0xffff)?;
    decoder.op(Op::And32, dst, &[value, mask]);
    Ok(())
}

/// A source whose 16 bits count as signed where the type says so.
pub(super) fn extended(decoder: &mut Decoder<'_>, index: usize, int: Int) -> Result<Value, Fail> {
    let value = decoder.source(index, int.ty)?;
    Ok(match (int.bytes, int.signed) {
        (1, true) => decoder.fresh(Op::SignExtend8, Class::Narrow, &[value]),
        (2, true) => decoder.fresh(Op::SignExtend16, Class::Narrow, &[value]),
        _ => value,
    })
}

/// The instruction's type, or its floating-point decoder's result.
fn integer_or(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    other: impl FnOnce(&mut Decoder<'_>, &mut Modifiers<'_>, Type) -> Result<(), Fail>,
) -> Result<Option<Int>, Fail> {
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    match Int::of(ty) {
        Some(int) if int.bytes > 1 => Ok(Some(int)),
        _ => other(decoder, modifiers, ty).map(|()| None),
    }
}

fn arithmetic(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    kind: Arithmetic,
    (narrow, wide): (Op, Op),
) -> Result<(), Fail> {
    if modifiers.take("f32x2") {
        return float::arithmetic_of_two(decoder, modifiers, kind);
    }
    if let Some(pair) = modifiers.take_one(&["u16x2", "s16x2"]) {
        // Modulo 2^16 the sign makes no difference.
        let _ = pair;
        let function = if kind == Arithmetic::Add {
            functions::add_pair
        } else {
            functions::sub_pair
        };
        return two_by_two(decoder, function, 0);
    }
    if modifiers.take("cc") {
        let int = carry::carry_type(decoder, modifiers)?;
        return match kind {
            Arithmetic::Add => carry::add_carry_out(decoder, int),
            _ => carry::sub_borrow_out(decoder, int),
        };
    }
    let Some(int) = integer_or(decoder, modifiers, |d, m, ty| {
        float::arithmetic(d, m, ty, kind)
    })?
    else {
        return Ok(());
    };
    let (a, b) = (decoder.source(1, int.ty)?, decoder.source(2, int.ty)?);
    let dst = decoder.destination(0, int.ty)?;
    if modifiers.take("sat") {
        if int.ty != Type::S32 {
            return Err(decoder.bad_form());
        }
        let function = if kind == Arithmetic::Add {
            functions::add_saturating
        } else {
            functions::sub_saturating
        };
        decoder.scalar(function, 0, dst, &[a, b]);
        return Ok(());
    }
    store(decoder, int, by_size(int, narrow, wide), dst, &[a, b])
}

pub(super) fn add(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    arithmetic(decoder, modifiers, Arithmetic::Add, (Op::Add32, Op::Add64))
}

pub(super) fn sub(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    arithmetic(decoder, modifiers, Arithmetic::Sub, (Op::Sub32, Op::Sub64))
}

/// Two 16-bit halves of 32-bit operands at a time.
fn two_by_two(
    decoder: &mut Decoder<'_>,
    function: pagemill_ptx_ir::code::ScalarFn,
    immediate: u32,
) -> Result<(), Fail> {
    let (a, b) = (decoder.source(1, Type::B32)?, decoder.source(2, Type::B32)?);
    let dst = decoder.destination(0, Type::B32)?;
    decoder.scalar(function, immediate, dst, &[a, b]);
    Ok(())
}

pub(super) fn mul(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if modifiers.take("f32x2") {
        return float::arithmetic_of_two(decoder, modifiers, Arithmetic::Mul);
    }
    let part = modifiers.take_one(&["lo", "hi", "wide"]);
    let other = |d: &mut Decoder<'_>, m: &mut Modifiers<'_>, ty| {
        float::arithmetic(d, m, ty, Arithmetic::Mul)
    };
    let Some(int) = integer_or(decoder, modifiers, other)? else {
        return Ok(());
    };
    let (a, b) = (extended(decoder, 1, int)?, extended(decoder, 2, int)?);
    product(decoder, int, part, a, b)
}

fn product(
    decoder: &mut Decoder<'_>,
    int: Int,
    part: Option<&str>,
    a: Value,
    b: Value,
) -> Result<(), Fail> {
    let wide_type = if int.bytes == 2 { Type::B32 } else { Type::B64 };
    match part {
        Some("lo") => {
            let dst = decoder.destination(0, int.ty)?;
            store(
                decoder,
                int,
                by_size(int, Op::Mul32, Op::Mul64),
                dst,
                &[a, b],
            )
        }
        Some("hi") => {
            let dst = decoder.destination(0, int.ty)?;
            let value = high_product(decoder, int, a, b)?;
            decoder.copy(dst, value);
            Ok(())
        }
        Some("wide") if int.bytes < 8 => {
            let dst = decoder.destination(0, wide_type)?;
            let op = match (int.bytes, int.signed) {
                // Of 16 bits, extended before: the product fits 32 with either sign.
                (2, _) => Op::Mul32,
                (_, true) => Op::MulWideS32,
                (_, false) => Op::MulWideU32,
            };
            decoder.op(op, dst, &[a, b]);
            Ok(())
        }
        _ => Err(decoder.bad_form()),
    }
}

pub(super) fn mad(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let part = modifiers.take_one(&["lo", "hi", "wide"]);
    if modifiers.take("cc") {
        return carry::mad_with_carry(decoder, modifiers, part, false, true);
    }
    let saturate = part == Some("hi") && modifiers.take("sat");
    let Some(int) = integer_or(decoder, modifiers, float::multiply_add)? else {
        return Ok(());
    };
    let (a, b) = (extended(decoder, 1, int)?, extended(decoder, 2, int)?);
    if saturate {
        if int.ty != Type::S32 {
            return Err(decoder.bad_form());
        }
        let high = high_product(decoder, int, a, b)?;
        let c = decoder.source(3, int.ty)?;
        let dst = decoder.destination(0, int.ty)?;
        decoder.scalar(functions::add_saturating, 0, dst, &[high, c]);
        return Ok(());
    }
    match part {
        Some("lo") => {
            let c = decoder.source(3, int.ty)?;
            let dst = decoder.destination(0, int.ty)?;
            store(
                decoder,
                int,
                by_size(int, Op::Mad32, Op::Mad64),
                dst,
                &[a, b, c],
            )
        }
        Some("hi") => {
            let c = decoder.source(3, int.ty)?;
            let dst = decoder.destination(0, int.ty)?;
            let high = high_product(decoder, int, a, b)?;
            store(
                decoder,
                int,
                by_size(int, Op::Add32, Op::Add64),
                dst,
                &[high, c],
            )
        }
        Some("wide") if int.bytes < 8 => {
            let wide_type = if int.bytes == 2 { Type::B32 } else { Type::B64 };
            let c = decoder.source(3, wide_type)?;
            let dst = decoder.destination(0, wide_type)?;
            let op = match (int.bytes, int.signed) {
                (2, _) => Op::Mad32,
                (_, true) => Op::MadWideS32,
                (_, false) => Op::MadWideU32,
            };
            decoder.op(op, dst, &[a, b, c]);
            Ok(())
        }
        _ => Err(decoder.bad_form()),
    }
}

pub(super) fn div(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let Some(int) = integer_or(decoder, modifiers, float::divide)? else {
        return Ok(());
    };
    divide(
        decoder,
        int,
        [Op::DivU32, Op::DivS32],
        [functions::div_u64, functions::div_s64],
    )
}

pub(super) fn rem(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let int = modifiers
        .take_type()
        .and_then(Int::of)
        .filter(|int| int.bytes > 1);
    let int = int.ok_or_else(|| decoder.bad_form())?;
    divide(
        decoder,
        int,
        [Op::RemU32, Op::RemS32],
        [functions::rem_u64, functions::rem_s64],
    )
}

fn divide(
    decoder: &mut Decoder<'_>,
    int: Int,
    narrow: [Op; 2],
    wide: [pagemill_ptx_ir::code::ScalarFn; 2],
) -> Result<(), Fail> {
    let (a, b) = (extended(decoder, 1, int)?, extended(decoder, 2, int)?);
    // A divisor that is a number other than 0 need not be looked at each time.
    if decoder.literal(b).is_none_or(|divisor| divisor == 0) {
        decoder.push(
            Op::CheckDivisor,
            &[],
            &[b],
            Aux::Immediate(u32::from(int.bytes == 8)),
        );
    }
    let dst = decoder.destination(0, int.ty)?;
    if int.bytes == 8 {
        decoder.scalar(wide[usize::from(int.signed)], 0, dst, &[a, b]);
        return Ok(());
    }
    store(decoder, int, narrow[usize::from(int.signed)], dst, &[a, b])
}

pub(super) fn abs(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let Some(int) = integer_or(decoder, modifiers, |d, m, ty| {
        float::sign(d, m, ty, Sign::Clear)
    })?
    else {
        return Ok(());
    };
    let a = extended(decoder, 1, int)?;
    let dst = decoder.destination(0, int.ty)?;
    store(
        decoder,
        int,
        by_size(int, Op::AbsS32, Op::AbsS64),
        dst,
        &[a],
    )
}

pub(super) fn neg(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let Some(int) = integer_or(decoder, modifiers, |d, m, ty| {
        float::sign(d, m, ty, Sign::Flip)
    })?
    else {
        return Ok(());
    };
    let a = decoder.source(1, int.ty)?;
    let zero = decoder.bits(int.class(), 0)?;
    let dst = decoder.destination(0, int.ty)?;
    let op = by_size(int, Op::Sub32, Op::Sub64);
    store(decoder, int, op, dst, &[zero, a])
}

pub(super) fn min(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    extreme(decoder, modifiers, false)
}

pub(super) fn max(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    extreme(decoder, modifiers, true)
}

fn extreme(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    max: bool,
) -> Result<(), Fail> {
    let relu = modifiers.take("relu");
    if let Some(pair) = modifiers.take_one(&["u16x2", "s16x2"]) {
        let immediate = u32::from(max) | u32::from(pair == "s16x2") << 1 | u32::from(relu) << 2;
        return two_by_two(decoder, functions::extreme_pair, immediate);
    }
    let Some(int) = integer_or(decoder, modifiers, |d, m, ty| match half::is_half(ty) {
        true => half::extreme(d, m, ty, max, relu),
        false => float::extreme(d, m, ty, max),
    })?
    else {
        return Ok(());
    };
    let (a, b) = (extended(decoder, 1, int)?, extended(decoder, 2, int)?);
    let dst = decoder.destination(0, int.ty)?;
    let op = match (int.bytes, int.signed, max) {
        (8, true, true) => Op::MaxS64,
        (8, true, false) => Op::MinS64,
        (8, false, true) => Op::MaxU64,
        (8, false, false) => Op::MinU64,
        (_, true, true) => Op::MaxS32,
        (_, true, false) => Op::MinS32,
        (_, false, true) => Op::MaxU32,
        (_, false, false) => Op::MinU32,
    };
    if !relu {
        return store(decoder, int, op, dst, &[a, b]);
    }
    if int.ty != Type::S32 {
        return Err(decoder.bad_form());
    }
    let value = decoder.fresh(op, int.class(), &[a, b]);
    let zero = decoder.bits(int.class(), 0)?;
    decoder.op(Op::MaxS32, dst, &[value, zero]);
    Ok(())
}
