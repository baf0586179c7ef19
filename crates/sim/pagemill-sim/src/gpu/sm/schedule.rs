//! What each instruction of a kernel costs when nothing is contended: an in-order, one-issue schedule of each basic block.
//!
//! An instruction issues when the one before it has left the issue stage and its operands are there. The time until
//! the next one issues is its share of the block's latency, as a compiler's stall counts have it. Results of memory
//! accesses are not waited for here: the scoreboard does that.

use crate::gpu::machine::{InstructionTiming, InstructionTimings};
use pagemill_ptx::{InstructionClass, InstructionInfo};

/// Costs of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Cycles its scheduler is occupied.
    pub(crate) issue_cycles: u32,
    /// Cycles until the next instruction of the warp issues.
    pub(crate) latency_cycles: u32,
}

/// The schedule of all instructions, in code order.
pub(crate) fn schedule(
    instructions: &[InstructionInfo],
    timings: &InstructionTimings,
) -> Vec<Cost> {
    let mut costs = Vec::with_capacity(instructions.len());
    let registers = instructions
        .iter()
        .flat_map(|info| info.reads.iter().chain(&info.writes))
        .max();
    let mut ready = vec![0u64; registers.map_or(0, |&last| last as usize + 1)];
    let mut rest = instructions;
    while !rest.is_empty() {
        let next_leader = rest[1..]
            .iter()
            .position(|info| info.block_leader)
            .map_or(rest.len(), |at| at + 1);
        let (block, after) = rest.split_at(next_leader);
        schedule_block(block, timings, &mut ready, &mut costs);
        rest = after;
    }
    costs
}

fn schedule_block(
    block: &[InstructionInfo],
    timings: &InstructionTimings,
    ready: &mut [u64],
    costs: &mut Vec<Cost>,
) {
    ready.fill(0);
    let first = costs.len();
    let mut issue_at = 0u64;
    let mut drained = 0u64;
    let mut issued_at = Vec::with_capacity(block.len());
    for info in block {
        let timing = timing_of(info.class, timings);
        let operands = info
            .reads
            .iter()
            .map(|&register| ready[register as usize])
            .max()
            .unwrap_or(0);
        let at = issue_at.max(operands);
        let result_at = at + u64::from(timing.latency_cycles);
        for &register in &info.writes {
            ready[register as usize] = result_at;
        }
        drained = drained.max(result_at);
        issue_at = at + u64::from(timing.issue_cycles);
        issued_at.push(at);
        costs.push(Cost {
            issue_cycles: timing.issue_cycles,
            latency_cycles: 0,
        });
    }
    // What a block leaves unfinished is waited for at its end: the branch there takes as long anyway.
    issued_at.push(issue_at.max(drained));
    for (cost, span) in costs[first..].iter_mut().zip(issued_at.windows(2)) {
        cost.latency_cycles = u32::try_from(span[1] - span[0]).unwrap_or(u32::MAX);
    }
}

fn timing_of(class: InstructionClass, timings: &InstructionTimings) -> InstructionTiming {
    match class {
        InstructionClass::Integer => timings.integer,
        InstructionClass::IntegerMultiply => timings.integer_multiply,
        InstructionClass::Float32 => timings.float32,
        InstructionClass::Float64 => timings.float64,
        InstructionClass::Special => timings.special,
        InstructionClass::Convert => timings.convert,
        InstructionClass::SharedMemory => timings.shared,
        InstructionClass::ConstMemory => timings.constant,
        InstructionClass::GlobalMemory
        | InstructionClass::LocalMemory
        | InstructionClass::Atomic => timings.memory,
        InstructionClass::Barrier | InstructionClass::Control => timings.control,
    }
}

#[cfg(test)]
mod tests;
