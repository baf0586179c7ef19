//! Control flow of a program: blocks, successors, and where diverged lanes meet again.

use super::ir::{Aux, Micro, Program};
use crate::exec::op::Op;
use std::ops::Range;

/// Blocks of a program and how control goes from one to another.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Positions of each block's micro-operations; together they cover the program in order.
    pub blocks: Vec<Range<usize>>,
    /// Blocks that control may reach from each block; leaving the kernel is no successor.
    pub successors: Vec<Vec<usize>>,
    /// The block of each micro-operation.
    pub block_of: Vec<u32>,
    /// Where lanes that part at the end of a block meet again; `None` when only at the end of the kernel.
    pub post_dominator: Vec<Option<usize>>,
}

impl Flow {
    pub(super) fn of(program: &Program) -> Self {
        let blocks = split(program);
        let mut block_of = vec![0; program.micros.len()];
        for (index, block) in blocks.iter().enumerate() {
            block_of[block.clone()].fill(index as u32);
        }
        let mut successors = Vec::with_capacity(blocks.len());
        let mut leaves = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let (next, leave) = follow(program, &block_of, block);
            successors.push(next);
            leaves.push(leave);
        }
        let post_dominator = meeting_points(program, &blocks, &successors, &leaves);
        Self { blocks, successors, block_of, post_dominator }
    }
}

fn split(program: &Program) -> Vec<Range<usize>> {
    let count = program.micros.len();
    let mut starts: Vec<usize> = program.labels.iter().copied().filter(|&position| position < count).collect();
    let after_ends = program.micros.iter().enumerate().filter(|(_, micro)| micro.ends_block());
    starts.extend(after_ends.map(|(position, _)| position + 1).filter(|&position| position < count));
    if count > 0 {
        starts.push(0);
    }
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).copied().chain([count]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// The successors of `block`, and whether the kernel may be left from it.
fn follow(program: &Program, block_of: &[u32], block: &Range<usize>) -> (Vec<usize>, bool) {
    let last = &program.micros[block.end - 1];
    let mut positions = Vec::new();
    match (&last.aux, last.op) {
        (Aux::Target(label), _) => positions.push(program.labels[label.0 as usize]),
        (Aux::Targets(labels), _) => positions.extend(labels.iter().map(|label| program.labels[label.0 as usize])),
        _ => {}
    }
    let goes_on = !last.ends_block() || last.guard.is_some();
    if goes_on {
        positions.push(block.end);
    }
    let mut leaves = last.op == Op::Exit && !goes_on;
    let mut successors = Vec::with_capacity(positions.len());
    for position in positions {
        match block_of.get(position) {
            Some(&block) => successors.push(block as usize),
            None => leaves = true,
        }
    }
    successors.sort_unstable();
    successors.dedup();
    (successors, leaves)
}

/// Post-dominators in which an early `ret` does not count as a way on: lanes that end need not be waited for, and
/// the others still meet where they would without it.
fn meeting_points(
    program: &Program,
    blocks: &[Range<usize>],
    successors: &[Vec<usize>],
    leaves: &[bool],
) -> Vec<Option<usize>> {
    let ends = |micro: &Micro| micro.op == Op::Exit && micro.guard.is_none();
    let only_ends = |&block: &usize| {
        let mut micros = program.micros[blocks[block].clone()].iter();
        micros.all(|micro| micro.op == Op::Nop || ends(micro)) && leaves[block]
    };
    let ways_on = |next: &Vec<usize>| {
        let lasting: Vec<usize> = next.iter().copied().filter(|block| !only_ends(block)).collect();
        if lasting.is_empty() { next.clone() } else { lasting }
    };
    let lasting: Vec<Vec<usize>> = successors.iter().map(ways_on).collect();
    post_dominators(&lasting, leaves)
}

/// Immediate post-dominator of each node of a graph with one virtual exit behind the nodes of `leaves`; `None` for
/// the exit, and for nodes that never reach it. (Cooper, Harvey and Kennedy 2001, on the reversed graph.)
fn post_dominators(successors: &[Vec<usize>], leaves: &[bool]) -> Vec<Option<usize>> {
    let exit = successors.len();
    let order = reverse_post_order(successors, leaves);
    let mut rank = vec![usize::MAX; exit + 1];
    for (place, &node) in order.iter().enumerate() {
        rank[node] = place;
    }
    let mut immediate = vec![usize::MAX; exit + 1];
    immediate[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in &order[1..] {
            let ways = successors[node].iter().copied().chain(leaves[node].then_some(exit));
            let known = ways.filter(|&way| immediate[way] != usize::MAX);
            let meet = known.reduce(|a, b| intersect(&immediate, &rank, a, b));
            if let Some(meet) = meet.filter(|&meet| immediate[node] != meet) {
                immediate[node] = meet;
                changed = true;
            }
        }
    }
    immediate[..exit].iter().map(|&node| (node < exit).then_some(node)).collect()
}

fn intersect(immediate: &[usize], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while rank[a] > rank[b] {
            a = immediate[a];
        }
        while rank[b] > rank[a] {
            b = immediate[b];
        }
    }
    a
}

/// The reversed graph from the exit on, each node before those that only lead to it.
fn reverse_post_order(successors: &[Vec<usize>], leaves: &[bool]) -> Vec<usize> {
    let exit = successors.len();
    let mut predecessors = vec![Vec::new(); exit + 1];
    for (node, next) in successors.iter().enumerate() {
        for &way in next {
            predecessors[way].push(node);
        }
        if leaves[node] {
            predecessors[exit].push(node);
        }
    }
    let mut post_order = Vec::with_capacity(exit + 1);
    let mut seen = vec![false; exit + 1];
    let mut open = vec![(exit, 0)];
    seen[exit] = true;
    while let Some((node, next)) = open.pop() {
        match predecessors[node].get(next) {
            Some(&way) => {
                open.push((node, next + 1));
                if !std::mem::replace(&mut seen[way], true) {
                    open.push((way, 0));
                }
            }
            None => post_order.push(node),
        }
    }
    post_order.reverse();
    post_order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reaches_exit(successors: &[Vec<usize>], leaves: &[bool], from: usize, without: Option<usize>) -> bool {
        let mut seen = vec![false; successors.len()];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if Some(node) == without || std::mem::replace(&mut seen[node], true) {
                continue;
            }
            if leaves[node] {
                return true;
            }
            open.extend(&successors[node]);
        }
        false
    }

    /// By definition: every way from the node to the exit passes it.
    fn post_dominates(successors: &[Vec<usize>], leaves: &[bool], dominator: usize, node: usize) -> bool {
        dominator == node || !reaches_exit(successors, leaves, node, Some(dominator))
    }

    fn by_definition(successors: &[Vec<usize>], leaves: &[bool], node: usize) -> Option<usize> {
        if !reaches_exit(successors, leaves, node, None) {
            return None;
        }
        let nodes = 0..successors.len();
        let strict: Vec<usize> =
            nodes.filter(|&other| other != node && post_dominates(successors, leaves, other, node)).collect();
        let nearest = |&candidate: &usize| strict.iter().all(|&other| post_dominates(successors, leaves, other, candidate));
        strict.iter().copied().find(nearest)
    }

    fn graphs() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<bool>)> {
        (1usize..9).prop_flat_map(|count| {
            let edges = proptest::collection::vec(proptest::collection::vec(0..count, 0..3), count);
            (edges, proptest::collection::vec(any::<bool>(), count))
        })
    }

    proptest! {
        #[test]
        fn post_dominators_are_those_of_the_definition((successors, leaves) in graphs()) {
            let computed = post_dominators(&successors, &leaves);
            for (node, &immediate) in computed.iter().enumerate() {
                prop_assert_eq!(immediate, by_definition(&successors, &leaves, node), "node {}", node);
            }
        }
    }

    #[test]
    fn a_diamond_meets_at_its_end_and_a_loop_behind_it() {
        let diamond = [vec![1, 2], vec![3], vec![3], vec![]];
        assert_eq!(post_dominators(&diamond, &[false, false, false, true]), [Some(3), Some(3), Some(3), None]);
        let endless = [vec![0]];
        assert_eq!(post_dominators(&endless, &[false]), [None]);
    }
}
