//! Every call on memory means what it means without the library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pagemill_pager::Setup;
use pagemill_testkit::few_or_many;

use crate::{has_userfault, run};

/// Of `private_memory.c`: all but what is about huge pages, and a fork by an instruction, whose child ends (docs/pager.md).
const CHECKS: [&str; 24] = [
    "dontneed",
    "dontneed_part",
    "dontneed_small",
    "dontneed_by_syscall",
    "process_advice",
    "free_advice",
    "protect_part",
    "unmap_part",
    "map_over_part",
    "remap",
    "lock_and_sync",
    "fork_by_libc",
    "fork_bare",
    "fork_by_syscall",
    "clone_by_syscall",
    "clone3_by_syscall",
    "clone_by_libc",
    "parent_writes",
    "shares_by_vfork",
    "many_generations",
    "protect_beside_writers",
    "unmap_beside_writers",
    "fork_beside_writers",
    "heap",
];

fn build(folder: &Path, source: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pagemill-mapping/tests/programs");
    let program = folder.join(source).with_extension("");
    let built = Command::new("cc")
        .args(["-Wall", "-O1", "-fno-builtin", "-pthread", "-o"])
        .arg(&program)
        .arg(programs.join(source))
        .status();
    assert!(built.expect("a C compiler").success());
    program
}

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
    let program = build(folder.path(), "private_memory.c");
    for check in CHECKS {
        let mut command = Command::new(&program);
        command.arg(check);
        succeed(run(command, &setup()), check);
    }
}

/// Runs the random program with and without the library, and compares what memory holds after every step.
fn compare(mode: &str, seed: u64, steps: u64) {
    if !has_userfault() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "random_calls.c");
    let command = || {
        let mut command = Command::new(&program);
        command.args([mode.to_owned(), seed.to_string(), steps.to_string()]);
        command
    };
    let expected = succeed(command().output().expect("it runs"), "without the library");
    let found = succeed(run(command(), &setup()), "with the library");
    let mut pairs = expected.chunks(8).zip(found.chunks(8));
    let differs = pairs.position(|(one, other)| one != other);
    assert_eq!(differs, None, "seed {seed}: memory differs after this step");
    assert_eq!(found.len(), expected.len());
}

#[test]
fn random_calls_on_mappings_leave_the_same_bytes() {
    compare("map", 6, few_or_many(2_000, 1_000_000));
}

#[test]
fn random_calls_on_heap_memory_leave_the_same_bytes() {
    compare("heap", 7, few_or_many(2_000, 1_000_000));
}
