//! Routes against what a network of switches is: links that join switches, each at fixed ends.

use pagemill_policy::routing::{Flow, ROUTINGS, Routing, Topology, TopologySpec};
use proptest::prelude::*;

/// Sets that are merged when two names turn out to be the same switch.
struct Sets(Vec<usize>);

impl Sets {
    fn find(&mut self, name: usize) -> usize {
        let above = self.0[name];
        if above == name {
            return name;
        }
        let root = self.find(above);
        self.0[name] = root;
        root
    }

    fn merge(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one] = other;
    }
}

/// The switch at which each link starts and ends, found from all routes: a link ends where the next of a route starts.
/// Returns (start, end) of each link that some route uses, as names of switches.
fn ends(network: &dyn Topology) -> Vec<Option<(usize, usize)>> {
    let (nodes, links) = (network.nodes() as usize, network.links() as usize);
    // Names: the switch of each node, the starts of links, the ends of links.
    let (start, end) = (
        |link: u32| nodes + link as usize,
        |link: u32| nodes + links + link as usize,
    );
    let mut sets = Sets((0..nodes + 2 * links).collect());
    let mut used = vec![false; links];
    for_all_routes(network, |from, _, _, route| {
        sets.merge(from as usize, start(route[0]));
        for pair in route.windows(2) {
            sets.merge(end(pair[0]), start(pair[1]));
        }
        for &link in route {
            used[link as usize] = true;
        }
    });
    let ends = (0..links as u32)
        .map(|link| used[link as usize].then(|| (sets.find(start(link)), sets.find(end(link)))));
    ends.collect()
}

fn for_all_routes(network: &dyn Topology, mut visit: impl FnMut(u32, u32, u32, &[u32])) {
    let mut route = Vec::new();
    for from in 0..network.nodes() {
        for to in 0..network.nodes() {
            for choice in 0..network.minimal(from, to) + network.detours(from, to) {
                route.clear();
                network.route(from, to, choice, &mut route);
                visit(from, to, choice, &route);
            }
        }
    }
}

/// (topology, its switches, most links between switches on a shortest route)
fn examples() -> Vec<(TopologySpec, usize, usize)> {
    let tree = |children: &[u32], parents: &[u32]| TopologySpec::FatTree {
        children: children.to_vec(),
        parents: parents.to_vec(),
    };
    let dragonfly =
        |nodes_per_router, routers_per_group, global_links, groups| TopologySpec::Dragonfly {
            nodes_per_router,
            routers_per_group,
            global_links,
            groups,
        };
    let torus = |shape: &[u32]| TopologySpec::Torus {
        shape: shape.to_vec(),
    };
    vec![
        (tree(&[8], &[1]), 1, 0),
        (tree(&[4, 4], &[1, 4]), 8, 2),
        (tree(&[4, 4], &[1, 2]), 6, 2),
        // 12 leaves, 3 pods of 4 leaves with 2 switches each, 2 x 2 roots.
        (tree(&[3, 4, 3], &[1, 2, 2]), 12 + 6 + 4, 4),
        (dragonfly(2, 4, 2, 9), 36, 3),
        (dragonfly(1, 4, 2, 3), 12, 3),
        (dragonfly(1, 2, 1, 2), 4, 3),
        (torus(&[4]), 4, 2),
        (torus(&[3, 4, 2]), 24, 1 + 2 + 1),
    ]
}

#[test]
fn links_join_the_switches_that_the_topology_has() {
    for (spec, switches, _) in examples() {
        let network = spec.build().expect("examples are possible");
        let ends = ends(network.as_ref());
        let nodes = network.nodes() as usize;
        let mut seen: Vec<usize> = Vec::new();
        for (link, ends) in ends.iter().enumerate() {
            let Some((start, end)) = ends else { continue };
            assert_ne!(
                start, end,
                "{spec:?}: link {link} leads from a switch to itself"
            );
            seen.push(*start);
            if link >= nodes {
                seen.push(*end);
            }
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), switches, "{spec:?}");
    }
}

#[test]
fn every_link_is_used_unless_ports_are_left_over() {
    for (spec, ..) in examples() {
        let network = spec.build().expect("examples are possible");
        let unused = ends(network.as_ref())
            .iter()
            .filter(|ends| ends.is_none())
            .count();
        assert_eq!(unused, 0, "{spec:?}");
    }
}

#[test]
fn routes_end_at_the_node_and_shortest_ones_pass_no_switch_twice() {
    for (spec, _, longest) in examples() {
        let network = spec.build().expect("examples are possible");
        let ends = ends(network.as_ref());
        let mut most = 0;
        for_all_routes(network.as_ref(), |from, to, choice, route| {
            assert_eq!(route.last(), Some(&to), "{spec:?} {from} to {to}");
            let between = &route[..route.len() - 1];
            assert!(between.iter().all(|&link| link >= network.nodes()));
            if choice < network.minimal(from, to) {
                most = most.max(between.len());
                let mut starts: Vec<usize> = route
                    .iter()
                    .filter_map(|&link| Some(ends[link as usize]?.0))
                    .collect();
                starts.sort_unstable();
                starts.dedup();
                assert_eq!(
                    starts.len(),
                    route.len(),
                    "{spec:?} {from} to {to}: {route:?}"
                );
            }
        });
        assert_eq!(most, longest, "{spec:?}");
    }
}

#[test]
fn different_shortest_routes_of_a_fat_tree_meet_at_the_ends_only() {
    let spec = TopologySpec::FatTree {
        children: vec![4, 4],
        parents: vec![1, 4],
    };
    let network = spec.build().expect("an example");
    let mut all = Vec::new();
    for choice in 0..network.minimal(0, 15) {
        network.route(0, 15, choice, &mut all);
        all.pop();
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!((count, all.len()), (8, 8));
}

#[test]
fn adaptive_avoids_links_where_messages_wait() {
    let spec = TopologySpec::FatTree {
        children: vec![4, 4],
        parents: vec![1, 4],
    };
    let network = spec.build().expect("an example");
    let flow = Flow {
        from: 1,
        to: 14,
        number: 3,
    };
    let first = Routing::Static.choose(network.as_ref(), flow, |_| 0, 10);
    let other = Routing::Adaptive.choose(
        network.as_ref(),
        flow,
        |link| if first.contains(&link) { 100 } else { 0 },
        10,
    );
    assert!(
        first[..2].iter().all(|link| !other.contains(link)),
        "{first:?} {other:?}"
    );
}

#[test]
fn impossible_topologies_are_refused() {
    let refused = [
        TopologySpec::FatTree {
            children: vec![4, 4],
            parents: vec![2, 4],
        },
        TopologySpec::FatTree {
            children: vec![4],
            parents: vec![1, 4],
        },
        TopologySpec::FatTree {
            children: vec![1 << 20, 1 << 20],
            parents: vec![1, 1],
        },
        TopologySpec::Dragonfly {
            nodes_per_router: 1,
            routers_per_group: 2,
            global_links: 1,
            groups: 4,
        },
        TopologySpec::Torus { shape: vec![] },
        TopologySpec::Torus { shape: vec![4, 0] },
    ];
    for spec in refused {
        assert!(spec.build().is_err(), "{spec:?}");
    }
}

proptest! {
    #[test]
    fn every_routing_takes_a_route_of_the_topology(from in 0u32..72, to in 0u32..72, number: u64, which in 0..ROUTINGS.len()) {
        let spec = TopologySpec::Dragonfly { nodes_per_router: 2, routers_per_group: 4, global_links: 2, groups: 9 };
        let network = spec.build().expect("an example");
        let flow = Flow { from, to, number };
        let chosen = ROUTINGS[which].routing.choose(network.as_ref(), flow, u64::from, 5);
        let all = (0..network.minimal(from, to) + network.detours(from, to)).map(|choice| {
            let mut route = Vec::new();
            network.route(from, to, choice, &mut route);
            route
        });
        prop_assert!(all.into_iter().any(|route| route == chosen));
    }
}
