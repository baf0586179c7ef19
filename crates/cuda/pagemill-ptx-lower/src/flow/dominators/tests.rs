use super::*;
use proptest::prelude::*;

/// Nodes reachable from `root` when `without` is taken out.
fn reachable(successors: &[Vec<usize>], root: usize, without: Option<usize>) -> Vec<bool> {
    let mut seen = vec![false; successors.len()];
    let mut stack: Vec<usize> = (Some(root) != without)
        .then_some(root)
        .into_iter()
        .collect();
    while let Some(node) = stack.pop() {
        if !std::mem::replace(&mut seen[node], true) {
            stack.extend(
                successors[node]
                    .iter()
                    .copied()
                    .filter(|&next| Some(next) != without),
            );
        }
    }
    seen
}

proptest! {
    #[test]
    fn the_tree_is_that_of_the_definition(edges in prop::collection::vec((0usize..12, 0usize..12), 0..40)) {
        let mut successors = vec![Vec::new(); 12];
        for (from, to) in edges {
            successors[from].push(to);
        }
        let tree = immediate(&successors, 0);
        let from_root = reachable(&successors, 0, None);
        for node in 0..12 {
            if !from_root[node] || node == 0 {
                prop_assert_eq!(tree[node], node);
                continue;
            }
            // By definition: a dominates b when b cannot be reached without a.
            let strict: Vec<usize> =
                (0..12).filter(|&a| a != node && from_root[a] && !reachable(&successors, 0, Some(a))[node]).collect();
            let spans = spans(&tree);
            for a in (0..12).filter(|&a| a != node) {
                let inside = spans[a].0 <= spans[node].0 && spans[node].1 <= spans[a].1;
                prop_assert_eq!(inside, strict.contains(&a));
            }
            let mut up = node;
            let mut chain = Vec::new();
            while tree[up] != up {
                up = tree[up];
                chain.push(up);
            }
            chain.sort_unstable();
            prop_assert_eq!(chain, strict);
        }
    }
}
