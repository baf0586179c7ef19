//! Which registers a call must keep: those that are still needed behind it.
//!
//! Slots are shared by all functions of a kernel, so whatever a call leads to may overwrite any of them.

use crate::expand::signature::STACK_ALIGN;
use crate::flow::cfg::Graph;
use crate::flow::liveness::{Liveness, walk_back};
use crate::flow::program::{Class, Program, VReg};
use crate::registers::allocate::Slots;
use pagemill_ptx_ir::code::SavedSlots;
use pagemill_ptx_ir::op::Op;
use std::collections::{BTreeMap, HashSet};

/// What each call keeps, in the order of the calls.
pub(crate) fn at_calls(
    program: &Program,
    graph: &Graph,
    slots: &Slots,
    live: &Liveness,
) -> Vec<SavedSlots> {
    let Some(stack) = program.stack else {
        return Vec::new();
    };
    // The machine keeps these the same everywhere.
    let presets = program.presets.iter().map(|(_, register)| *register);
    let fixed: HashSet<VReg> = presets.chain([stack.pointer]).collect();
    let mut kept: BTreeMap<usize, SavedSlots> = BTreeMap::new();
    for (block, bounds) in graph.blocks.iter().enumerate() {
        let micros = &program.micros[bounds.start..bounds.end];
        if !micros.iter().any(|micro| micro.op == Op::Restore) {
            continue;
        }
        let mut alive = live.live_out[block].clone();
        walk_back(program, graph, block, &mut alive, |at, alive| {
            if program.micros[at].op != Op::Restore {
                return;
            }
            let needed = alive.iter().map(|register| VReg(register as u32));
            // A callee sets these two for itself.
            let needed = needed.chain([stack.frame, stack.arguments]);
            let needed: Vec<VReg> = needed
                .filter(|register| !fixed.contains(register))
                .collect();
            kept.insert(at, slots_of(program, slots, &needed));
        });
    }
    kept.into_values().collect()
}

fn slots_of(program: &Program, slots: &Slots, registers: &[VReg]) -> SavedSlots {
    let of_class = |class: Class| -> Vec<u16> {
        let own = registers.iter().filter(|own| program.class(**own) == class);
        let mut own: Vec<u16> = own.map(|own| slots.slot[own.index()]).collect();
        own.sort_unstable();
        own.dedup();
        own
    };
    let (narrow, wide) = (of_class(Class::Narrow), of_class(Class::Wide));
    let predicates = of_class(Class::Predicate);
    let words = narrow.len() + 2 * wide.len() + predicates.len().div_ceil(32);
    SavedSlots {
        bytes: (4 * words as u64).next_multiple_of(STACK_ALIGN) as u32,
        narrow,
        wide,
        predicates,
    }
}
