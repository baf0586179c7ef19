//! Atomics and reductions.

use super::context::{Decoder, class_of};
use super::matrix::parts;
use super::mbarrier;
use super::memory::{ORDERS, Place, memory_aux, place, space_of, vector_count};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, MemoryAux, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::{AccessKind, Atomic, CacheHint};
use pagemill_ptx_ir::functions::atomic;
use pagemill_ptx_ir::op::Op;

pub(super) fn atom(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    atomic_access(decoder, modifiers, true)
}

pub(super) fn red(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    atomic_access(decoder, modifiers, false)
}

const OPERATIONS: [&str; 10] = [
    "and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max",
];

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
        .take_one(&OPERATIONS)
        .ok_or_else(|| decoder.bad_form())?;
    if !returns && matches!(operation, "cas" | "exch") {
        return Err(decoder.bad_form());
    }
    let count = vector_count(modifiers);
    let ty = modifiers.take_type().ok_or_else(|| decoder.bad_form())?;
    if let Some(count) = count {
        return vector_access(decoder, (operation, ty), count.into(), space, returns);
    }
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
    // Into a sink, an atomic is a reduction: no lane waits for it.
    let kind = if dsts.is_empty() {
        AccessKind::Reduction
    } else {
        AccessKind::Atomic
    };
    let (class, hint) = (class_of(ty), CacheHint::Default);
    let aux = memory_aux(decoder, kind, space, offset, ty, class, 1, hint)?;
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

/// Several elements one behind the other, each of which is atomic by itself.
fn vector_access(
    decoder: &mut Decoder<'_>,
    (operation, ty): (&str, Type),
    count: usize,
    space: Space,
    returns: bool,
) -> Result<(), Fail> {
    let is_known = match ty {
        Type::F32 => operation == "add" && count < 8,
        Type::F16 | Type::Bf16 => true,
        Type::F16x2 | Type::Bf16x2 => count < 8,
        _ => false,
    };
    let apply = atomic::vector_function(operation, ty).filter(|_| is_known);
    let first = usize::from(returns);
    let values = parts(decoder.operand(first + 1)?);
    // The PTX manual has vectors of them for global memory alone.
    let (Some(apply), true, true) = (apply, space != Space::Shared, values.len() == count) else {
        return Err(decoder.bad_form());
    };
    let Place::Memory { base, offset, .. } = place(decoder, decoder.operand(first)?, space)? else {
        return Err(decoder.fail("atomic access to parameters"));
    };
    let mut olds = Vec::new();
    for (index, value) in (0..).zip(values) {
        let value = decoder.value(value, ty)?;
        let kind = match returns {
            true => AccessKind::Atomic,
            false => AccessKind::Reduction,
        };
        let (class, hint) = (Class::Narrow, CacheHint::Default);
        let offset = offset + index * ty.bytes() as i64;
        let aux = memory_aux(decoder, kind, space, offset, ty, class, 1, hint)?;
        let aux = MemoryAux {
            atomic: Some(Atomic { apply }),
            signed: false,
            ..aux
        };
        // A result may go where the next element's operand is.
        let old: Vec<_> = (0..first).map(|_| decoder.temporary(class)).collect();
        decoder.push(Op::Atomic, &old, &[base, value], Aux::Memory(aux));
        olds.extend(old);
    }
    if !returns || matches!(decoder.operand(0)?, Operand::Sink) {
        return Ok(());
    }
    let targets = parts(decoder.operand(0)?);
    if targets.len() != count {
        return Err(decoder.bad_form());
    }
    for (target, old) in targets.iter().zip(olds) {
        let dst = decoder.destination_of(target, ty)?;
        decoder.copy(dst, Value::Reg(old));
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
