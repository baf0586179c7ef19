//! Which registers are still needed where.

use crate::flow::cfg::Graph;
use crate::flow::program::{Class, Program};

/// Memory that the sets at block starts may take: a kernel that needs more is no compiler's work.
const SETS_BYTES_MAX: usize = 1 << 28;

/// A set of registers, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegisterSet {
    words: Vec<u64>,
}

impl RegisterSet {
    fn new(count: usize) -> Self {
        Self {
            words: vec![0; count.div_ceil(64)],
        }
    }

    pub(crate) fn contains(&self, register: usize) -> bool {
        self.words[register / 64] >> (register % 64) & 1 != 0
    }

    /// Adds `register`; whether it was missing.
    fn insert(&mut self, register: usize) -> bool {
        let word = &mut self.words[register / 64];
        let bit = 1 << (register % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    fn remove(&mut self, register: usize) {
        self.words[register / 64] &= !(1 << (register % 64));
    }

    fn union(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            changed |= *other & !*word != 0;
            *word |= other;
        }
        changed
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 != 0)
                .map(move |bit| index * 64 + bit)
        })
    }
}

/// Liveness at block boundaries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Liveness {
    pub live_in: Vec<RegisterSet>,
    pub live_out: Vec<RegisterSet>,
    /// Most 32-bit registers needed at one point.
    pub pressure: u32,
}

/// Solves the backward data-flow problem. A guarded write does not end a life: lanes whose guard fails keep the old value.
/// `None` when the sets would take more than [`SETS_BYTES_MAX`].
pub(crate) fn analyze(program: &Program, graph: &Graph) -> Option<Liveness> {
    let count = program.classes.len();
    let blocks = graph.blocks.len();
    if blocks.checked_mul(count / 8)? > SETS_BYTES_MAX {
        return None;
    }
    let mut live_in = vec![RegisterSet::new(count); blocks];
    let mut live_out = vec![RegisterSet::new(count); blocks];
    let mut work: Vec<usize> = (0..blocks).collect();
    let mut queued = vec![true; blocks];
    // From the last block on, as what is live comes from behind: only loops are gone through again.
    while let Some(block) = work.pop() {
        queued[block] = false;
        let mut out = RegisterSet::new(count);
        for &successor in &graph.blocks[block].successors {
            if successor < blocks {
                out.union(&live_in[successor]);
            }
        }
        let mut live = out.clone();
        live_out[block] = out;
        walk_back(program, graph, block, &mut live, |_, _| {});
        if live_in[block].union(&live) {
            for &predecessor in &graph.blocks[block].predecessors {
                if !std::mem::replace(&mut queued[predecessor], true) {
                    work.push(predecessor);
                }
            }
        }
    }
    let pressure = pressure(program, graph, &live_out);
    Some(Liveness {
        live_in,
        live_out,
        pressure,
    })
}

/// Goes through `block` backwards from what is live at its end; `visit` sees what is live before each operation.
pub(crate) fn walk_back(
    program: &Program,
    graph: &Graph,
    block: usize,
    live: &mut RegisterSet,
    mut visit: impl FnMut(usize, &RegisterSet),
) {
    let bounds = &graph.blocks[block];
    for at in (bounds.start..bounds.end).rev() {
        let micro = &program.micros[at];
        if micro.guard.is_none() {
            micro.dsts.iter().for_each(|dst| live.remove(dst.index()));
        }
        for source in micro.sources() {
            live.insert(source.index());
        }
        visit(at, live);
    }
}

fn pressure(program: &Program, graph: &Graph, live_out: &[RegisterSet]) -> u32 {
    let width = |register: usize| match program.classes[register] {
        Class::Narrow => 1,
        Class::Wide => 2,
        // Hardware has other registers for these.
        Class::Predicate => 0,
    };
    let mut most = 0;
    for (bounds, out) in graph.blocks.iter().zip(live_out) {
        let mut live = out.clone();
        let mut sum: u32 = live.iter().map(width).sum();
        most = most.max(sum);
        for at in (bounds.start..bounds.end).rev() {
            let micro = &program.micros[at];
            // Destinations need a place even if they are never read.
            let extra: u32 = micro
                .dsts
                .iter()
                .filter(|dst| !live.contains(dst.index()))
                .map(|dst| width(dst.index()))
                .sum();
            most = most.max(sum + extra);
            for dst in micro.dsts.iter().filter(|_| micro.guard.is_none()) {
                if live.contains(dst.index()) {
                    live.remove(dst.index());
                    sum -= width(dst.index());
                }
            }
            for source in micro.sources() {
                if live.insert(source.index()) {
                    sum += width(source.index());
                }
            }
            most = most.max(sum);
        }
    }
    most
}
