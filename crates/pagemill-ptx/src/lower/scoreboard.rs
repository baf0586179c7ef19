//! Which results arrive late, and who must wait for them: like the control codes that compilers emit for recent hardware.

use super::cfg::Graph;
use super::ir::{Aux, MemoryAux, Program};
use crate::ast::Space;
use crate::kernel::InstructionInfo;

/// Scoreboard slots of a warp.
const SLOTS: u32 = 64;

/// Gives every global, local or generic load, atomic with a result and texture fetch a slot, and every instruction its waits.
pub(super) fn assign(program: &mut Program, graph: &Graph, infos: &mut [InstructionInfo]) {
    let mut late = vec![0u64; program.classes.len()];
    let mut next = 0;
    for micro in &mut program.micros {
        let place = match &mut micro.aux {
            Aux::Memory(memory)
                if matches!(memory.space, Space::Global | Space::Local | Space::Generic) =>
            {
                &mut memory.slot
            }
            Aux::Texture { slot, .. } => slot,
            _ => continue,
        };
        if micro.dsts.is_empty() {
            continue;
        }
        let slot = (next % SLOTS) as u8;
        next += 1;
        *place = Some(slot);
        infos[micro.info as usize].slot = Some(slot);
        for dst in &micro.dsts {
            late[dst.index()] |= 1 << slot;
        }
    }
    let entry = solve(program, graph, &late);
    for (block, bounds) in graph.blocks.iter().enumerate() {
        let mut pending = entry[block];
        for micro in &program.micros[bounds.start..bounds.end] {
            let waits = waits_of(micro, &late) & pending;
            infos[micro.info as usize].wait_mask |= waits;
            pending = after(micro, pending & !waits);
        }
    }
}

/// Slots whose registers the operation reads or overwrites.
fn waits_of(micro: &super::ir::Micro, late: &[u64]) -> u64 {
    let reads = micro
        .sources()
        .fold(0, |mask, source| mask | late[source.index()]);
    micro
        .dsts
        .iter()
        .fold(reads, |mask, dst| mask | late[dst.index()])
}

fn after(micro: &super::ir::Micro, pending: u64) -> u64 {
    match &micro.aux {
        Aux::Memory(MemoryAux { slot, .. }) | Aux::Texture { slot, .. } => {
            pending | slot.map_or(0, |slot| 1 << slot)
        }
        _ => pending,
    }
}

/// Slots that may be pending at the start of each block: forward, any path.
fn solve(program: &Program, graph: &Graph, late: &[u64]) -> Vec<u64> {
    let mut entry = vec![0u64; graph.blocks.len()];
    let mut work: Vec<usize> = (0..graph.blocks.len()).rev().collect();
    while let Some(block) = work.pop() {
        let bounds = &graph.blocks[block];
        let mut pending = entry[block];
        for micro in &program.micros[bounds.start..bounds.end] {
            pending = after(micro, pending & !waits_of(micro, late));
        }
        for &successor in &bounds.successors {
            if let Some(known) = entry.get_mut(successor)
                && pending & !*known != 0
            {
                *known |= pending;
                work.push(successor);
            }
        }
    }
    entry
}
