//! Links that messages share, against what each topology must give by arithmetic.

use std::fmt::Write as _;

use pagemill_policy::routing::{Routing, TopologySpec};
use pagemill_sim::nic::pattern::{AddressOrder, Addresses, LatencySpec, Level};
use pagemill_sim::nic::{NetworkSpec, NicMachine, WorldReport, goal};
use pagemill_types::Picos;
use proptest::prelude::*;

/// The preset with switches. Links between them are as fast as those to the nodes.
fn machine(topology: TopologySpec, routing: Routing) -> NicMachine {
    let pni = NicMachine::pni();
    NicMachine {
        network: Some(NetworkSpec {
            topology,
            routing,
            bandwidth: pni.wire.bandwidth,
            cable_latency: Picos::from_nanos(25),
            part_bytes: 4096,
        }),
        ..pni
    }
}

fn fat_tree(children: &[u32], parents: &[u32]) -> TopologySpec {
    TopologySpec::FatTree {
        children: children.to_vec(),
        parents: parents.to_vec(),
    }
}

/// Each of `ranks` sends `bytes` where `to` says, all at once.
fn send_all(
    machine: &NicMachine,
    ranks: u32,
    bytes: u64,
    to: impl Fn(u32) -> Option<u32>,
) -> WorldReport {
    let mut blocks = vec![String::new(); ranks as usize];
    for from in 0..ranks {
        if let Some(to) = to(from) {
            let _ = writeln!(blocks[from as usize], "send {bytes}b to {to} tag {from}");
            let _ = writeln!(blocks[to as usize], "recv {bytes}b from {from} tag {from}");
        }
    }
    let mut text = format!("num_ranks {ranks}\n");
    for (rank, block) in blocks.iter().enumerate() {
        let _ = writeln!(text, "rank {rank} {{\n{block}}}");
    }
    let goal = goal::parse("test", text.as_bytes()).expect("a schedule");
    goal.run(machine).expect("all messages have receives")
}

/// Time of `bytes` on a link, in the packets of the preset.
fn link_time(machine: &NicMachine, bytes: u64) -> f64 {
    machine
        .wire
        .bandwidth
        .time_for(machine.wire.wire_bytes(bytes))
        .0 as f64
}

fn within(found: Picos, expected: f64, share: f64, what: &str) {
    let error = found.0 as f64 / expected - 1.0;
    assert!(
        error.abs() <= share,
        "{what}: {} ns, expected {} ns",
        found.0 / 1000,
        expected / 1e3
    );
}

const MIB: u64 = 1 << 20;

#[test]
fn one_switch_is_the_wire_with_one_hop() {
    let direct = NicMachine::pni();
    let switched = machine(fat_tree(&[2], &[1]), Routing::Static);
    for level in [Level::Rdma, Level::Mpi] {
        for bytes in [1, 64, 128, 1024, 4096, 16 << 10, 100_000, MIB] {
            let same = || Addresses::new(AddressOrder::Same, bytes, 0, 0);
            let spec = LatencySpec {
                level,
                bytes,
                iterations: 10,
                warmup: 2,
                source: same(),
                target: same(),
            };
            let (wire, _) = spec.run(&direct).expect("it runs");
            let (switch, _) = spec.run(&switched).expect("it runs");
            within(
                switch,
                wire.0 as f64,
                if bytes <= 1024 { 0.0 } else { 0.01 },
                &format!("{level:?} {bytes}"),
            );
        }
    }
}

#[test]
fn each_switch_on_the_way_adds_its_latency_and_a_cable() {
    let spec = LatencySpec {
        level: Level::Rdma,
        bytes: 8,
        iterations: 4,
        warmup: 1,
        source: Addresses::new(AddressOrder::Same, 8, 0, 0),
        target: Addresses::new(AddressOrder::Same, 8, 0, 0),
    };
    let near = machine(fat_tree(&[2], &[1]), Routing::Static);
    // The two ranks are under different leaves: three switches instead of one.
    let far = machine(fat_tree(&[1, 2], &[1, 1]), Routing::Static);
    let (near, _) = spec.run(&near).expect("it runs");
    let (far, _) = spec.run(&far).expect("it runs");
    assert_eq!(far - near, Picos::from_nanos(2 * (100 + 25)));
}

#[test]
fn an_incast_takes_as_long_as_its_last_link() {
    for senders in [2_u32, 7, 31] {
        let machine = machine(fat_tree(&[8, 4], &[1, 8]), Routing::Static);
        let report = send_all(&machine, 32, MIB, |from| {
            (1..=senders).contains(&from).then_some(0)
        });
        within(
            report.end,
            f64::from(senders) * link_time(&machine, MIB),
            0.03,
            &format!("{senders} senders"),
        );
    }
}

#[test]
fn a_tapered_tree_shares_its_uplinks() {
    // Node i of each leaf sends to node i of the leaf across: 8 senders over 8, 4, 2 or 1 uplinks.
    for uplinks in [8, 4, 2, 1] {
        let machine = machine(fat_tree(&[8, 4], &[1, uplinks]), Routing::Static);
        let report = send_all(&machine, 32, MIB, |from| Some((from + 16) % 32));
        let expected = f64::from(8 / uplinks) * link_time(&machine, MIB);
        within(report.end, expected, 0.05, &format!("{uplinks} uplinks"));
    }
}

#[test]
fn transfers_that_share_a_link_end_together() {
    // Four nodes of one leaf send to four of another over one uplink: each gets a quarter, and none is served first.
    let machine = machine(fat_tree(&[4, 2], &[1, 1]), Routing::Static);
    let mut ends = Vec::new();
    for last in 0..4 {
        // The transfer whose end is measured is the only one that is waited for longest: give it one more part.
        let report = send_all(&machine, 8, MIB, |from| {
            (from < 4 && from != last).then_some(from + 4)
        });
        ends.push(report.end);
    }
    let three = 3.0 * link_time(&machine, MIB);
    for end in ends {
        within(end, three, 0.03, "three of four");
    }
}

/// The adversary of a dragonfly: all nodes of a group send to the next group (Kim et al. 2008, section 4.2).
fn to_next_group(machine: &NicMachine, nodes_per_group: u32, groups: u32) -> WorldReport {
    let nodes = nodes_per_group * groups;
    send_all(machine, nodes, MIB, |from| {
        Some((from + nodes_per_group) % nodes)
    })
}

#[test]
fn a_dragonfly_needs_detours_where_groups_send_to_one() {
    let topology = TopologySpec::Dragonfly {
        nodes_per_router: 2,
        routers_per_group: 4,
        global_links: 2,
        groups: 9,
    };
    let run = |routing| {
        let machine = machine(topology.clone(), routing);
        let link = link_time(&machine, MIB);
        to_next_group(&machine, 8, 9).end.0 as f64 / link
    };
    let minimal = run(Routing::Static);
    // Eight nodes share the one link to the next group: 1 / (a h) of the capacity.
    assert!((minimal / 8.0 - 1.0).abs() < 0.03, "{minimal}");
    let adaptive = run(Routing::Adaptive);
    let valiant = run(Routing::Valiant);
    assert!(
        adaptive < 0.6 * minimal,
        "adaptive {adaptive}, static {minimal}"
    );
    assert!(valiant < minimal, "valiant {valiant}, static {minimal}");
}

#[test]
fn a_tornado_loads_each_link_of_a_ring_with_its_distance() {
    let machine = machine(TopologySpec::Torus { shape: vec![16] }, Routing::Static);
    for distance in [1, 3, 7] {
        let report = send_all(&machine, 16, MIB, |from| Some((from + distance) % 16));
        within(
            report.end,
            f64::from(distance) * link_time(&machine, MIB),
            0.05,
            &format!("distance {distance}"),
        );
    }
}

#[test]
fn too_many_ranks_for_the_nodes_are_refused() {
    let machine = machine(fat_tree(&[4], &[1]), Routing::Static);
    let goal = goal::parse("test", "num_ranks 5\n".as_bytes()).expect("a schedule");
    let error = goal.run(&machine).expect_err("there are four nodes");
    assert!(
        error.to_string().contains("a node for each of 5 ranks"),
        "{error}"
    );
}

#[test]
fn impossible_networks_are_refused() {
    let good = machine(fat_tree(&[4], &[1]), Routing::Static);
    let spec = good.network.clone().expect("it has one");
    let refuse = |network: NetworkSpec, word: &str| {
        let bad = NicMachine {
            network: Some(network),
            ..good.clone()
        };
        let error = bad.check().expect_err("it is impossible");
        assert_eq!(error.key, word);
    };
    refuse(
        NetworkSpec {
            part_bytes: 512,
            ..spec.clone()
        },
        "network.part_bytes",
    );
    refuse(
        NetworkSpec {
            topology: fat_tree(&[4], &[2]),
            ..spec
        },
        "network.parents",
    );
}

/// A message with data of its own passes between the segments of bulk data, at the link, to memory and in the reads of the table.
#[test]
fn a_short_exchange_does_not_wait_for_a_long_transfer() {
    let machine = NicMachine::pni();
    let run = |text: &str| {
        goal::parse("test", text.as_bytes())
            .expect("a schedule")
            .run(&machine)
            .expect("it ends")
            .end
    };
    // Rank 0 receives 800 kB while it learns, late, that it may send 400 kB of its own.
    let both = run(
        "num_ranks 3\nrank 0 {\nsend 400000b to 1\nrecv 800000b from 2\n}\nrank 1 {\nwait: calc 5000\nget: recv 400000b from 0\nget requires wait\n}\nrank 2 {\nsend 800000b to 0\n}\n",
    );
    let longest =
        run("num_ranks 3\nrank 0 {\nrecv 800000b from 2\n}\nrank 2 {\nsend 800000b to 0\n}\n");
    within(both, longest.0 as f64, 0.01, "both ways at once");
}

/// Twelve ranks send `sizes[rank]` bytes `shift` ranks on; with `only`, that rank alone sends.
fn ring_of_sends(sizes: &[u64], shift: u32, only: Option<u32>) -> goal::Goal {
    let mut text = "num_ranks 12\n".to_owned();
    for rank in 0..12_u32 {
        let (to, from) = ((rank + shift) % 12, (rank + 12 - shift) % 12);
        let _ = writeln!(text, "rank {rank} {{");
        if only.is_none_or(|only| only == rank) {
            let _ = writeln!(text, "send {}b to {to}", sizes[rank as usize]);
        }
        if only.is_none_or(|only| only == from) {
            let _ = writeln!(text, "recv {}b from {from}", sizes[from as usize]);
        }
        let _ = writeln!(text, "}}");
    }
    goal::parse("test", text.as_bytes()).expect("a schedule")
}

/// Each segment's time is rounded up to a picosecond, with and without switches at other places; a message has fewer than 1,000 segments.
const ROUNDING: Picos = Picos(1000);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Shared links make no message faster than it is alone on a link of its own, and no byte of work is lost.
    ///
    /// The whole run may still end before a run without shared links: a packet that arrives later may let a longer
    /// transfer pass first (the anomaly that Graham described for lists of jobs, 1969).
    #[test]
    fn a_network_delays_and_never_loses(sizes in proptest::collection::vec(1u64..200_000, 12), shift in 1u32..11, routing in 0usize..4) {
        let routing = pagemill_policy::routing::ROUTINGS[routing].routing;
        let machine = machine(fat_tree(&[3, 4], &[1, 2]), routing);
        let unshared = NicMachine { network: None, ..machine.clone() };
        let goal = ring_of_sends(&sizes, shift, None);
        let report = goal.run(&machine).expect("it ends");
        let again = goal.run(&machine).expect("it ends");
        prop_assert_eq!(report, again);
        for rank in 0..12 {
            let message = ring_of_sends(&sizes, shift, Some(rank));
            let alone = message.run(&unshared).expect("it ends").end;
            let through_switches = message.run(&machine).expect("it ends").end;
            prop_assert!(through_switches + ROUNDING >= alone, "rank {rank}: {through_switches:?} before {alone:?}");
            prop_assert!(report.end + ROUNDING >= alone, "rank {rank}: {:?} before {alone:?}", report.end);
        }
        let all = goal.run(&unshared).expect("it ends");
        prop_assert_eq!(report.counts.received_bytes, all.counts.received_bytes);
        prop_assert_eq!(report.packets, all.packets);
    }
}
