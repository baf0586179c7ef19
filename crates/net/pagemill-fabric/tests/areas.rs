//! Checks of MPI's areas, written as tables: each check has to be right over Open MPI's own transport and over ours.

use std::process::Command;

use crate::common::{Programs, lacks_open_mpi, mpirun, run};
use pagemill_fabric::launch::Clocks;
use pagemill_nic::NicMachine;

const RANKS: u32 = 3;

/// The lines `area name: right` of a program's output; panics if one is not right.
fn right(area: &str, output: &str) -> Vec<String> {
    let lines: Vec<String> = output.lines().map(str::to_owned).collect();
    for line in &lines {
        assert!(line.ends_with(": right"), "{area}: {line}");
    }
    lines
}

/// Runs the checks of `areas/<area>.c` over both transports, and returns how many there are.
fn checks(area: &str) -> usize {
    let programs = Programs::new();
    let program = programs.compile("mpicc", &format!("areas/{area}"), &[]);
    let mut simulated = mpirun(RANKS);
    simulated.arg(&program);
    let simulated = run(&NicMachine::pni(), Clocks::Mpi, simulated);
    assert_eq!(
        simulated.code,
        Some(0),
        "{area}: {}\n{}",
        simulated.stdout,
        simulated.stderr
    );
    let mut plain = mpirun(RANKS);
    // Open MPI 4.1's `osc rdma` dies of `MPI_Win_allocate` over shared memory.
    plain
        .args(["--oversubscribe", "--mca", "osc", "pt2pt,sm"])
        .arg(&program);
    let plain = finish(plain);
    let simulated = right(area, &simulated.stdout);
    assert_eq!(simulated, right(area, &plain), "{area}");
    simulated.len()
}

fn finish(mut command: Command) -> String {
    let output = command.output().expect("mpirun starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn messages_are_right() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    assert_eq!(checks("messages"), 56);
}

#[test]
fn collectives_are_right() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    assert_eq!(checks("collectives"), 128);
}

#[test]
fn one_sided_communication_is_right() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    assert_eq!(checks("onesided"), 130);
}
