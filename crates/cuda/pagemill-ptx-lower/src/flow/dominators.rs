//! Immediate dominators, by the iterative algorithm of Cooper, Harvey and Kennedy (2001).

/// The immediate dominator of each node of the graph `successors`, from `root`.
/// The root and nodes that cannot be reached are their own.
pub(crate) fn immediate(successors: &[Vec<usize>], root: usize) -> Vec<usize> {
    const UNKNOWN: usize = usize::MAX;
    let order = post_order(successors, root);
    let mut rank = vec![UNKNOWN; successors.len()];
    for (position, &node) in order.iter().enumerate() {
        rank[node] = position;
    }
    let mut predecessors = vec![Vec::new(); successors.len()];
    for &node in &order {
        for &successor in &successors[node] {
            predecessors[successor].push(node);
        }
    }
    let mut dominator = vec![UNKNOWN; successors.len()];
    dominator[root] = root;
    let mut changed = true;
    while changed {
        changed = false;
        // In reverse post-order all predecessors come first, but for loops: a second round mostly finds nothing to change.
        for &node in order.iter().rev().filter(|&&node| node != root) {
            let known = predecessors[node]
                .iter()
                .copied()
                .filter(|&node| dominator[node] != UNKNOWN);
            let Some(best) = known.reduce(|a, b| meet(&dominator, &rank, a, b)) else {
                continue;
            };
            if dominator[node] != best {
                dominator[node] = best;
                changed = true;
            }
        }
    }
    dominator
        .iter()
        .enumerate()
        .map(|(node, &up)| if up == UNKNOWN { node } else { up })
        .collect()
}

/// For each node, when a walk around the tree enters and leaves it: a node dominates what lies within its span.
pub(crate) fn spans(dominator: &[usize]) -> Vec<(u32, u32)> {
    let mut children = vec![Vec::new(); dominator.len()];
    let mut roots = Vec::new();
    for (node, &up) in dominator.iter().enumerate() {
        match up == node {
            true => roots.push(node),
            false => children[up].push(node),
        }
    }
    let mut spans = vec![(0, 0); dominator.len()];
    let mut clock = 0;
    let mut stack: Vec<(usize, bool)> = roots.into_iter().map(|root| (root, false)).collect();
    while let Some((node, done)) = stack.pop() {
        clock += 1;
        if done {
            spans[node].1 = clock;
            continue;
        }
        spans[node].0 = clock;
        stack.push((node, true));
        stack.extend(children[node].iter().map(|&child| (child, false)));
    }
    spans
}

/// The nearest common dominator of two nodes.
fn meet(dominator: &[usize], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        // Ranks grow toward the root.
        while rank[a] < rank[b] {
            a = dominator[a];
        }
        while rank[b] < rank[a] {
            b = dominator[b];
        }
    }
    a
}

/// Nodes reachable from `root`, each after those it leads to, without recursion.
fn post_order(successors: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; successors.len()];
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, next)) = stack.pop() {
        match successors[node].get(next) {
            Some(&successor) => {
                stack.push((node, next + 1));
                if !std::mem::replace(&mut seen[successor], true) {
                    stack.push((successor, 0));
                }
            }
            None => order.push(node),
        }
    }
    order
}

#[cfg(test)]
mod tests;
