//! Bulk copies and reductions: one thread moves many bytes between global and shared memory, or between shared memories of a
//! cluster.
//!
//! Here they are a loop over 16 bytes, or over elements of a reduction. The bytes are there at once. In simulated time a copy is
//! one access for each 128 bytes of global memory, and the thread goes on while they are under way; it waits for them when it
//! waits for groups, and before its copy counts at an mbarrier object.

use super::super::Fail;
use super::super::ir::{Aux, Class, MemoryAux, VReg, Value};
use super::context::Decoder;
use super::mbarrier;
use super::memory::{Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use crate::ast::{Space, Type};
use crate::code::{AccessKind, Atomic, CacheHint, ScalarFn};
use crate::exec::functions::atomic;
use crate::exec::op::Op;

/// Bytes of global memory that are one access in simulated time.
const SEGMENT_BYTES: u64 = 128;

/// One side: where the next step is, in a register that the loop moves on.
struct Side {
    at: VReg,
    space: Space,
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`, behind these words.
pub(super) fn cp(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    reduces: bool,
) -> Result<(), Fail> {
    if let Some(aux) = beside(decoder, modifiers)? {
        decoder.push(Op::Nop, &[], &[], aux);
        return Ok(());
    }
    let spaces = (modifiers.take_map(space_of), modifiers.take_map(space_of));
    let (Some(to_space), Some(from_space)) = spaces else {
        return Err(decoder.bad_form());
    };
    let counts = modifiers.take("mbarrier::complete_tx::bytes");
    if counts == modifiers.take("bulk_group") {
        return Err(decoder.bad_form());
    }
    modifiers.take("L2::cache_hint");
    let element = match reduces {
        true => Some(element(decoder, modifiers)?),
        false => None,
    };
    let size = decoder.source(2, Type::B32)?;
    let (skip, again, behind) = (
        decoder.new_label(),
        decoder.new_label(),
        decoder.new_label(),
    );
    decoder.skip_unless_guarded(skip);
    let to = side(decoder, 0, to_space)?;
    let from = side(decoder, 1, from_space)?;
    let done = decoder.temporary(Class::Narrow);
    let none = decoder.bits(Class::Narrow, 0)?;
    decoder.copy(done, none);

    decoder.set_label(again);
    let goes_on = decoder.temporary(Class::Predicate);
    decoder.op(Op::LessU32, goes_on, &[Value::Reg(done), size]);
    decoder.push_guarded(Op::Branch, Aux::Target(behind), Some((goes_on, true)));
    let step = step(decoder, &to, &from, done, element)?;
    for register in [done, to.at, from.at] {
        advance(decoder, register, step)?;
    }
    decoder.push(Op::Branch, &[], &[], Aux::Target(again));

    decoder.set_label(behind);
    if counts {
        decoder.continue_as("mbarrier.complete_tx");
        decoder.push(Op::Nop, &[], &[], Aux::WaitForCopies);
        let bytes = decoder.fresh(Op::ZeroExtend32, Class::Wide, &[Value::Reg(done)]);
        mbarrier::count_bytes(decoder, 3, to_space, bytes)?;
    }
    decoder.set_label(skip);
    Ok(())
}

/// What is no copy: groups, of which waiting for some waits for all, and prefetches, which change nothing.
fn beside(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<Option<Aux>, Fail> {
    match modifiers.take_one(&["commit_group", "wait_group", "prefetch", "tensor"]) {
        None => Ok(None),
        Some("commit_group") => Ok(Some(Aux::None)),
        Some("wait_group") => {
            modifiers.take("read");
            Ok(Some(Aux::WaitForCopies))
        }
        Some("prefetch") => {
            let hints = ["L2", "global", "L2::cache_hint"];
            while modifiers.take_one(&hints).is_some() {}
            Ok(Some(Aux::None))
        }
        Some(_) => Err(decoder.bad_form()),
    }
}

/// The operation and type of a reduction.
fn element(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(Type, Atomic), Fail> {
    modifiers.take("noftz");
    let operation = modifiers.take_one(&["and", "or", "xor", "add", "inc", "dec", "min", "max"]);
    let ty = modifiers.take_type();
    let (Some(operation), Some(ty)) = (operation, ty) else {
        return Err(decoder.bad_form());
    };
    let apply = atomic::function(operation, ty).ok_or_else(|| decoder.bad_form())?;
    Ok((ty, Atomic { apply }))
}

/// Operand `index` as a side in `space`.
fn side(decoder: &mut Decoder<'_>, index: usize, space: Space) -> Result<Side, Fail> {
    let operand = decoder.operand(index)?;
    let Place::Memory {
        base,
        offset,
        space,
    } = place(decoder, operand, space)?
    else {
        return Err(decoder.fail("parameters are not copied"));
    };
    let class = decoder.class(base);
    let at = decoder.temporary(class);
    decoder.copy(at, base);
    advance(decoder, at, offset as u64)?;
    Ok(Side { at, space })
}

/// Moves 16 bytes, or combines one element; gives the bytes that this is.
fn step(
    decoder: &mut Decoder<'_>,
    to: &Side,
    from: &Side,
    done: VReg,
    element: Option<(Type, Atomic)>,
) -> Result<u64, Fail> {
    let (ty, count) = element.as_ref().map_or((Type::B64, 2), |(ty, _)| (*ty, 1));
    let bytes = ty.bytes() * count as u64;
    let class = match ty.bytes() {
        8 => Class::Wide,
        _ => Class::Narrow,
    };
    let aux = |decoder: &Decoder<'_>, kind, side: &Side| {
        let (space, hint) = (side.space, CacheHint::GlobalLevel);
        memory_aux(decoder, kind, space, 0, ty, class, count, hint)
    };
    let load = aux(decoder, AccessKind::Load, from)?;
    let loaded: Vec<VReg> = (0..count).map(|_| decoder.temporary(class)).collect();
    access(decoder, from, (done, bytes), Op::Load, &loaded, &[], load);
    let values: Vec<Value> = loaded.into_iter().map(Value::Reg).collect();
    let (op, change) = match element {
        None => (Op::Store, aux(decoder, AccessKind::Store, to)?),
        Some((_, apply)) => {
            let change = aux(decoder, AccessKind::Reduction, to)?;
            let (atomic, signed) = (Some(apply), false);
            (
                Op::Atomic,
                MemoryAux {
                    atomic,
                    signed,
                    ..change
                },
            )
        }
    };
    access(decoder, to, (done, bytes), op, &[], &values, change);
    Ok(bytes)
}

/// One access of a step. In simulated time the first access to a segment of global memory stands for all, and the first store
/// of a copy for all that cross the cluster.
fn access(
    decoder: &mut Decoder<'_>,
    side: &Side,
    (done, bytes): (VReg, u64),
    op: Op,
    dsts: &[VReg],
    values: &[Value],
    aux: MemoryAux,
) {
    let at = Value::Reg(side.at);
    let srcs = [&[at], values].concat();
    let begins: ScalarFn = match (side.space, op) {
        (Space::Global, _) => begins_segment,
        (_, Op::Load) => return decoder.push(op, dsts, &srcs, Aux::Memory(aux)),
        _ => begins_copy,
    };
    let is_first = decoder.temporary(Class::Predicate);
    decoder.scalar(begins, bytes as u32, is_first, &[at, Value::Reg(done)]);
    let is_later = decoder.temporary(Class::Predicate);
    decoder.logic(is_later, (is_first, true), (is_first, true), 0b1000);
    let untimed = MemoryAux {
        untimed: true,
        ..aux.clone()
    };
    decoder.push_if(is_first, op, dsts, &srcs, Aux::Memory(aux));
    decoder.push_if(is_later, op, dsts, &srcs, Aux::Memory(untimed));
}

fn begins_copy(_: u64, done: u64, _: u64, _: u32) -> u64 {
    u64::from(done == 0)
}

/// Whether a step of `bytes` bytes begins a segment or the copy.
fn begins_segment(at: u64, done: u64, _: u64, bytes: u32) -> u64 {
    u64::from(done == 0 || at % SEGMENT_BYTES < u64::from(bytes))
}

fn advance(decoder: &mut Decoder<'_>, register: VReg, bytes: u64) -> Result<(), Fail> {
    let class = decoder.class(Value::Reg(register));
    let (op, bytes) = match class {
        Class::Wide => (Op::Add64, bytes),
        _ => (Op::Add32, u64::from(bytes as u32)),
    };
    let bytes = decoder.bits(class, bytes)?;
    decoder.op(op, register, &[Value::Reg(register), bytes]);
    Ok(())
}
