//! Ranks that share an interface, and the memory of one computer.

use std::path::Path;

use crate::common::{Finished, Programs, lacks_open_mpi, mpirun, run_on};
use pagemill_fabric::counters::Counter;
use pagemill_fabric::launch::Behavior;
use pagemill_nic::{NicMachine, NodeSpec};
use pagemill_types::Picos;

/// Four ranks as two nodes.
const PAIRS: NodeSpec = NodeSpec {
    ranks: 2,
    latency: Picos::from_nanos(220),
};

const ROUNDS: u64 = 10;

fn run(node: NodeSpec, program: &Path, arguments: &[&str]) -> Finished {
    let mut command = mpirun(4);
    command.arg(program).args(arguments);
    let (finished, _) = run_on(&NicMachine::pni(), node, Behavior::default(), command);
    finished
}

/// Picoseconds that a program prints, a line each.
fn spans(node: NodeSpec, program: &Path, arguments: &[&str]) -> Vec<u64> {
    let lines = run(node, program, arguments).result();
    let spans = lines.lines().map(|line| line.parse().expect("a number"));
    spans.collect()
}

#[test]
fn messages_within_a_node_cost_copies_and_between_nodes_what_they_did() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "nodes", &[]);
    let messages = NicMachine::pni().messages;
    for bytes in [0_u64, 8, 4096, 300_000] {
        let text = bytes.to_string();
        let inside = spans(PAIRS, &program, &["pingpong", "0", "1", &text]);
        let copy = messages.copy_bandwidth.time_for(bytes);
        let way = messages.send_overhead + copy + PAIRS.latency + messages.receive_overhead + copy;
        assert_eq!(inside, [2 * ROUNDS * way.0], "{bytes} bytes");
        let across = ["pingpong", "0", "2", &text];
        let shared = spans(PAIRS, &program, &across);
        assert_eq!(
            shared,
            spans(NodeSpec::ALONE, &program, &across),
            "{bytes} bytes"
        );
        // Large messages are copied twice within a node, and not at all between nodes.
        assert_eq!(shared[0] > inside[0], bytes < 300_000, "{bytes} bytes");
    }
}

#[test]
fn ranks_of_a_node_that_send_at_once_have_half_of_the_bandwidth_each() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "nodes", &[]);
    let stream = |node, pairs| spans(node, &program, &["stream", pairs, "1048576"]);
    let alone = stream(PAIRS, "1")[0] as f64;
    let both = stream(PAIRS, "2");
    assert_eq!(both, stream(PAIRS, "2"), "the same in every run");
    let last = *both.iter().max().expect("two") as f64 / alone;
    assert!(
        (1.95..2.05).contains(&last),
        "{last} times as long: {both:?}"
    );
    // With an interface each, they do not meet.
    let apart = stream(NodeSpec::ALONE, "2");
    assert!(
        apart
            .iter()
            .all(|span| (*span as f64 / alone - 1.0).abs() < 0.01),
        "{apart:?}"
    );
}

#[test]
fn ranks_of_a_node_have_its_name() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "nodes", &[]);
    let names = run(PAIRS, &program, &["name"]).result();
    assert_eq!(names, "node0\nnode0\nnode1\nnode1\n");
}

#[test]
fn collectives_and_windows_are_right_and_the_same_in_every_run() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    for name in ["collectives", "windows"] {
        let program = programs.compile("mpicc", name, &[]);
        let run = |node| {
            let finished = run(node, &program, &[]);
            assert_eq!(finished.sum(Counter::LateSteps), 0, "{name} with {node:?}");
            let clocks: Vec<u64> = finished.stations.iter().map(|one| one.clock_ps).collect();
            let misses = finished.sum(Counter::AttMisses);
            // Ranks print in any order.
            let mut lines: Vec<String> = finished.result().lines().map(str::to_owned).collect();
            lines.sort();
            (lines, clocks, misses)
        };
        for node in [PAIRS, NodeSpec::ALONE] {
            assert_eq!(run(node), run(node), "{name} with {node:?}");
        }
    }
}
