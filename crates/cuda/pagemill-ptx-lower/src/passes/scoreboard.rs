//! Which results arrive late, and who must wait for them: like the control codes that compilers emit for recent hardware.

use crate::flow::cfg::Graph;
use crate::flow::program::{Aux, MemoryAux, Micro, Program};
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::info::InstructionInfo;
use pagemill_ptx_ir::op::Op;

/// Scoreboard slots of a warp.
const SLOTS: u32 = 64;

// What may be pending before each instruction is a data-flow problem over all paths:
//
//   ld.global r1   slot 0            nothing pending
//   ld.global r2   slot 1            {0}
//   add r3, r1, 1  waits for {0}     {0, 1}
//   mov r2, 0      waits for {1}     {1}: the load must not come behind it
/// Gives every global, local or generic load, atomic with a result and texture fetch a slot, and every instruction its waits.
pub(crate) fn assign(program: &mut Program, graph: &Graph, infos: &mut [InstructionInfo]) {
    let mut late = vec![0u64; program.classes.len()];
    let mut own = vec![0u64; infos.len()];
    let mut counted = vec![false; infos.len()];
    let mut next = 0;
    for micro in &mut program.micros {
        let place = match &mut micro.aux {
            Aux::Memory(memory)
                if !memory.untimed
                    && matches!(memory.space, Space::Global | Space::Local | Space::Generic) =>
            {
                &mut memory.slot
            }
            Aux::Texture { slot, .. } => slot,
            _ => continue,
        };
        // No instruction waits for a store.
        if micro.dsts.is_empty() {
            continue;
        }
        // In turn: where more than 64 results are late at once, two share a slot, and a wait for one is a wait for both.
        let slot = (next % SLOTS) as u8;
        next += 1;
        *place = Some(slot);
        infos[micro.info as usize].slot = Some(slot);
        own[micro.info as usize] |= 1 << slot;
        for dst in &micro.dsts {
            late[dst.index()] |= 1 << slot;
        }
    }
    for micro in &mut program.micros {
        // It belongs to the copy before it, which is the instruction before it.
        if let Aux::Arrival { slots, .. } = &mut micro.aux
            && micro.srcs.len() == 1
        {
            let copy = (micro.info as usize).saturating_sub(1);
            *slots = own[copy];
            counted[copy] = true;
        }
    }
    let late = Late {
        slots: late,
        own,
        counted,
        infos: &*infos,
    };
    let entry = solve(program, graph, &late);
    let mut waits_by_info = vec![0; infos.len()];
    for (block, bounds) in graph.blocks.iter().enumerate() {
        let mut pending = entry[block];
        for micro in &program.micros[bounds.start..bounds.end] {
            let waits = late.waits_of(micro) & pending;
            waits_by_info[micro.info as usize] |= waits;
            pending = after(micro, pending & !waits);
        }
    }
    for (info, waits) in infos.iter_mut().zip(waits_by_info) {
        info.wait_mask |= waits;
    }
}

/// What arrives late.
struct Late<'a> {
    /// By register, the slots that it may be written under.
    slots: Vec<u64>,
    /// By instruction, the slots of its own loads.
    own: Vec<u64>,
    /// By instruction, whether it is a copy that counts at a barrier object, for which groups do not wait.
    counted: Vec<bool>,
    infos: &'a [InstructionInfo],
}

impl Late<'_> {
    fn is_copy(&self, micro: &Micro) -> bool {
        self.infos[micro.info as usize]
            .opcode
            .starts_with("cp.async")
    }

    /// Slots that the operation waits for: those of registers that it reads or overwrites. An asynchronous copy does not wait
    /// for its own load; a wait for copies does.
    fn waits_of(&self, micro: &Micro) -> u64 {
        if matches!(micro.aux, Aux::WaitForCopies) {
            let copies = self.infos.iter().zip(self.own.iter().zip(&self.counted));
            return copies
                .filter(|(info, (_, counted))| !**counted && info.opcode.starts_with("cp.async"))
                .fold(0, |slots, (_, (own, _))| slots | own);
        }
        // The other function knows nothing of what is still to arrive.
        if matches!(micro.op, Op::Call | Op::Return) {
            return u64::MAX;
        }
        let sources = micro.sources();
        let waits = sources
            .chain(micro.dsts.iter().copied())
            .fold(0, |mask, register| mask | self.slots[register.index()]);
        match self.is_copy(micro) {
            true => waits & !self.own[micro.info as usize],
            false => waits,
        }
    }
}

fn after(micro: &Micro, pending: u64) -> u64 {
    match &micro.aux {
        Aux::Memory(MemoryAux { slot, .. }) | Aux::Texture { slot, .. } => {
            pending | slot.map_or(0, |slot| 1 << slot)
        }
        _ => pending,
    }
}

/// Slots that may be pending at the start of each block: forward, any path.
fn solve(program: &Program, graph: &Graph, late: &Late<'_>) -> Vec<u64> {
    let mut entry = vec![0u64; graph.blocks.len()];
    // The first block is taken first: most blocks then know all that reaches them, and only loops are gone through again.
    let mut work: Vec<usize> = (0..graph.blocks.len()).rev().collect();
    while let Some(block) = work.pop() {
        let bounds = &graph.blocks[block];
        let mut pending = entry[block];
        for micro in &program.micros[bounds.start..bounds.end] {
            pending = after(micro, pending & !late.waits_of(micro));
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
