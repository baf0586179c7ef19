//! Machine code beside the interpreter: what it may reach of memory, and what it says of an access.

use super::due::Due;
use super::pattern::Pattern;
use super::step::{AccessSpace, LanePlaces, MemoryAccess};
use crate::memory::DeviceMemory;
use pagemill_ptx_ir::address::window;
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{AccessKind, Code, MemoryInst};
use pagemill_ptx_ir::info::Prefix;
use pagemill_ptx_native::{Native, Reach, Routine, Windows};

/// `routine` at work for a warp of a block of `code`, whose `shared` memory and windows these are.
pub(crate) fn native<'a>(
    (routine, costs): (&'a Routine, &'a [Prefix]),
    windows: &'a mut Windows,
    (code, memory, shared): (&Code, &DeviceMemory, &mut [u8]),
) -> Native<'a> {
    windows.refresh(code, (memory.identity(), memory.generation()), shared);
    // SAFETY: a block's registers and local memory are sized by the code of its launch, of which the routine and the costs are.
    // Its windows learn only of allocations ([`learn`]), which do not move before the generation changes; an advance borrows
    // memory and block for writing.
    unsafe { Native::new(routine, windows, costs) }
}

/// Lets machine code find the bytes of `inst`, which was just executed, by itself from now on: those of allocation `at`, and if
/// only what kernels have touched around an address may be used, there.
pub(crate) fn learn(
    windows: &mut Windows,
    inst: &MemoryInst,
    memory: &mut DeviceMemory,
    at: (u32, Option<u64>),
) {
    if let Some(found) = reach(inst, memory, at) {
        windows.learn(inst, &found);
    }
}

fn reach(
    inst: &MemoryInst,
    memory: &mut DeviceMemory,
    (at, address): (u32, Option<u64>),
) -> Option<Reach> {
    let at = at as usize;
    if matches!(inst.space, Space::Shared | Space::Local | Space::Param) {
        return None;
    }
    let is_load = inst.kind == AccessKind::Load;
    if at >= memory.allocations().len() || memory.is_read_only(at) && !is_load {
        return None;
    }
    let marks = match &mut memory.part {
        Some(part) => part.marks_of(at, is_load)?,
        None => 0,
    };
    let allocation = &memory.allocations()[at];
    let all = allocation.address()..allocation.address() + allocation.bytes();
    let all_end = all.end;
    let free = address.map_or(all, |address| memory.free_around(at, address));
    let base = allocation.address();
    let data = match is_load {
        true => memory.data(at).1.as_ptr().expose_provenance(),
        false => memory.data_mut(at).1.as_mut_ptr().expose_provenance(),
    };
    // The access may have been to another allocation than its hint says.
    if free.start < base || free.end > all_end || free.start > free.end {
        return None;
    }
    let host = data + (free.start - base) as usize;
    let (base, bytes) = (free.start, free.end - free.start);
    // Generic addresses of the windows mean other memory.
    if inst.space == Space::Generic && base.saturating_add(bytes) > window::SHARED {
        return None;
    }
    Some(Reach {
        base,
        bytes,
        host,
        marks,
        allocation: at as u32,
    })
}

/// Describes the access of `inst` that the last stay of `native` ended before, and what need not be found out again.
pub(crate) fn describe(
    native: &Native<'_>,
    inst: &MemoryInst,
    memory: &DeviceMemory,
    access: &mut MemoryAccess,
) -> Due {
    let announced = native.announced(inst);
    let first = announced.first;
    let lane_bytes = inst.lane_bytes();
    access.kind = inst.kind;
    access.space = AccessSpace::Global;
    access.lane_bytes = lane_bytes;
    access.mask = announced.mask;
    access.slot = inst.slot;
    access.cache_hint = inst.hint;
    access.places = match announced.is_row {
        true => LanePlaces::Row { first },
        false => LanePlaces::Together { at: first },
    };
    let at = announced.allocation;
    let place = first.wrapping_sub(memory.allocations()[at as usize].address()) as usize;
    Due::Whole {
        at,
        pattern: match announced.is_row {
            true => Pattern::Block { start: place },
            false => Pattern::Broadcast { at: place },
        },
        generation: memory.generation(),
    }
}
