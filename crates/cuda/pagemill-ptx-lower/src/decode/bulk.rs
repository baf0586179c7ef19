//! Bulk copies and reductions: one thread moves many bytes between global and shared memory, or between shared memories of a
//! cluster.
//!
//! Here they are a loop over 16 bytes, or over elements of a reduction. The bytes are there at once. In simulated time a copy is
//! one access for each 128 bytes of global memory, and the thread goes on while they are under way; it waits for them when it
//! waits for groups. A phase of an mbarrier object at which they count is not seen to be over before they are there.

use super::blocks::Blocks;
use super::context::Decoder;
use super::mbarrier;
use super::memory::{Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, MemoryAux, VReg, Value};
use pagemill_ptx_ir::ast::{Space, Type};
use pagemill_ptx_ir::code::{AccessKind, Atomic, CacheHint, ScalarFn};
use pagemill_ptx_ir::op::Op;
use pagemill_ptx_ir::tensor::walk;

/// Bytes of global memory that are one access in simulated time.
const SEGMENT_BYTES: u64 = 128;

/// Dimensions of a tensor, as opcodes name them.
pub(super) const RANKS: [&str; 5] = ["1d", "2d", "3d", "4d", "5d"];

/// One side: where the next step is, in a register that the loop moves on.
pub(super) struct Side {
    pub at: VReg,
    pub space: Space,
}

/// One step of the loop: how far it is, how many bytes it moves, whether these bytes went to another block before, and where
/// it moves any.
pub(super) struct Step {
    pub done: Value,
    pub bytes: u64,
    pub repeats: Value,
    pub only_if: Option<VReg>,
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`, behind these words.
pub(super) fn cp(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    reduces: bool,
) -> Result<(), Fail> {
    if let Some(aux) = beside(modifiers) {
        // How many groups may be left, or what is fetched: neither matters.
        decoder.operand_count();
        decoder.push(Op::Nop, &[], &[], aux);
        return Ok(());
    }
    let spaces = (modifiers.take_map(space_of), modifiers.take_map(space_of));
    let (Some(to_space), Some(from_space)) = spaces else {
        return Err(decoder.bad_form());
    };
    let counts = modifiers.take("mbarrier::complete_tx::bytes");
    // One of the two, and not both.
    if counts == modifiers.take("bulk_group") {
        return Err(decoder.bad_form());
    }
    let to_several = modifiers.take("multicast::cluster");
    modifiers.take("L2::cache_hint");
    let element = match reduces {
        true => Some(element(decoder, modifiers)?),
        false => None,
    };
    let size = decoder.source(2, Type::B32)?;
    let skip = decoder.new_label();
    decoder.skip_unless_guarded(skip);
    let blocks = Blocks::begin(decoder, to_several.then_some(4))?;
    let to = side(decoder, 0, to_space)?;
    blocks.turn(decoder, to.at);
    let from = side(decoder, 1, from_space)?;
    let done = every_step(decoder, (&to, &from), size, &blocks, element)?;
    if counts {
        let bytes = decoder.fresh(Op::ZeroExtend32, Class::Wide, &[Value::Reg(done)]);
        arrive(decoder, (3, to_space), &blocks, bytes)?;
    }
    blocks.end(decoder)?;
    decoder.set_label(skip);
    Ok(())
}

//   done = 0
//   again: if done >= size goto behind
//          store to `to` what a load gives at `from`, or combine it
//          done, to, from += 16, or an element
//          goto again
//   behind:
/// The loop over `size` bytes; the register that counts them.
fn every_step(
    decoder: &mut Decoder<'_>,
    (to, from): (&Side, &Side),
    size: Value,
    blocks: &Blocks,
    element: Option<(Type, Atomic)>,
) -> Result<VReg, Fail> {
    let (again, behind) = (decoder.new_label(), decoder.new_label());
    let done = decoder.temporary(Class::Narrow);
    let none = decoder.bits(Class::Narrow, 0)?;
    decoder.copy(done, none);
    decoder.set_label(again);
    let goes_on = decoder.temporary(Class::Predicate);
    decoder.op(Op::LessU32, goes_on, &[Value::Reg(done), size]);
    decoder.push_guarded(Op::Branch, Aux::Target(behind), Some((goes_on, true)));
    let step = step(decoder, to, from, (done, blocks.repeats), element)?;
    for register in [done, to.at, from.at] {
        advance(decoder, register, step)?;
    }
    decoder.push(Op::Branch, &[], &[], Aux::Target(again));
    decoder.set_label(behind);
    Ok(done)
}

/// Lets `bytes` bytes count at the mbarrier object that operand `index` names, once they are there.
pub(super) fn arrive(
    decoder: &mut Decoder<'_>,
    (index, space): (usize, Space),
    blocks: &Blocks,
    bytes: Value,
) -> Result<(), Fail> {
    decoder.continue_as("mbarrier.complete_tx");
    let (base, offset, space) = mbarrier::object(decoder, index, space)?;
    let class = decoder.class(base);
    let at = decoder.temporary(class);
    decoder.copy(at, base);
    blocks.turn(decoder, at);
    let arrival = Aux::Arrival {
        space,
        offset,
        slots: 0,
        suspends: false,
    };
    decoder.push(Op::Arrival, &[], &[Value::Reg(at)], arrival);
    mbarrier::count_bytes(decoder, (Value::Reg(at), offset, space), bytes)
}

/// What is no copy: groups, of which waiting for some waits for all, and prefetches, which change nothing.
fn beside(modifiers: &mut Modifiers<'_>) -> Option<Aux> {
    match modifiers.take_one(&["commit_group", "wait_group", "prefetch"]) {
        None => None,
        Some("commit_group") => Some(Aux::None),
        Some("wait_group") => {
            modifiers.take("read");
            Some(Aux::WaitForCopies)
        }
        Some(_) => {
            let hints = ["L2", "global", "L2::cache_hint", "tensor", "tile"];
            while modifiers.take_one(&hints).is_some() {}
            modifiers.take_one(&RANKS);
            Some(Aux::None)
        }
    }
}

/// The operation and type of a reduction.
fn element(decoder: &Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(Type, Atomic), Fail> {
    modifiers.take("noftz");
    let operation = modifiers.take_one(&walk::OPERATIONS);
    let ty = modifiers.take_type();
    let (Some(operation), Some(ty)) = (operation, ty) else {
        return Err(decoder.bad_form());
    };
    let apply = walk::bulk_function(operation, ty).ok_or_else(|| decoder.bad_form())?;
    Ok((ty, Atomic { apply }))
}

/// Operand `index` as a side in `space`.
pub(super) fn side(decoder: &mut Decoder<'_>, index: usize, space: Space) -> Result<Side, Fail> {
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
    (done, repeats): (VReg, Value),
    element: Option<(Type, Atomic)>,
) -> Result<u64, Fail> {
    let (ty, count) = element.as_ref().map_or((Type::B64, 2), |(ty, _)| (*ty, 1));
    let step = Step {
        done: Value::Reg(done),
        bytes: ty.bytes() * count as u64,
        repeats,
        only_if: None,
    };
    let loaded = load(decoder, from, &step, (ty, count), None)?;
    match element {
        None => store(decoder, to, &step, ty, &loaded)?,
        Some((ty, apply)) => combine(decoder, to, &step, (ty, apply), &loaded)?,
    }
    Ok(step.bytes)
}

/// The class of registers that hold values of `ty`.
pub(super) fn class_of(ty: Type) -> Class {
    match ty.bytes() {
        8 => Class::Wide,
        _ => Class::Narrow,
    }
}

fn aux(
    decoder: &Decoder<'_>,
    kind: AccessKind,
    side: &Side,
    (ty, count): (Type, usize),
) -> Result<MemoryAux, Fail> {
    let hint = CacheHint::GlobalLevel;
    memory_aux(decoder, kind, side.space, 0, ty, class_of(ty), count, hint)
}

/// Loads `count` values into registers, which hold `instead` where the step moves nothing.
pub(super) fn load(
    decoder: &mut Decoder<'_>,
    from: &Side,
    step: &Step,
    (ty, count): (Type, usize),
    instead: Option<Value>,
) -> Result<Vec<Value>, Fail> {
    let aux = aux(decoder, AccessKind::Load, from, (ty, count))?;
    let loaded: Vec<VReg> = (0..count)
        .map(|_| decoder.temporary(class_of(ty)))
        .collect();
    if let Some(value) = instead {
        for &register in &loaded {
            decoder.copy(register, value);
        }
    }
    access(decoder, from, step, Op::Load, &loaded, &[], aux);
    Ok(loaded.into_iter().map(Value::Reg).collect())
}

pub(super) fn store(
    decoder: &mut Decoder<'_>,
    to: &Side,
    step: &Step,
    ty: Type,
    values: &[Value],
) -> Result<(), Fail> {
    let aux = aux(decoder, AccessKind::Store, to, (ty, values.len()))?;
    access(decoder, to, step, Op::Store, &[], values, aux);
    Ok(())
}

/// Changes a value in memory; the operands are those of the function.
pub(super) fn combine(
    decoder: &mut Decoder<'_>,
    to: &Side,
    step: &Step,
    (ty, apply): (Type, Atomic),
    operands: &[Value],
) -> Result<(), Fail> {
    let aux = MemoryAux {
        atomic: Some(apply),
        signed: false,
        ..aux(decoder, AccessKind::Reduction, to, (ty, 1))?
    };
    access(decoder, to, step, Op::Atomic, &[], operands, aux);
    Ok(())
}

/// One access of a step. In simulated time the first access to a segment of global memory stands for all, and the first store
/// of a copy for all that cross the cluster.
fn access(
    decoder: &mut Decoder<'_>,
    side: &Side,
    step: &Step,
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
    let begins_here = decoder.temporary(Class::Predicate);
    let operands = [at, step.done, step.repeats];
    decoder.scalar(begins, step.bytes as u32, begins_here, &operands);
    let (is_first, is_later) = (
        decoder.temporary(Class::Predicate),
        decoder.temporary(Class::Predicate),
    );
    for (condition, negated) in [(is_first, false), (is_later, true)] {
        let begins = (begins_here, negated);
        let moves = step.only_if.map_or(begins, |only_if| (only_if, false));
        decoder.logic(condition, begins, moves, 0b1000);
    }
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
fn begins_segment(at: u64, done: u64, repeats: u64, bytes: u32) -> u64 {
    // Steps have one size, so the one that enters a segment begins within a step of its border.
    u64::from(repeats == 0 && (done == 0 || at % SEGMENT_BYTES < u64::from(bytes)))
}

pub(super) fn advance(decoder: &mut Decoder<'_>, register: VReg, bytes: u64) -> Result<(), Fail> {
    let class = decoder.class(Value::Reg(register));
    let (op, bytes) = match class {
        Class::Wide => (Op::Add64, bytes),
        _ => (Op::Add32, u64::from(bytes as u32)),
    };
    let bytes = decoder.bits(class, bytes)?;
    decoder.op(op, register, &[Value::Reg(register), bytes]);
    Ok(())
}
