//! Moves, packing, and conversions between address spaces.

use super::context::{Decoder, window_base};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Class, VReg, Value};
use pagemill_ptx_ir::address::cluster;
use pagemill_ptx_ir::address::window::{self, Window};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::Preset;
use pagemill_ptx_ir::op::Op;

pub(super) fn mov(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if ty == Type::Pred {
        let dst = decoder.destination(0, ty)?;
        let source = decoder.predicate(1)?;
        decoder.logic(dst, source, source, 0b1000);
        return Ok(());
    }
    match (decoder.operand(0)?, decoder.operand(1)?) {
        (_, Operand::Vector(parts)) if ty == Type::B128 => pack128(decoder, parts),
        (Operand::Vector(parts), _) if ty == Type::B128 => unpack128(decoder, parts),
        (_, Operand::Vector(parts)) => pack(decoder, ty, parts),
        (Operand::Vector(parts), _) => unpack(decoder, ty, parts),
        _ if ty == Type::B128 => copy128(decoder),
        _ => {
            let value = decoder.source(1, ty)?;
            let dst = decoder.destination(0, ty)?;
            decoder.copy(dst, value);
            Ok(())
        }
    }
}

fn part_type(decoder: &Decoder<'_>, ty: Type, parts: &[Operand]) -> Result<Type, Fail> {
    match (ty.bytes(), parts.len()) {
        (8, 2) => Ok(Type::B32),
        (8, 4) | (4, 2) => Ok(Type::B16),
        (4, 4) | (2, 2) => Ok(Type::B8),
        _ => Err(decoder.bad_form()),
    }
}

fn pack<'a>(decoder: &mut Decoder<'a>, ty: Type, parts: &'a [Operand]) -> Result<(), Fail> {
    let part = part_type(decoder, ty, parts)?;
    let dst = decoder.destination(0, ty)?;
    let mut values = Vec::new();
    for operand in parts {
        values.push(decoder.value(operand, part)?);
    }
    if ty.bytes() == 8 {
        let low = join(decoder, &values[..values.len() / 2], part)?;
        let high = join(decoder, &values[values.len() / 2..], part)?;
        decoder.op(Op::Join64, dst, &[low, high]);
    } else {
        let whole = join(decoder, &values, part)?;
        decoder.copy(dst, whole);
    }
    Ok(())
}

/// Narrow parts next to each other in one narrow value.
fn join(decoder: &mut Decoder<'_>, parts: &[Value], part: Type) -> Result<Value, Fail> {
    let mut whole = parts[0];
    for (index, value) in parts.iter().enumerate().skip(1) {
        let shift = decoder.bits(Class::Narrow, 8 * part.bytes() * index as u64)?;
        let shifted = decoder.fresh(Op::ShiftLeft32, Class::Narrow, &[*value, shift]);
        whole = decoder.fresh(Op::Or32, Class::Narrow, &[whole, shifted]);
    }
    Ok(whole)
}

fn unpack<'a>(decoder: &mut Decoder<'a>, ty: Type, parts: &'a [Operand]) -> Result<(), Fail> {
    let part = part_type(decoder, ty, parts)?;
    let source = decoder.source(1, ty)?;
    let mut values = Vec::new();
    if ty.bytes() == 8 {
        let low = decoder.fresh(Op::Truncate64, Class::Narrow, &[source]);
        let high = decoder.fresh(Op::HighHalf64, Class::Narrow, &[source]);
        split(decoder, low, part, parts.len() / 2, &mut values)?;
        split(decoder, high, part, parts.len() / 2, &mut values)?;
    } else {
        // A copy, for a part may be the source register itself.
        let copy = decoder.fresh(Op::Move32, Class::Narrow, &[source]);
        split(decoder, copy, part, parts.len(), &mut values)?;
    }
    for (operand, value) in parts.iter().zip(values) {
        let dst = decoder.destination_of(operand, part)?;
        decoder.copy(dst, value);
    }
    Ok(())
}

fn split(
    decoder: &mut Decoder<'_>,
    whole: Value,
    part: Type,
    count: usize,
    values: &mut Vec<Value>,
) -> Result<(), Fail> {
    if count == 1 {
        values.push(whole);
        return Ok(());
    }
    let mask = decoder.bits(Class::Narrow, (1 << (8 * part.bytes())) - 1)?;
    for index in 0..count {
        let shift = decoder.bits(Class::Narrow, 8 * part.bytes() * index as u64)?;
        let shifted = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[whole, shift]);
        values.push(decoder.fresh(Op::And32, Class::Narrow, &[shifted, mask]));
    }
    Ok(())
}

fn halves(decoder: &Decoder<'_>, operand: &Operand) -> Result<(VReg, VReg), Fail> {
    let Operand::Register(register) = operand else {
        return Err(decoder.fail("a 128-bit operand must be a register"));
    };
    let low = decoder.register(*register);
    let high = decoder
        .high_half(low)
        .ok_or_else(|| decoder.fail("a 128-bit operand must be a .b128 register"))?;
    Ok((low, high))
}

fn pack128<'a>(decoder: &mut Decoder<'a>, parts: &'a [Operand]) -> Result<(), Fail> {
    let (low, high) = halves(decoder, decoder.operand(0)?)?;
    let [first, second] = parts else {
        return Err(decoder.bad_form());
    };
    let (first, second) = (
        decoder.value(first, Type::B64)?,
        decoder.value(second, Type::B64)?,
    );
    decoder.copy(low, first);
    decoder.copy(high, second);
    Ok(())
}

fn unpack128<'a>(decoder: &mut Decoder<'a>, parts: &'a [Operand]) -> Result<(), Fail> {
    let (low, high) = halves(decoder, decoder.operand(1)?)?;
    let [first, second] = parts else {
        return Err(decoder.bad_form());
    };
    let (first, second) = (
        decoder.destination_of(first, Type::B64)?,
        decoder.destination_of(second, Type::B64)?,
    );
    decoder.copy(first, Value::Reg(low));
    decoder.copy(second, Value::Reg(high));
    Ok(())
}

fn copy128(decoder: &mut Decoder<'_>) -> Result<(), Fail> {
    let (low, high) = halves(decoder, decoder.operand(0)?)?;
    let (from_low, from_high) = halves(decoder, decoder.operand(1)?)?;
    decoder.copy(low, Value::Reg(from_low));
    decoder.copy(high, Value::Reg(from_high));
    Ok(())
}

fn space_of(part: &str) -> Option<Space> {
    match part.split("::").next()? {
        "global" => Some(Space::Global),
        "shared" => Some(Space::Shared),
        "local" => Some(Space::Local),
        "const" => Some(Space::Const),
        "param" => Some(Space::Param),
        _ => None,
    }
}

pub(super) fn cvta(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let to = modifiers.take("to");
    let space = modifiers
        .take_map(space_of)
        .ok_or_else(|| decoder.bad_form())?;
    let ty = modifiers
        .take_type()
        .filter(|ty| ty.bytes() == 8)
        .ok_or_else(|| decoder.bad_form())?;
    let source = decoder.source(1, ty)?;
    let dst = decoder.destination(0, ty)?;
    let base = window_base(space);
    match (base, to) {
        // Global and constant memory lie at their generic addresses.
        (0, _) => decoder.copy(dst, source),
        (_, true) => {
            // A window begins at a multiple of its size.
            let mask = decoder.bits(Class::Wide, window::BYTES - 1)?;
            decoder.op(Op::And64, dst, &[source, mask]);
        }
        (base, false) => {
            let base = decoder.bits(Class::Wide, base)?;
            decoder.op(Op::Add64, dst, &[source, base]);
        }
    }
    Ok(())
}

pub(super) fn isspacep(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    let named = |part: &str| Some((space_of(part)?, part != "shared::cluster"));
    let space = modifiers
        .take_map(named)
        .ok_or_else(|| decoder.bad_form())?;
    if space == (Space::Shared, true) {
        let own = Value::Reg(decoder.program.preset(Preset::ClusterRank));
        let source = decoder.source(1, Type::B64)?;
        let dst = decoder.destination(0, Type::Pred)?;
        decoder.scalar(cluster::is_own_shared, 0, dst, &[source, own]);
        return Ok(());
    }
    let window = match space.0 {
        Space::Shared => Window::Shared,
        Space::Local => Window::Local,
        Space::Const => Window::Constant,
        Space::Param => Window::Param,
        _ => Window::Global,
    };
    let source = decoder.source(1, Type::B64)?;
    let dst = decoder.destination(0, Type::Pred)?;
    decoder.scalar(is_in_window, window as u32, dst, &[source]);
    Ok(())
}

fn is_in_window(address: u64, _: u64, _: u64, window: u32) -> u64 {
    u64::from(Window::of(address) as u32 == window)
}

/// Where a lane finds its address of shared memory in another block of the cluster.
pub(super) fn mapa(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let ty = cluster_address_type(decoder, modifiers)?;
    let (source, rank) = (decoder.source(1, ty)?, decoder.source(2, Type::U32)?);
    let dst = decoder.destination(0, ty)?;
    decoder.scalar(cluster::map_to_rank, 0, dst, &[source, rank]);
    Ok(())
}

/// The rank of the block that an address of shared memory lies in.
pub(super) fn getctarank(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    let ty = cluster_address_type(decoder, modifiers)?;
    let source = decoder.source(1, ty)?;
    let dst = decoder.destination(0, Type::U32)?;
    let own = Value::Reg(decoder.program.preset(Preset::ClusterRank));
    decoder.scalar(cluster::rank_of, 0, dst, &[source, own]);
    Ok(())
}

/// The type of an address, of shared memory or generic.
fn cluster_address_type(
    decoder: &Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<Type, Fail> {
    let is_shared = modifiers.take("shared::cluster");
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    match ty {
        Type::U64 => Ok(ty),
        Type::U32 if is_shared => Ok(ty),
        _ => Err(decoder.bad_form()),
    }
}

/// A cache policy is good for instructions that take one, which here do without.
pub(super) fn create_policy(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    modifiers.take_all();
    let dst = decoder.destination(0, Type::B64)?;
    let none = decoder.bits(Class::Wide, 0)?;
    decoder.copy(dst, none);
    Ok(())
}
