//! The two binary trees of a reduction and broadcast at full bandwidth (Sanders, Speck and Träff: Two-tree algorithms for full
//! bandwidth broadcast, reduction and scan, Parallel Computing 35, 2009), numbered as NCCL does: nearly every rank that has
//! children in one tree has none in the other.

/// The neighbors of a rank in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeNode {
    /// Toward the root; `None` at the root.
    pub parent: Option<u32>,
    /// Away from it.
    pub children: [Option<u32>; 2],
}

/// `position` of `size` ranks in tree 0 or 1.
///
/// Tree 1 is tree 0 seen in a mirror if the number of ranks is even, and moved by one if it is odd.
pub fn tree_node(tree: u32, position: u32, size: u32) -> TreeNode {
    if tree.is_multiple_of(2) {
        return in_order(position, size);
    }
    let (node, back): (_, Box<dyn Fn(u32) -> u32>) = if size.is_multiple_of(2) {
        let mirror = move |place: u32| size - 1 - place;
        (in_order(mirror(position), size), Box::new(mirror))
    } else {
        let before = (position + size - 1) % size;
        let after = move |place: u32| (place + 1) % size;
        (in_order(before, size), Box::new(after))
    };
    TreeNode {
        parent: node.parent.map(&back),
        children: node.children.map(|child| child.map(&back)),
    }
}

/// A binary tree over 1 to size - 1 in which neither odd numbers nor, then, a number between two others has children; 0 is above it.
fn in_order(position: u32, size: u32) -> TreeNode {
    if position == 0 {
        let top = size.checked_next_power_of_two().unwrap_or(size) / 2;
        return TreeNode {
            parent: None,
            children: [(size > 1).then_some(top), None],
        };
    }
    let bit = position & position.wrapping_neg();
    let up = (position ^ bit) | (bit << 1);
    let half = bit / 2;
    let left = (half > 0).then(|| position - half);
    // The right half may be cut off: its root is then further left.
    let halves = std::iter::successors(Some(half), |half| Some(half / 2));
    let right = halves
        .take_while(|&half| half > 0)
        .map(|half| position + half)
        .find(|&child| child < size);
    TreeNode {
        parent: Some(if up < size { up } else { position ^ bit }),
        children: [left, right],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tree_reaches_every_rank_once() {
        for size in 1..70 {
            for tree in [0, 1] {
                let node = |position| tree_node(tree, position, size);
                let roots = (0..size).filter(|&place| node(place).parent.is_none());
                assert_eq!(roots.count(), 1, "{size} ranks");
                for place in 0..size {
                    for child in node(place).children.into_iter().flatten() {
                        assert_eq!(node(child).parent, Some(place), "{size} ranks, {place}");
                    }
                    let mut above = place;
                    let mut steps = 0;
                    while let Some(parent) = node(above).parent {
                        let siblings = node(parent).children;
                        assert!(siblings.contains(&Some(above)), "{size} ranks, {above}");
                        above = parent;
                        steps += 1;
                        assert!(steps <= 2 * size.ilog2() + 1, "{size} ranks: too deep");
                    }
                }
            }
        }
    }

    #[test]
    fn few_ranks_have_two_children_in_both_trees() {
        for size in 2..70 {
            let inner = |tree, place| tree_node(tree, place, size).children[0].is_some();
            let both = (0..size).filter(|&place| inner(0, place) && inner(1, place));
            assert!(both.count() <= 2, "{size} ranks");
        }
    }
}
