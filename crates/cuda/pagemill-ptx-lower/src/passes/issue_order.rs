//! The order in which the machine code of a kernel issues the instructions of a basic block: loads as early as their
//! addresses are known, what needs them late. Results are the same; only who waits for what is not.
//!
//! A list schedule by the longest path to the end of the block, as compilers do it, within a budget of registers.

mod effects;
mod window;

use crate::flow::cfg::Graph;
use crate::flow::liveness::{self, Liveness, RegisterSet};
use crate::flow::program::{Micro, Program};
use effects::{Effect, Unit};
use pagemill_ptx_ir::info::InstructionInfo;
use std::collections::HashMap;
use std::ops::Range;
use window::Window;

/// 32-bit registers up to which loads are hoisted even where the order as written needs fewer.
const REGISTER_BUDGET: u32 = 40;

/// Instructions that are ordered at once: more could hardly issue while one load is under way.
const WINDOW: usize = 512;

/// Puts the instructions of every block in the order of their issue. The numbers of instructions go by it.
pub(crate) fn run(program: &mut Program, graph: &Graph, infos: &mut [InstructionInfo]) {
    let Some(live) = liveness::analyze(program, graph) else {
        return;
    };
    // A kernel that needs more registers as written has them anyway, so hoisting up to that many costs no occupancy.
    let budget = live.pressure.max(REGISTER_BUDGET);
    let scattered = scattered(program, graph, infos.len());
    for (block, bounds) in graph.blocks.iter().enumerate() {
        let micros = &program.micros[bounds.start..bounds.end];
        let units = effects::units(micros, infos, &scattered);
        let windows = windows(&units);
        // Blocks keep their places, and fences theirs in a block: what is live between windows stays as it was, so that each is
        // ordered by itself.
        let ends = live_at_ends(program, graph, &live, block, &units, &windows);
        for (window, live) in windows.into_iter().zip(&ends) {
            let units = &units[window];
            let micros = &program.micros[bounds.start..bounds.end];
            let order = Window::new(&program.classes, micros, units, live).order(budget);
            let micros = &mut program.micros[bounds.start..bounds.end];
            rearrange(micros, units, &order, infos);
        }
    }
}

/// Instructions that stand in more than one block.
fn scattered(program: &Program, graph: &Graph, infos: usize) -> Vec<bool> {
    let mut home = vec![usize::MAX; infos];
    let mut scattered = vec![false; infos];
    for (block, bounds) in graph.blocks.iter().enumerate() {
        for micro in &program.micros[bounds.start..bounds.end] {
            let info = micro.info as usize;
            // Its number cannot change in one block and stay in the other.
            scattered[info] |= home[info] != usize::MAX && home[info] != block;
            home[info] = block;
        }
    }
    scattered
}

/// Stretches without a fence.
fn windows(units: &[Unit]) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut begin = 0;
    while begin < units.len() {
        let rest = units[begin..].iter().take(WINDOW);
        let count = rest.take_while(|unit| unit.effect != Effect::Fence).count();
        if count > 1 {
            windows.push(begin..begin + count);
        }
        begin += count.max(1);
    }
    windows
}

/// What is live behind each window of a block.
fn live_at_ends(
    program: &Program,
    graph: &Graph,
    live: &Liveness,
    block: usize,
    units: &[Unit],
    windows: &[Range<usize>],
) -> Vec<RegisterSet> {
    let out = &live.live_out[block];
    let start = graph.blocks[block].start;
    let end = |window: &Range<usize>| start + units[window.end - 1].micros.end;
    let numbers: HashMap<usize, usize> = windows.iter().map(end).zip(0..).collect();
    let mut ends = vec![out.clone(); windows.len()];
    let mut now = out.clone();
    liveness::walk_back(program, graph, block, &mut now, |at, live| {
        if let Some(&number) = numbers.get(&at) {
            ends[number] = live.clone();
        }
    });
    ends
}

/// Puts `units`, which follow one another in `micros`, in `order`; each takes the number of the one whose place it has.
fn rearrange(micros: &mut [Micro], units: &[Unit], order: &[usize], infos: &mut [InstructionInfo]) {
    let start = units[0].micros.start;
    let mut numbers: Vec<u32> = units.iter().map(|unit| unit.info).collect();
    numbers.sort_unstable();
    let mut moved = Vec::new();
    let mut renumbered = Vec::with_capacity(order.len());
    // Numbers stay ascending along the code, as all that is kept by instruction expects; what is known of one moves with it.
    for (&unit, &number) in order.iter().zip(&numbers) {
        let unit = &units[unit];
        renumbered.push((number, infos[unit.info as usize].clone()));
        moved.extend(micros[unit.micros.clone()].iter().map(|micro| Micro {
            info: number,
            ..micro.clone()
        }));
    }
    micros[start..start + moved.len()].clone_from_slice(&moved);
    for (number, info) in renumbered {
        infos[number as usize] = info;
    }
}
