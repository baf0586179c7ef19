//! Virtual registers onto few physical slots, by linear scan over live intervals.

use crate::flow::cfg::Graph;
use crate::flow::liveness::Liveness;
use crate::flow::program::{Class, Program, VReg, Value};
use pagemill_ptx_ir::op::Op;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Slots beyond this cannot be named by an operand.
const SLOTS_MAX: u16 = 0x3f00;

/// Where each register lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// By register; meaningless for registers that never occur.
    pub slot: Vec<u16>,
    pub narrow: u16,
    pub wide: u16,
    pub predicate: u16,
}

/// First and last position of a register's life. Operation `i` reads at `2i` and writes at `2i + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Interval {
    pub start: u32,
    pub end: u32,
}

// Between reads at 2 i and writes at 2 i + 1,
//
//   4: add a, b, c   c is read last at 8, a is written at 9: they may share a slot
//   5: mov d, a      a ends at 10 and d begins at 11: d takes its slot, and the copy need not be executed
/// The interval of each register, or `None` if it never occurs.
pub(crate) fn intervals(
    program: &Program,
    graph: &Graph,
    live: &Liveness,
) -> Vec<Option<Interval>> {
    let mut intervals: Vec<Option<Interval>> = vec![None; program.classes.len()];
    let mut cover = |register: usize, position: u32| {
        let interval = intervals[register].get_or_insert(Interval {
            start: position,
            end: position,
        });
        interval.start = interval.start.min(position);
        interval.end = interval.end.max(position);
    };
    for (block, bounds) in graph.blocks.iter().enumerate() {
        // An interval has no holes: what is needed around a loop keeps its slot all through it.
        for register in live.live_in[block].iter() {
            cover(register, 2 * bounds.start as u32);
        }
        for register in live.live_out[block].iter() {
            cover(register, 2 * bounds.end as u32 - 1);
        }
        for at in bounds.start..bounds.end {
            let micro = &program.micros[at];
            micro
                .sources()
                .for_each(|source| cover(source.index(), 2 * at as u32));
            micro
                .dsts
                .iter()
                .for_each(|dst| cover(dst.index(), 2 * at as u32 + 1));
        }
    }
    // What the machine fills is there from the start, and must survive to the next block of the launch.
    let stack = program.stack.into_iter();
    let stack = stack.flat_map(|stack| [stack.pointer, stack.frame, stack.arguments]);
    let presets = program.presets.iter().map(|(_, register)| *register);
    for register in presets.chain(stack) {
        intervals[register.index()] = Some(Interval {
            start: 0,
            end: u32::MAX,
        });
    }
    intervals
}

/// Assigns slots, or `None` when there are too few.
pub(crate) fn allocate(program: &Program, graph: &Graph, live: &Liveness) -> Option<Slots> {
    let intervals = intervals(program, graph, live);
    let mut slots = Slots {
        slot: vec![0; program.classes.len()],
        ..Slots::default()
    };
    slots.narrow = scan(program, &intervals, Class::Narrow, &mut slots.slot)?;
    slots.wide = scan(program, &intervals, Class::Wide, &mut slots.slot)?;
    slots.predicate = scan(program, &intervals, Class::Predicate, &mut slots.slot)?;
    Some(slots)
}

/// Linear scan of one class; the number of slots used.
fn scan(
    program: &Program,
    intervals: &[Option<Interval>],
    class: Class,
    slot: &mut [u16],
) -> Option<u16> {
    let hints = copy_hints(program, class);
    let mut order: Vec<(Interval, usize)> = intervals
        .iter()
        .enumerate()
        .filter_map(|(register, interval)| Some(((*interval)?, register)))
        .filter(|(_, register)| program.classes[*register] == class)
        .collect();
    // By their starts (Poletto and Sarkar 1999). Nothing is spilled: a slot is memory of the executor, so there are many.
    order.sort_unstable();
    let mut free: BTreeSet<u16> = BTreeSet::new();
    let mut active: BinaryHeap<Reverse<(u32, u16)>> = BinaryHeap::new();
    let mut used = 0u16;
    for (interval, register) in order {
        while let Some(Reverse((end, freed))) = active.peek().copied()
            // Reads come before writes: a result may lie where an operand of the same instruction ends.
            && end < interval.start
        {
            active.pop();
            free.insert(freed);
        }
        // A copy whose source ends here takes over its slot, and then need not be executed.
        let wanted = hints[register].filter(|source| {
            intervals[source.index()]
                .is_some_and(|life| life.end.checked_add(1) == Some(interval.start))
        });
        let wanted = wanted
            .map(|source| slot[source.index()])
            .filter(|wanted| free.remove(wanted));
        let chosen = match wanted.or_else(|| free.pop_first()) {
            Some(slot) => slot,
            None => {
                used = used.checked_add(1).filter(|used| *used <= SLOTS_MAX)?;
                used - 1
            }
        };
        slot[register] = chosen;
        active.push(Reverse((interval.end, chosen)));
    }
    Some(used)
}

/// For each register, the source of a copy into it.
fn copy_hints(program: &Program, class: Class) -> Vec<Option<VReg>> {
    let mut hints = vec![None; program.classes.len()];
    for micro in &program.micros {
        if let (Op::Move32 | Op::Move64, [dst], [Value::Reg(source)]) =
            (micro.op, &micro.dsts[..], &micro.srcs[..])
            && program.class(*dst) == class
            && program.class(*source) == class
        {
            hints[dst.index()] = Some(*source);
        }
    }
    hints
}

#[cfg(test)]
mod tests;
