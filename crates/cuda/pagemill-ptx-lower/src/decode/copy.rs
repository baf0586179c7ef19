//! Asynchronous copies from global to shared memory: a load and a store, awaited only by the instructions that wait for copies.
//!
//! The bytes are there at once. In simulated time the load is under way until an instruction waits for copies; waiting for
//! all groups but some waits for all of them.

use super::bulk;
use super::context::Decoder;
use super::mbarrier;
use super::memory::{Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use super::tensor;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, MemoryAux, VReg, Value};
use pagemill_ptx_ir::ast::{Space, Type};
use pagemill_ptx_ir::code::{AccessKind, CacheHint};
use pagemill_ptx_ir::op::Op;

pub(super) fn cp(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let reduces = modifiers.take("reduce");
    if !modifiers.take("async") {
        return Err(decoder.bad_form());
    }
    if modifiers.take("bulk") {
        // A prefetch of a tensor is one like any other.
        return match !modifiers.has("prefetch") && modifiers.take("tensor") {
            true => tensor::copy(decoder, modifiers, reduces),
            false => bulk::cp(decoder, modifiers, reduces),
        };
    }
    if reduces {
        return Err(decoder.bad_form());
    }
    if modifiers.take("mbarrier") {
        return mbarrier::copies_arrive(decoder, modifiers);
    }
    match modifiers.take_one(&["commit_group", "wait_group", "wait_all"]) {
        Some("commit_group") => {
            decoder.push(Op::Nop, &[], &[], Aux::None);
            Ok(())
        }
        Some(_) => {
            // How many groups may be left: none is.
            decoder.optional(0);
            decoder.push(Op::Fence, &[], &[], Aux::WaitForCopies);
            Ok(())
        }
        None => copy(decoder, modifiers),
    }
}

fn copy(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let hint = match modifiers.take_one(&["ca", "cg"]) {
        Some("ca") => CacheHint::Default,
        Some(_) => CacheHint::GlobalLevel,
        None => return Err(decoder.bad_form()),
    };
    let is_shared = modifiers.take_map(space_of) == Some(Space::Shared);
    let is_global = modifiers.take_map(space_of) == Some(Space::Global);
    while modifiers
        .take_map(|part| part.starts_with("L2::").then_some(()))
        .is_some()
    {}
    let size = decoder.source(2, Type::B32)?;
    let (ty, count) = match decoder.literal(size) {
        Some(4) => (Type::B32, 1),
        Some(8) => (Type::B64, 1),
        Some(16) => (Type::B64, 2),
        _ => return Err(decoder.bad_form()),
    };
    if !is_shared || !is_global || decoder.operand_count() > 4 {
        return Err(decoder.bad_form());
    }
    let from = place(decoder, decoder.operand(1)?, Space::Global)?;
    let to = place(decoder, decoder.operand(0)?, Space::Shared)?;
    let (
        Place::Memory {
            base: from,
            offset: from_offset,
            ..
        },
        Place::Memory {
            base: to,
            offset: to_offset,
            ..
        },
    ) = (from, to)
    else {
        return Err(decoder.fail("parameters are not copied"));
    };
    let class = if ty == Type::B64 {
        Class::Wide
    } else {
        Class::Narrow
    };
    let aux = |decoder: &Decoder<'_>, kind, space, offset| {
        memory_aux(decoder, kind, space, offset, ty, class, count, hint)
    };
    let load = aux(decoder, AccessKind::Load, Space::Global, from_offset)?;
    let store = aux(decoder, AccessKind::Store, Space::Shared, to_offset)?;
    let loaded: Vec<VReg> = (0..count).map(|_| decoder.temporary(class)).collect();
    let mut values: Vec<Value> = loaded
        .iter()
        .map(|&register| Value::Reg(register))
        .collect();
    if decoder.operand_count() == 4 {
        values = load_some(decoder, &loaded, from, load, class)?;
    } else {
        decoder.push(Op::Load, &loaded, &[from], Aux::Memory(load));
    }
    let srcs: Vec<Value> = std::iter::once(to).chain(values).collect();
    decoder.push(Op::Store, &[], &srcs, Aux::Memory(store));
    Ok(())
}

/// Loads as many bytes as the fourth operand says; the others become zeros, and with none to read, the address may be
/// anything.
fn load_some(
    decoder: &mut Decoder<'_>,
    loaded: &[VReg],
    from: Value,
    load: MemoryAux,
    class: Class,
) -> Result<Vec<Value>, Fail> {
    let wanted = decoder.source(3, Type::B32)?;
    let zero = decoder.bits(class, 0)?;
    for &register in loaded {
        decoder.copy(register, zero);
    }
    let none = decoder.bits(Class::Narrow, 0)?;
    let condition = decoder.temporary(Class::Predicate);
    decoder.op(Op::NotEqual32, condition, &[wanted, none]);
    decoder.push_if(condition, Op::Load, loaded, &[from], Aux::Memory(load));
    let keep = |(part, register): (u32, &VReg)| {
        let value = Value::Reg(*register);
        decoder.scalar_fresh(keep_bytes, 8 * part, class, &[value, wanted])
    };
    Ok((0u32..).zip(loaded).map(keep).collect())
}

/// `value`, which lies `offset` bytes into what is copied, without the bytes from number `wanted` on.
fn keep_bytes(value: u64, wanted: u64, _: u64, offset: u32) -> u64 {
    let kept = wanted.saturating_sub(u64::from(offset)).min(8);
    match kept {
        8 => value,
        kept => value & ((1 << (8 * kept)) - 1),
    }
}
