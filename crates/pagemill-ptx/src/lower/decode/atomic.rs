//! Atomics and reductions.

use super::super::Fail;
use super::super::ir::{Aux, Class, MemoryAux, VReg};
use super::context::Decoder;
use super::memory::{ORDERS, Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use crate::ast::{Operand, Space};
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
    Ok(())
}
