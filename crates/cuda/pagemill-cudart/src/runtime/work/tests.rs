use super::*;

const NODES: u64 = 4;

/// Every graph of four nodes, by a bit for each pair of different nodes: the first waits for the second.
fn graph(bits: u32) -> Graph {
    let mut graph = Graph::default();
    let mut left = bits;
    for id in 0..NODES {
        let mut after = BTreeSet::new();
        for earlier in (0..NODES).filter(|&earlier| earlier != id) {
            if left & 1 == 1 {
                after.insert(earlier);
            }
            left >>= 1;
        }
        let work = Work::Empty;
        graph.nodes.insert(id, Node::new(work, after));
    }
    graph
}

/// Whether some node waits for itself, by way of others.
fn has_circle(graph: &Graph) -> bool {
    let mut reaches: BTreeSet<(u64, u64)> = graph
        .nodes
        .iter()
        .flat_map(|(&id, node)| node.after.iter().map(move |&earlier| (id, earlier)))
        .collect();
    for middle in 0..NODES {
        for from in 0..NODES {
            for to in 0..NODES {
                if reaches.contains(&(from, middle)) && reaches.contains(&(middle, to)) {
                    reaches.insert((from, to));
                }
            }
        }
    }
    (0..NODES).any(|node| reaches.contains(&(node, node)))
}

#[test]
fn every_step_comes_behind_those_that_it_waits_for() {
    for bits in 0..1 << (NODES * (NODES - 1)) {
        let graph = graph(bits);
        let Some(steps) = graph.order() else {
            assert!(has_circle(&graph), "{bits:#x}");
            continue;
        };
        assert!(!has_circle(&graph), "{bits:#x}");
        assert_eq!(steps.len() as u64, NODES);
        for (place, step) in steps.iter().enumerate() {
            assert!(step.after.iter().all(|&earlier| earlier < place));
            let id = step.node.expect("no child graphs");
            let named = step.after.iter().filter_map(|&earlier| steps[earlier].node);
            assert_eq!(named.collect::<BTreeSet<u64>>(), graph.nodes[&id].after);
        }
    }
}

#[test]
fn a_child_graph_is_done_between_what_is_before_and_behind_it() {
    let child = graph(0);
    let mut parent = Graph::default();
    let node = |work, after: &[u64]| Node::new(work, after.iter().copied().collect());
    parent.nodes.insert(10, node(Work::Wait(1), &[]));
    parent.nodes.insert(11, node(Work::Child(child), &[10]));
    parent.nodes.insert(12, node(Work::Wait(2), &[11]));
    parent
        .nodes
        .insert(13, node(Work::Child(Graph::default()), &[12]));
    let steps = parent.order().expect("no circle");
    let after: Vec<&[usize]> = steps.iter().map(|step| &step.after[..]).collect();
    let expected: [&[usize]; 8] = [&[], &[0], &[0], &[0], &[0], &[1, 2, 3, 4], &[5], &[6]];
    assert_eq!(after, expected);
}

#[test]
fn values_choose_bodies() {
    let cases = [
        (Choice::If, 2, [Some(1), Some(0), Some(0)]),
        (Choice::If, 1, [None, Some(0), Some(0)]),
        (Choice::While, 1, [None, Some(0), Some(0)]),
        (Choice::Switch, 2, [Some(0), Some(1), None]),
    ];
    for (choice, bodies, wanted) in cases {
        let found = [0, 1, 2].map(|value| choice.body(value, bodies));
        assert_eq!(found, wanted, "{choice:?} of {bodies}");
    }
}
