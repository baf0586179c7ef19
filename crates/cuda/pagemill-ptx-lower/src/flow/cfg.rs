//! Basic blocks and their edges.

use crate::flow::dominators;
use crate::flow::program::{Aux, Label, Micro, Program};
use pagemill_ptx_ir::op::Op;

/// A maximal stretch without branches in or out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BasicBlock {
    /// Micro-operations `start..end`.
    pub start: usize,
    pub end: usize,
    pub successors: Vec<usize>,
    pub predecessors: Vec<usize>,
}

/// The control flow of a program. Block `blocks.len()` stands for the end of the kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub blocks: Vec<BasicBlock>,
    /// Where lanes that part in each block meet again: its immediate post-dominator, or `blocks.len()` where they meet
    /// only in the end, or never.
    pub post_dominator: Vec<usize>,
    /// Where each block begins and ends in a walk around the dominator tree.
    tree_span: Vec<(u32, u32)>,
    /// Block of each label.
    label_block: Vec<usize>,
}

impl Graph {
    /// Splits `program` into blocks. Branches to a bare exit become exits, so that lanes that leave early do not
    /// hold up the others at barriers.
    pub(crate) fn new(program: &mut Program) -> Self {
        shorten_exits(program);
        let micros = &program.micros;
        let mut leader = vec![false; micros.len() + 1];
        leader[0] = true;
        for (entry, _) in &program.subroutines {
            leader[program.labels[entry.0 as usize]] = true;
        }
        for (at, micro) in micros.iter().enumerate() {
            if micro.ends_block() {
                leader[at + 1] = true;
            }
            for label in targets(micro) {
                leader[program.labels[label.0 as usize]] = true;
            }
        }
        let starts: Vec<usize> = (0..micros.len()).filter(|&at| leader[at]).collect();
        let block_of = |at: usize| starts.partition_point(|&start| start < at);
        let mut blocks: Vec<BasicBlock> = Vec::with_capacity(starts.len());
        for (index, &start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(micros.len());
            let mut successors = Vec::new();
            let last = &micros[end - 1];
            for label in targets(last) {
                successors.push(block_of(program.labels[label.0 as usize]));
            }
            // A return too: where its lanes go on is on the warp's stack, and not known now (ADR 0021).
            if matches!(last.op, Op::Exit | Op::Return) {
                successors.push(starts.len());
            }
            // Lanes whose guard fails go on behind a branch, and behind an exit.
            if !last.ends_block() || last.guard.is_some() {
                successors.push(index + 1);
            }
            successors.sort_unstable();
            // A branch to what follows anyway is one edge.
            successors.dedup();
            blocks.push(BasicBlock {
                start,
                end,
                successors,
                predecessors: Vec::new(),
            });
        }
        for index in 0..blocks.len() {
            for at in 0..blocks[index].successors.len() {
                let successor = blocks[index].successors[at];
                if let Some(block) = blocks.get_mut(successor) {
                    block.predecessors.push(index);
                }
            }
        }
        let label_block = program.labels.iter().map(|&at| block_of(at)).collect();
        let (dominator, mut post_dominator) = orders(&blocks);
        let is_exit: Vec<bool> = blocks
            .iter()
            .map(|block| is_bare_exit(&micros[block.start..block.end]))
            .collect();
        for join in &mut post_dominator {
            if is_exit.get(*join) == Some(&true) {
                *join = blocks.len();
            }
        }
        Self {
            blocks,
            post_dominator,
            tree_span: dominators::spans(&dominator),
            label_block,
        }
    }

    /// The block that `label` stands before.
    pub(crate) fn block_of(&self, label: Label) -> usize {
        self.label_block[label.0 as usize]
    }

    /// Whether every path to block `b` passes block `a`.
    pub(crate) fn dominates(&self, a: usize, b: usize) -> bool {
        let ((a_enter, a_leave), (b_enter, b_leave)) = (self.tree_span[a], self.tree_span[b]);
        a_enter <= b_enter && b_leave <= a_leave
    }
}

/// Lanes have nothing left to do together there, and waiting for each other could keep some from a barrier.
fn is_bare_exit(micros: &[Micro]) -> bool {
    let is_plain = |micro: &Micro, op: Op| micro.op == op && micro.guard.is_none();
    match micros.split_last() {
        Some((last, rest)) => {
            is_plain(last, Op::Exit) && rest.iter().all(|micro| is_plain(micro, Op::Nop))
        }
        None => false,
    }
}

// Lanes that part meet at the immediate post-dominator, the first block that all of them pass:
//
//     A      A branches, its lanes take B or C, and meet at D. If C ends in an exit, no block behind A
//    / \     is passed by all: then none waits at D for lanes that never come.
//   B   C
//    \ /
//     D
/// Dominators from the entry, and post-dominators from the end.
fn orders(blocks: &[BasicBlock]) -> (Vec<usize>, Vec<usize>) {
    let end = blocks.len();
    let forward: Vec<Vec<usize>> = blocks
        .iter()
        .map(|block| block.successors.clone())
        .chain([Vec::new()])
        .collect();
    let mut dominator = dominators::immediate(&forward, 0);
    dominator.truncate(end);
    let mut backward = vec![Vec::new(); end + 1];
    for (index, block) in blocks.iter().enumerate() {
        for &successor in &block.successors {
            backward[successor].push(index);
        }
    }
    let mut post = dominators::immediate(&backward, end);
    post.truncate(end);
    for (index, up) in post.iter_mut().enumerate() {
        // A block from which the end cannot be reached loops for ever: its lanes never meet others.
        if *up == index {
            *up = end;
        }
    }
    (dominator, post)
}

fn targets(micro: &Micro) -> &[Label] {
    match &micro.aux {
        Aux::Target(label) => std::slice::from_ref(label),
        Aux::Targets(labels) => labels,
        _ => &[],
    }
}

/// A shortened branch keeps in its immediate which instruction it exits by, counted from 1; 0 for the end of the body.
fn shorten_exits(program: &mut Program) {
    let exit_by = |label: Label| match program.micros.get(program.labels[label.0 as usize]) {
        None => Some(0),
        Some(micro) if micro.op == Op::Exit && micro.guard.is_none() => Some(micro.info + 1),
        Some(_) => None,
    };
    let shortened = |(at, micro): (usize, &Micro)| match micro.aux {
        Aux::Target(label) => Some((at, exit_by(label)?)),
        _ => None,
    };
    let found: Vec<(usize, u32)> = program
        .micros
        .iter()
        .enumerate()
        .filter_map(shortened)
        .collect();
    for (at, exit) in found {
        let micro = &mut program.micros[at];
        micro.op = Op::Exit;
        micro.aux = Aux::Immediate(exit);
    }
}
