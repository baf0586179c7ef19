//! What each instruction of a kernel costs when nothing is contended: an in-order, one-issue schedule of each basic block.
//!
//! An instruction issues when the one before it has left the issue stage and its operands are there. The time until
//! the next one issues is its share of the block's latency, as a compiler's stall counts have it. Results of memory
//! accesses are not waited for here: the scoreboard does that.

mod joined;
mod machine_code;
mod pipe;

use crate::gpu::machine::{InstructionTiming, InstructionTimings};
use pagemill_ptx::{InstructionClass, InstructionInfo};
use pipe::Pipe;

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
    let registers = registers(instructions);
    let mut ready = vec![0u64; registers];
    let joined = match timings.machine_code {
        None => vec![false; instructions.len()],
        Some(_) => joined::joined(instructions, registers),
    };
    let timed: Vec<Timed<'_>> = (instructions.iter().zip(joined))
        .map(|(info, is_joined)| match is_joined {
            true => (info, Pipe::Integer, machine_code::NOTHING),
            false => timed(info, timings),
        })
        .collect();
    let mut rest = &timed[..];
    while !rest.is_empty() {
        let next_leader = rest[1..]
            .iter()
            .position(|(info, ..)| info.block_leader)
            .map_or(rest.len(), |at| at + 1);
        let (block, after) = rest.split_at(next_leader);
        schedule_block(block, timings, &mut ready, &mut costs);
        rest = after;
    }
    costs
}

/// So many registers have a number.
fn registers(instructions: &[InstructionInfo]) -> usize {
    let numbers = instructions
        .iter()
        .flat_map(|info| info.reads.iter().chain(&info.writes));
    numbers.max().map_or(0, |&last| last as usize + 1)
}

/// An instruction, the pipe that it takes, and for how long.
type Timed<'a> = (&'a InstructionInfo, Pipe, InstructionTiming);

//   instruction       issues at   its result   its latency: to the next issue
//   mul r1, a, b          0           5            2      issue 2, latency 5
//   add r2, a, b          2           6            4      issue 1, latency 4
//   add r3, r1, r2        6          10            4      to the end of the block
fn schedule_block(
    block: &[Timed<'_>],
    timings: &InstructionTimings,
    ready: &mut [u64],
    costs: &mut Vec<Cost>,
) {
    ready.fill(0);
    let first = costs.len();
    let mut issue_at = 0u64;
    let mut drained = 0u64;
    let mut issued_at = Vec::with_capacity(block.len());
    let mut pipes = [0u64; PIPES];
    for &(info, pipe, timing) in block {
        let operands = info
            .reads
            .iter()
            .map(|&register| ready[register as usize])
            .max()
            .unwrap_or(0);
        if timings.machine_code.is_some() && timing == machine_code::NOTHING {
            for &register in &info.writes {
                // A move that `ptxas` makes none of: its result is there when its operands are.
                ready[register as usize] = operands;
            }
            issued_at.push(issue_at);
            costs.push(Cost::default());
            continue;
        }
        let at = issue_at.max(operands).max(pipes[pipe as usize]);
        let result_at = at + u64::from(timing.latency_cycles);
        for &register in &info.writes {
            ready[register as usize] = result_at;
        }
        drained = drained.max(result_at);
        let leaves_at = at + u64::from(timing.issue_cycles);
        // Where pipes are told apart, the next instruction may issue a cycle later, and only one for the same pipe
        // waits longer. Elsewhere the busy time of an instruction stands for issue and pipe in one.
        issue_at = match timings.machine_code {
            None => leaves_at,
            Some(_) => leaves_at.min(at + 1),
        };
        pipes[pipe as usize] = leaves_at;
        issued_at.push(at);
        costs.push(Cost {
            issue_cycles: timing.issue_cycles,
            latency_cycles: 0,
        });
    }
    if timings.machine_code.is_some() {
        share_issue(block, &mut costs[first..]);
    }
    // What a block leaves unfinished is waited for at its end: the branch there takes as long anyway.
    issued_at.push(issue_at.max(drained));
    for (cost, span) in costs[first..].iter_mut().zip(issued_at.windows(2)) {
        cost.latency_cycles = u32::try_from(span[1] - span[0]).unwrap_or(u32::MAX);
    }
}

/// Pipes of a scheduler.
const PIPES: usize = 10;

/// A scheduler issues one instruction each cycle, and each of its pipes takes its own cycles: the longest of these is what
/// other warps see of the block, dealt out to its instructions.
fn share_issue(block: &[Timed<'_>], costs: &mut [Cost]) {
    let mut pipes = [0u64; PIPES];
    let (mut issued, mut sum) = (0, 0);
    for &(_, pipe, timing) in block {
        let cycles = u64::from(timing.issue_cycles);
        pipes[pipe as usize] += cycles;
        issued += cycles.min(1);
        sum += cycles;
    }
    let busy = pipes.into_iter().fold(issued, u64::max);
    let (mut before, mut dealt) = (0, 0);
    for cost in costs {
        before += u64::from(cost.issue_cycles);
        // In proportion to what each takes of its own pipe. Rounded on the running sum, so that the
        // shares add up to `busy` exactly.
        let due = (before * busy).div_ceil(sum.max(1));
        cost.issue_cycles = u32::try_from(due - dealt).unwrap_or(u32::MAX);
        dealt = due;
    }
}

fn timed<'a>(info: &'a InstructionInfo, timings: &InstructionTimings) -> Timed<'a> {
    let special = timings.machine_code.as_ref();
    let (pipe, timing) = special
        .and_then(|code| machine_code::timing_of(info, timings, code))
        .unwrap_or_else(|| class_timing(info.class, timings));
    (info, pipe, timing)
}

fn class_timing(
    class: InstructionClass,
    timings: &InstructionTimings,
) -> (Pipe, InstructionTiming) {
    match class {
        InstructionClass::Integer => (Pipe::Integer, timings.integer),
        InstructionClass::IntegerMultiply => (Pipe::Multiply, timings.integer_multiply),
        InstructionClass::Float32 => (Pipe::Float32, timings.float32),
        InstructionClass::Float64 => (Pipe::Float64, timings.float64),
        InstructionClass::Special => (Pipe::Special, timings.special),
        InstructionClass::Convert => (Pipe::Special, timings.convert),
        InstructionClass::SharedMemory => (Pipe::Shared, timings.shared),
        InstructionClass::ConstMemory => (Pipe::Constant, timings.constant),
        InstructionClass::GlobalMemory
        | InstructionClass::LocalMemory
        | InstructionClass::Atomic => (Pipe::Memory, timings.memory),
        InstructionClass::Barrier | InstructionClass::Control => (Pipe::Control, timings.control),
    }
}

#[cfg(test)]
mod tests;
