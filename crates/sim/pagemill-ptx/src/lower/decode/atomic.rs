//! Atomics and reductions.

use super::super::Fail;
use super::super::ir::{Aux, Class, MemoryAux, VReg, Value};
use super::context::Decoder;
use super::mbarrier;
use super::memory::{ORDERS, Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use crate::ast::{Operand, Space, Type};
use crate::code::{AccessKind, Atomic, CacheHint};
use crate::exec::functions::atomic;
use crate::exec::op::Op;

pub(super) fn atom(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    atomic_access(decoder, modifiers, true)
}

pub(super) fn red(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    atomic_access(decoder, modifiers, false)
}

fn atomic_access(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    returns: bool,
) -> Result<(), Fail> {
    let counts = !returns && mbarrier::is_asynchronous(decoder, modifiers)?;
    while modifiers.take_one(&ORDERS).is_some() {}
    let space = modifiers.take_map(space_of).unwrap_or(Space::Generic);
    if !matches!(space, Space::Global | Space::Shared | Space::Generic) {
        return Err(decoder.bad_form());
    }
    modifiers.take("noftz");
    let operation = modifiers
        .take_one(&[
            "and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max",
        ])
        .ok_or_else(|| decoder.bad_form())?;
    if !returns && matches!(operation, "cas" | "exch") {
        return Err(decoder.bad_form());
    }
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if ty == Type::B128 {
        return wide_access(decoder, operation, space);
    }
    let apply = atomic::function(operation, ty).ok_or_else(|| decoder.bad_form())?;
    let first = usize::from(returns);
    let Place::Memory { base, offset, .. } = place(decoder, decoder.operand(first)?, space)? else {
        return Err(decoder.fail("atomic access to parameters"));
    };
    let mut srcs = vec![base, decoder.source(first + 1, ty)?];
    if operation == "cas" {
        srcs.push(decoder.source(first + 2, ty)?);
    }
    let dsts: Vec<VReg> = match returns && !matches!(decoder.operand(0)?, Operand::Sink) {
        true => vec![decoder.destination(0, ty)?],
        false => Vec::new(),
    };
    let kind = if dsts.is_empty() {
        AccessKind::Reduction
    } else {
        AccessKind::Atomic
    };
    let class = if ty.bytes() == 8 {
        Class::Wide
    } else {
        Class::Narrow
    };
    let aux = memory_aux(
        decoder,
        kind,
        space,
        offset,
        ty,
        class,
        1,
        CacheHint::Default,
    )?;
    let aux = MemoryAux {
        atomic: Some(Atomic { apply }),
        signed: false,
        ..aux
    };
    decoder.push(Op::Atomic, &dsts, &srcs, Aux::Memory(aux));
    if counts {
        let bytes = decoder.bits(Class::Wide, ty.bytes())?;
        let object = mbarrier::object(decoder, 2, space)?;
        mbarrier::count_bytes(decoder, object, bytes)?;
    }
    Ok(())
}

/// `cas` and `exch` of 128 bits: the old value and the operands are two registers each.
fn wide_access(decoder: &mut Decoder<'_>, operation: &str, space: Space) -> Result<(), Fail> {
    let operands = match operation {
        "exch" => 2..3,
        "cas" => 2..4,
        _ => return Err(decoder.bad_form()),
    };
    let Place::Memory { base, offset, .. } = place(decoder, decoder.operand(1)?, space)? else {
        return Err(decoder.fail("atomic access to parameters"));
    };
    let mut srcs = vec![base];
    for index in operands {
        let operand = decoder.operand(index)?;
        srcs.extend(decoder.halves(operand)?.map(Value::Reg));
    }
    let dsts = match decoder.operand(0)? {
        Operand::Sink => [Class::Wide; 2].map(|class| decoder.temporary(class)),
        operand => decoder.halves(operand)?,
    };
    let (kind, class, hint) = (AccessKind::Atomic, Class::Wide, CacheHint::Default);
    let aux = memory_aux(decoder, kind, space, offset, Type::B64, class, 2, hint)?;
    decoder.push(Op::Atomic, &dsts, &srcs, Aux::Memory(aux));
    Ok(())
}
