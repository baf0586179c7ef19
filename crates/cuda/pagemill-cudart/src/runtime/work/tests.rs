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
        graph.nodes.insert(id, Node { work, after });
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
    let node = |work, after: &[u64]| Node {
        work,
        after: after.iter().copied().collect(),
    };
    parent.nodes.insert(10, node(Work::Wait(1), &[]));
    parent
        .nodes
        .insert(11, node(Work::Child(child, None), &[10]));
    parent.nodes.insert(12, node(Work::Wait(2), &[11]));
    parent
        .nodes
        .insert(13, node(Work::Child(Graph::default(), None), &[12]));
    let steps = parent.order().expect("no circle");
    let after: Vec<&[usize]> = steps.iter().map(|step| &step.after[..]).collect();
    let expected: [&[usize]; 8] = [&[], &[0], &[0], &[0], &[0], &[1, 2, 3, 4], &[5], &[6]];
    assert_eq!(after, expected);
}

#[test]
fn nodes_of_a_moved_graph_are_known() {
    for owner in [None, Some(7)] {
        let mut parent = Graph::default();
        let child = Work::Child(graph(0), owner);
        parent.nodes.insert(
            10,
            Node {
                work: child,
                after: BTreeSet::new(),
            },
        );
        let mut steps = parent.order().expect("no circle");
        for node in 0..NODES {
            let is_known = step_of(&mut steps, node).is_some();
            assert_eq!(is_known, owner.is_some(), "{node}");
        }
    }
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

#[test]
fn steps_of_bodies_are_found_by_their_nodes() {
    let step = |node, work| Step {
        node: Some(node),
        work,
        after: Vec::new(),
    };
    let conditional = |bodies| {
        Work::Conditional(Conditional {
            handle: 1,
            choice: Choice::While,
            graphs: Vec::new(),
            bodies,
        })
    };
    let inner = conditional(vec![vec![step(5, Work::Wait(7))]]);
    let outer = conditional(vec![vec![step(3, Work::Empty)], vec![step(4, inner)]]);
    let mut steps = vec![step(1, Work::Empty), step(2, outer)];
    for node in 1..=5 {
        let found = step_of(&mut steps, node).and_then(|step| step.node);
        assert_eq!(found, Some(node));
    }
    assert!(step_of(&mut steps, 6).is_none());
    let found = step_of(&mut steps, 5).expect("it is in the inner body");
    assert!(found.work.replace(Work::Wait(8)));
    assert!(matches!(
        step_of(&mut steps, 5).map(|step| &step.work),
        Some(Work::Wait(8))
    ));
}
