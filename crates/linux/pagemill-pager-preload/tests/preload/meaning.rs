//! Every call on memory means what it means without the library.

#[cfg(target_arch = "x86_64")]
#[path = "../../../pagemill-mapping/tests/programs/calls_by_ways.rs"]
mod calls_by_ways;

use std::process::{Command, Output};

use pagemill_pager::Setup;
use pagemill_testkit::few_or_many;
use pagemill_testkit::memory_programs::{CHECKS, assert_same_memory, build, compare_calls};

use crate::{has_userfault, preload, run};

/// Pages what it can, in two MiB of frames.
fn setup() -> Setup {
    let mut setup = Setup::new(2 << 20, "compressed");
    setup.least_bytes = 4096;
    setup
}

fn succeed(output: Output, what: &str) -> Vec<u8> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}: {said}", output.status);
    output.stdout
}

#[test]
fn calls_on_mappings_mean_what_they_mean() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "private_memory.c", &[]);
    // A child that is forked by an instruction ends (docs/pager.md).
    for check in CHECKS
        .into_iter()
        .filter(|check| *check != "fork_by_instruction")
    {
        let mut command = Command::new(&program);
        command.arg(check);
        succeed(run(command, &setup()), check);
    }
}

/// What shows where pages are.
const BY_NATURE: [(&str, &str); 3] = [
    ("mincore", "it shows what is in a frame"),
    ("move_pages", "it shows what is in a frame"),
    ("/proc/self/pagemap", "it shows what is in a frame"),
];

#[test]
fn each_call_means_what_it_means_or_makes_memory_plain() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "memory_calls.c", &[]);
    compare_calls("pager", "map", &BY_NATURE, &program, || {
        let mut command = Command::new(&program);
        preload(&mut command, &setup());
        command
    });
}

/// Runs the random program with and without the library, and compares what memory holds after every step.
fn compare(mode: &str, seed: u64, steps: u64) {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "random_calls.c", &[]);
    let command = || {
        let mut command = Command::new(&program);
        command.args([mode.to_owned(), seed.to_string(), steps.to_string()]);
        command
    };
    let expected = succeed(command().output().expect("it runs"), "without the library");
    let found = succeed(run(command(), &setup()), "with the library");
    assert_same_memory(&expected, &found, &format!("seed {seed}"));
}

#[test]
fn random_calls_on_mappings_leave_the_same_bytes() {
    compare("map", 6, few_or_many(2_000, 1_000_000));
}

#[test]
fn random_calls_on_heap_memory_leave_the_same_bytes() {
    compare("heap", 7, few_or_many(2_000, 1_000_000));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_by_whatever_way_leave_the_same_bytes() {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    calls_by_ways::compare(folder.path(), |program| {
        let mut command = Command::new(program);
        preload(&mut command, &setup());
        command
    });
}
