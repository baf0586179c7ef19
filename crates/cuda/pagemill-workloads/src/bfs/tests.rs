use super::*;

fn csr(graph: &Graph) -> (Vec<u8>, Vec<u8>) {
    let mut nodes = vec![0; graph.node_bytes() as usize];
    let mut edges = vec![0; graph.edge_bytes() as usize];
    graph.write_nodes(&mut nodes);
    graph.write_edges(words::<u32>(&nodes).step_by(2).collect(), &mut edges);
    (nodes, edges)
}

#[test]
fn a_path_has_distances_in_order() {
    // 0 - 1 - 2, and 3 alone.
    let nodes: Vec<u8> = [0u32, 1, 1, 2, 3, 1, 4, 0]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    let edges: Vec<u8> = [1u32, 0, 2, 1]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    assert_eq!(distances(&nodes, &edges, 0), [0, 1, 2, -1]);
    assert_eq!(distances(&nodes, &edges, 3), [-1, -1, -1, 0]);
}

#[test]
fn the_graph_is_symmetric_and_complete() {
    let graph = Graph {
        nodes: 100,
        links: 300,
        seed: 5,
    };
    let (nodes, edges) = csr(&graph);
    let mut stored = Vec::new();
    for node in 0..100 {
        let (first, degree) = (
            get::<u32>(&nodes, 2 * node),
            get::<u32>(&nodes, 2 * node + 1),
        );
        stored.extend(
            (first..first + degree).map(|edge| (node as u32, get::<u32>(&edges, edge as usize))),
        );
    }
    let mut expected: Vec<_> = graph.links().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
    stored.sort_unstable();
    expected.sort_unstable();
    assert_eq!(stored, expected);
}

#[test]
fn the_default_is_the_size_of_the_literature() {
    let workload = INFO
        .build(&Values::defaults(NAME, INFO.parameters))
        .expect("defaults are allowed");
    // 393,216 directed edges and 15 bytes a node.
    assert_eq!(workload.footprint_bytes(), 393_216 * 4 + 65_536 * 15 + 1);
}

#[test]
fn inputs_depend_on_the_seed_alone() {
    let inputs = |seed| {
        csr(&Graph {
            nodes: 50,
            links: 100,
            seed,
        })
    };
    assert_eq!(inputs(1), inputs(1));
    assert_ne!(inputs(1), inputs(2));
}
