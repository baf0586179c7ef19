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
