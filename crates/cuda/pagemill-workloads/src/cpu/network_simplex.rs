//! Network simplex, as in mcf: arcs are priced against the potentials of their nodes, and the best one of a block changes
//! the tree.
//!
//! The network is a shortest-path problem from one root, for which a basis is a tree of paths, an entering arc replaces the
//! arc above its head, and potentials change in the subtree below.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "network-simplex",
    summary: "network simplex on a random network: prices arcs, walks a tree of pointers (like mcf)",
    parameters: &[
        Parameter::count(
            "nodes",
            49_152,
            2,
            1 << 24,
            "nodes of the network, 64 bytes each",
        ),
        Parameter::count(
            "arcs_per_node",
            3,
            1,
            64,
            "arcs that leave each node, 16 bytes each",
        ),
        Parameter::count(
            "rounds",
            12,
            1,
            100_000,
            "most times that all arcs are priced",
        ),
        SEED,
    ],
    start: |values| {
        let nodes = values.get_u32("nodes") as usize;
        let arcs = nodes * values.get_u32("arcs_per_node") as usize;
        Box::new(ProgramStream::new(NetworkSimplex::new(
            nodes,
            arcs,
            values.get("rounds"),
            values.get("seed"),
        )))
    },
};

/// Arcs of which the best one enters.
const BLOCK: usize = 300;

const NO_NODE: u32 = u32::MAX;
const ROOT: u32 = 0;

/// What the artificial arc from the root to each node costs: more than any path.
const ARTIFICIAL: i64 = 1 << 40;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Node {
    potential: i64,
    parent: u32,
    child: u32,
    next: u32,
    previous: u32,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Arc {
    tail: u32,
    head: u32,
    cost: u32,
}

#[derive(Debug)]
struct NetworkSimplex {
    nodes: Array<Node>,
    arcs: Array<Arc>,
    rounds_left: u64,
    is_optimal: bool,
    pivots: u64,
}

impl NetworkSimplex {
    fn new(nodes: usize, arcs: usize, rounds: u64, seed: u64) -> Self {
        let random = Random::new(seed, 0);
        let mut layout = Layout::new();
        let last = nodes as u32 - 1;
        // All nodes hang on the root, in a row of brothers.
        let node = |number: u32| Node {
            potential: if number == ROOT { 0 } else { ARTIFICIAL },
            parent: if number == ROOT { NO_NODE } else { ROOT },
            child: if number == ROOT && last > 0 {
                1
            } else {
                NO_NODE
            },
            next: if number == ROOT || number == last {
                NO_NODE
            } else {
                number + 1
            },
            previous: if number <= 1 { NO_NODE } else { number - 1 },
        };
        let arc = |number: usize| Arc {
            tail: (number % nodes) as u32,
            head: random.below(2 * number as u64, nodes as u64) as u32,
            cost: 1 + random.below(2 * number as u64 + 1, 10_000) as u32,
        };
        Self {
            nodes: layout.array((0..=last).map(node).collect()),
            arcs: layout.array((0..arcs).map(arc).collect()),
            rounds_left: rounds,
            is_optimal: true,
            pivots: 0,
        }
    }

    /// Hangs `node` below `parent`.
    fn attach(&mut self, node: u32, parent: u32, memory: &mut Recorder) {
        let first = self.nodes.follow(parent as usize, memory).child;
        self.nodes
            .update(parent as usize, memory, |parent| parent.child = node);
        if first != NO_NODE {
            self.nodes
                .update(first as usize, memory, |first| first.previous = node);
        }
        self.nodes.update(node as usize, memory, |state| {
            (state.parent, state.next, state.previous) = (parent, first, NO_NODE);
        });
    }

    /// Takes `node` out of its brothers.
    fn detach(&mut self, node: u32, memory: &mut Recorder) {
        let Node {
            parent,
            next,
            previous,
            ..
        } = self.nodes.follow(node as usize, memory);
        match previous {
            NO_NODE => self
                .nodes
                .update(parent as usize, memory, |parent| parent.child = next),
            _ => self
                .nodes
                .update(previous as usize, memory, |previous| previous.next = next),
        }
        if next != NO_NODE {
            self.nodes
                .update(next as usize, memory, |next| next.previous = previous);
        }
    }

    /// Lowers the potentials of `top` and all below it.
    fn lower(&mut self, top: u32, by: i64, memory: &mut Recorder) {
        let mut at = top;
        loop {
            let node = self.nodes.follow(at as usize, memory);
            self.nodes
                .update(at as usize, memory, |node| node.potential -= by);
            if node.child != NO_NODE {
                at = node.child;
                continue;
            }
            let mut up = node;
            while at != top && up.next == NO_NODE {
                at = up.parent;
                up = self.nodes.follow(at as usize, memory);
            }
            if at == top {
                return;
            }
            at = up.next;
        }
    }
}

impl CpuProgram for NetworkSimplex {
    fn items(&self) -> usize {
        if self.rounds_left == 0 {
            0
        } else {
            self.arcs.len().div_ceil(BLOCK)
        }
    }

    /// Prices a block of arcs and lets the best of them enter.
    fn item(&mut self, index: usize, memory: &mut Recorder) {
        let mut best: Option<(i64, Arc)> = None;
        for number in index * BLOCK..((index + 1) * BLOCK).min(self.arcs.len()) {
            let arc = self.arcs.get(number, memory);
            let tail = self.nodes.get(arc.tail as usize, memory).potential;
            let head = self.nodes.get(arc.head as usize, memory).potential;
            let saved = head - tail - i64::from(arc.cost);
            if saved > 0 && best.is_none_or(|(most, _)| saved > most) {
                best = Some((saved, arc));
            }
        }
        if let Some((saved, arc)) = best {
            self.is_optimal = false;
            self.pivots += 1;
            self.detach(arc.head, memory);
            self.attach(arc.head, arc.tail, memory);
            self.lower(arc.head, saved, memory);
        }
    }

    fn end_pass(&mut self) {
        self.rounds_left = if self.is_optimal {
            0
        } else {
            self.rounds_left - 1
        };
        self.is_optimal = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_to_end;
    use super::*;

    #[test]
    fn potentials_end_as_shortest_paths() {
        let mut program = NetworkSimplex::new(200, 800, 100_000, 7);
        run_to_end(&mut program);
        let mut shortest = vec![ARTIFICIAL; 200];
        shortest[0] = 0;
        for _ in 0..200 {
            for arc in program.arcs.values() {
                let through = shortest[arc.tail as usize] + i64::from(arc.cost);
                let head = &mut shortest[arc.head as usize];
                *head = through.min(*head);
            }
        }
        let found: Vec<i64> = program
            .nodes
            .values()
            .iter()
            .map(|node| node.potential)
            .collect();
        assert_eq!(found, shortest);
        assert!(program.pivots > 100);
    }
}
