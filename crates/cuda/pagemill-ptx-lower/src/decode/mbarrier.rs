//! Barriers that are objects in memory: `mbarrier`, and the arrival of asynchronous copies at them.
//!
//! Making an object is a store, every other operation one atomic change of its 64 bits, and waiting is a load. The state that
//! an arrival returns is the object as it was. See [`functions::mbarrier`](pagemill_ptx_ir::functions::mbarrier).

use super::context::Decoder;
use super::memory::{ORDERS, Place, memory_aux, place, space_of, store};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, MemoryAux, Value};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::{AccessKind, Atomic, CacheHint};
use pagemill_ptx_ir::functions::mbarrier as state;
use pagemill_ptx_ir::op::Op;

fn space(modifiers: &mut Modifiers<'_>) -> Space {
    while modifiers.take_one(&ORDERS).is_some() {}
    modifiers.take("release");
    modifiers.take_map(space_of).unwrap_or(Space::Generic)
}

/// Where an object lies: base, offset, space.
pub(super) type ObjectPlace = (Value, i64, Space);

/// The address of the object that operand `index` names.
pub(super) fn object(
    decoder: &mut Decoder<'_>,
    index: usize,
    space: Space,
) -> Result<ObjectPlace, Fail> {
    let operand = decoder.operand(index)?;
    match place(decoder, operand, space)? {
        Place::Memory {
            base,
            offset,
            space,
        } => Ok((base, offset, space)),
        _ => Err(decoder.fail("an mbarrier object lies in shared memory")),
    }
}

/// Changes the object by `apply`, with one operand; its old value goes to destination 0 if there is one.
fn change(
    decoder: &mut Decoder<'_>,
    (base, offset, space): ObjectPlace,
    apply: fn(u64, u64, u64) -> u64,
    operand: Value,
    returns: bool,
) -> Result<(), Fail> {
    let dsts = match returns && !matches!(decoder.operand(0)?, Operand::Sink) {
        true => vec![decoder.destination(0, Type::B64)?],
        false => Vec::new(),
    };
    let kind = match dsts.is_empty() {
        true => AccessKind::Reduction,
        false => AccessKind::Atomic,
    };
    let (class, hint) = (Class::Wide, CacheHint::Default);
    let aux = memory_aux(decoder, kind, space, offset, Type::B64, class, 1, hint)?;
    let aux = MemoryAux {
        atomic: Some(Atomic { apply }),
        ..aux
    };
    decoder.push(Op::Atomic, &dsts, &[base, operand], Aux::Memory(aux));
    Ok(())
}

/// Source operand `index` of 32 bits, as 64; `default` if there is none.
fn count(decoder: &mut Decoder<'_>, index: usize, default: u64) -> Result<Value, Fail> {
    if index >= decoder.operand_count() {
        return decoder.bits(Class::Wide, default);
    }
    let value = decoder.source(index, Type::B32)?;
    Ok(match decoder.literal(value) {
        Some(bits) => decoder.bits(Class::Wide, bits)?,
        None => decoder.fresh(Op::ZeroExtend32, Class::Wide, &[value]),
    })
}

/// Makes an object of what was there, for as many arrivals as operand `index` says.
fn set(
    decoder: &mut Decoder<'_>,
    index: usize,
    (base, offset, space): ObjectPlace,
) -> Result<(), Fail> {
    let arrivals = count(decoder, index, 0)?;
    let object = decoder.scalar_fresh(state::init, 0, Class::Wide, &[arrivals]);
    let (kind, class, hint) = (AccessKind::Store, Class::Wide, CacheHint::Default);
    let aux = memory_aux(decoder, kind, space, offset, Type::B64, class, 1, hint)?;
    decoder.push(Op::Store, &[], &[base, object], Aux::Memory(aux));
    Ok(())
}

pub(super) fn mbarrier(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    let Some(operation) = modifiers.take_one(&[
        "init",
        "inval",
        "arrive",
        "arrive_drop",
        "expect_tx",
        "complete_tx",
        "test_wait",
        "try_wait",
        "pending_count",
    ]) else {
        return Err(decoder.bad_form());
    };
    let has_parity = modifiers.take("parity");
    let expects = operation.starts_with("arrive") && modifiers.take("expect_tx");
    modifiers.take("noComplete");
    let space = space(modifiers);
    if !modifiers.take("b64") {
        return Err(decoder.bad_form());
    }
    if operation == "pending_count" {
        let value = decoder.source(1, Type::B64)?;
        let dst = decoder.destination(0, Type::B32)?;
        decoder.scalar(state::pending_count, 0, dst, &[value]);
        return Ok(());
    }
    if operation.ends_with("wait") {
        return wait(decoder, space, has_parity, operation == "try_wait");
    }
    let returns = operation.starts_with("arrive") && decoder.operand_count() > 1 && {
        // `mbarrier.arrive [object], 2` returns nothing.
        !matches!(decoder.operand(0)?, Operand::Address(_))
    };
    let first = usize::from(returns);
    let object = object(decoder, first, space)?;
    let (apply, default): (fn(u64, u64, u64) -> u64, u64) = match (operation, expects) {
        ("init" | "inval", _) => return set(decoder, first + 1, object),
        ("arrive", false) => (state::arrive, 1),
        ("arrive", true) => (state::arrive_expecting, 0),
        ("arrive_drop", false) => (state::drop, 1),
        ("arrive_drop", true) => (state::drop_expecting, 0),
        ("expect_tx", _) => (state::expect, 0),
        _ => (state::complete, 0),
    };
    let operand = count(decoder, first + 1, default)?;
    change(decoder, object, apply, operand, returns)
}

/// Whether the phase of a state, or of a parity, is over; one that is not may suspend the warp.
fn wait(
    decoder: &mut Decoder<'_>,
    space: Space,
    has_parity: bool,
    suspends: bool,
) -> Result<(), Fail> {
    let (base, offset, space) = object(decoder, 1, space)?;
    let (kind, class, hint) = (AccessKind::Load, Class::Wide, CacheHint::Volatile);
    let aux = memory_aux(decoder, kind, space, offset, Type::B64, class, 1, hint)?;
    let now = decoder.temporary(Class::Wide);
    decoder.push(Op::Load, &[now], &[base], Aux::Memory(aux));
    let dst = decoder.destination(0, Type::Pred)?;
    let phase = match has_parity {
        true => {
            let parity = decoder.source(2, Type::B32)?;
            decoder.scalar(state::is_past_parity, 0, dst, &[Value::Reg(now), parity]);
            parity
        }
        false => {
            let then = decoder.source(2, Type::B64)?;
            decoder.scalar(state::is_past, 0, dst, &[Value::Reg(now), then]);
            then
        }
    };
    let arrival = |suspends| Aux::Arrival {
        space,
        offset,
        slots: 0,
        suspends,
    };
    decoder.push_if(dst, Op::Arrival, &[], &[base, phase], arrival(false));
    if suspends {
        let is_not_over = decoder.temporary(Class::Predicate);
        decoder.logic(is_not_over, (dst, true), (dst, true), 0b1000);
        let operands = [base, phase];
        decoder.push_if(is_not_over, Op::Arrival, &[], &operands, arrival(true));
    }
    Ok(())
}

/// Whether an access is `.async`: then its bytes count at an object once they are there, which is at once.
pub(super) fn is_asynchronous(
    decoder: &Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<bool, Fail> {
    if !modifiers.take("async") {
        return Ok(false);
    }
    match modifiers.take("mbarrier::complete_tx::bytes") {
        true => Ok(true),
        false => Err(decoder.bad_form()),
    }
}

/// `st` and `st.async`.
pub(super) fn st(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let counts = is_asynchronous(decoder, modifiers)?;
    let (space, bytes) = store(decoder, modifiers)?;
    if counts {
        let bytes = decoder.bits(Class::Wide, bytes)?;
        let object = object(decoder, 2, space)?;
        count_bytes(decoder, object, bytes)?;
    }
    Ok(())
}

/// Counts `bytes` at an object.
pub(super) fn count_bytes(
    decoder: &mut Decoder<'_>,
    object: ObjectPlace,
    bytes: Value,
) -> Result<(), Fail> {
    change(decoder, object, state::complete, bytes, false)
}

/// `cp.async.mbarrier.arrive`: the copies before it are done here, so the arrival is at once. Without `.noinc`, it counts
/// for one more than was expected, and so changes nothing.
pub(super) fn copies_arrive(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    if !modifiers.take("arrive") {
        return Err(decoder.bad_form());
    }
    let counts = modifiers.take("noinc");
    let space = space(modifiers);
    if !modifiers.take("b64") {
        return Err(decoder.bad_form());
    }
    decoder.push(Op::Fence, &[], &[], Aux::WaitForCopies);
    let object = object(decoder, 0, space)?;
    let one = decoder.bits(Class::Wide, u64::from(counts))?;
    change(decoder, object, state::arrive, one, false)
}
