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
mod tests;
