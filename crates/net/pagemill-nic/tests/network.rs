//! Links that messages share, against what each topology must give by arithmetic.

use pagemill_nic::pattern::{AddressOrder, Addresses, LatencySpec, Level};
use pagemill_nic::{
    Action, Completion, NetworkSpec, NicMachine, Program, Receive, Request, Send, World,
    WorldError, WorldReport,
};
use pagemill_policy::routing::{Routing, TopologySpec};
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
    let mut scripts = vec![Vec::new(); ranks as usize];
    for from in 0..ranks {
        if let Some(to) = to(from) {
            scripts[from as usize].push(send(to, bytes));
            scripts[to as usize].push(receive(from, bytes));
        }
    }
    run(machine, &scripts).expect("all messages have receives")
}

/// What a rank does, all of it started as soon as the processor is free.
#[derive(Clone, Debug)]
struct Script {
    actions: Vec<Action>,
    next: usize,
    under_way: u32,
}

impl Program for Script {
    fn next(&mut self, _now: Picos) -> Action {
        let action = self.actions.get(self.next).copied();
        self.next += 1;
        match action {
            Some(action) => action,
            None if self.under_way > 0 => Action::Wait,
            None => Action::Exit,
        }
    }

    fn started(&mut self, _request: Request) {
        self.under_way += 1;
    }

    fn completed(&mut self, _request: Request, _completion: &Completion, _now: Picos) {
        self.under_way -= 1;
    }
}

fn run(machine: &NicMachine, scripts: &[Vec<Action>]) -> Result<WorldReport, WorldError> {
    let programs = scripts.iter().cloned().map(|actions| Script {
        actions,
        next: 0,
        under_way: 0,
    });
    World::new(machine, programs)?.run()
}

fn send(to: u32, bytes: u64) -> Action {
    Action::Send(Send {
        dest: to,
        tag: 0,
        bytes,
        address: buffer(to, 0),
    })
}

fn receive(from: u32, bytes: u64) -> Action {
    Action::Receive(Receive {
        source: Some(from),
        tag: 0,
        ignore: 0,
        bytes,
        address: buffer(from, 1),
    })
}

/// Each partner has a buffer for each direction.
fn buffer(peer: u32, direction: u64) -> u64 {
    (1 << 32) + ((u64::from(peer) << 1) + direction) * (1 << 20)
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
    let error = run(&machine, &vec![Vec::new(); 5]).expect_err("there are four nodes");
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
    let ends = |scripts: &[Vec<Action>]| run(&machine, scripts).expect("it ends").end;
    // Rank 0 receives 800 kB while it learns, late, that it may send 400 kB of its own.
    let both = ends(&[
        vec![send(1, 400_000), receive(2, 800_000)],
        vec![
            Action::Compute(Picos::from_nanos(5000)),
            receive(0, 400_000),
        ],
        vec![send(0, 800_000)],
    ]);
    let longest = ends(&[vec![receive(2, 800_000)], vec![], vec![send(0, 800_000)]]);
    within(both, longest.0 as f64, 0.01, "both ways at once");
}

#[test]
fn a_receive_that_nothing_meets_is_an_error_with_its_rank() {
    let error = run(&NicMachine::pni(), &[vec![], vec![receive(0, 8)]]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("rank 1") && text.contains("wait"), "{text}");
}

/// Twelve ranks send `sizes[rank]` bytes `shift` ranks on; with `only`, that rank alone sends.
fn ring_of_sends(sizes: &[u64], shift: u32, only: Option<u32>) -> Vec<Vec<Action>> {
    let is_meant = |rank: u32| only.is_none_or(|only| only == rank);
    let script = |rank: u32| {
        let (to, from) = ((rank + shift) % 12, (rank + 12 - shift) % 12);
        let sent = is_meant(rank).then(|| send(to, sizes[rank as usize]));
        let received = is_meant(from).then(|| receive(from, sizes[from as usize]));
        sent.into_iter().chain(received).collect()
    };
    (0..12).map(script).collect()
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
        let all_send = ring_of_sends(&sizes, shift, None);
        let report = run(&machine, &all_send).expect("it ends");
        let again = run(&machine, &all_send).expect("it ends");
        prop_assert_eq!(report, again);
        for rank in 0..12 {
            let message = ring_of_sends(&sizes, shift, Some(rank));
            let alone = run(&unshared, &message).expect("it ends").end;
            let through_switches = run(&machine, &message).expect("it ends").end;
            prop_assert!(through_switches + ROUNDING >= alone, "rank {rank}: {through_switches:?} before {alone:?}");
            prop_assert!(report.end + ROUNDING >= alone, "rank {rank}: {:?} before {alone:?}", report.end);
        }
        let all = run(&unshared, &all_send).expect("it ends");
        prop_assert_eq!(report.counts.received_bytes, all.counts.received_bytes);
        prop_assert_eq!(report.packets, all.packets);
    }
}
