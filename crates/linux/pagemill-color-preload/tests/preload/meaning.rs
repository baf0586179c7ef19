//! Calls of programs on their heap mean what they mean, and Debian's programs print what they print without the library. A file stands in
//! for the module; what the module itself does is tested in a virtual machine (`kmod/suites/color*.toml`).

#[cfg(target_arch = "x86_64")]
#[path = "../../../pagemill-mapping/tests/programs/calls_by_ways.rs"]
mod calls_by_ways;

use std::process::Command;

use pagemill_testkit::memory_programs::{assert_same_memory, build, compare_calls};
use pagemill_testkit::real_programs::{RealProgram, missing, run};
use pagemill_testkit::{few_or_many, skip};

use crate::{Memory, stand_in, succeed, under_library};

#[test]
fn random_calls_on_heap_memory_leave_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "random_calls.c", &[]);
    let steps = few_or_many(4_000, 1_000_000).to_string();
    let words = ["heap", "5", steps.as_str()];
    let mut plain = Command::new(&program);
    plain.args(words);
    let expected = succeed(plain, "").stdout;
    for memory in [Memory::Plain, stand_in(folder.path())] {
        let mut preloaded = under_library(&program, &memory);
        preloaded.args(words);
        let found = succeed(preloaded, "").stdout;
        assert_same_memory(&expected, &found, "heap");
    }
}

/// What differs on a file that stands in for the module: most of it on the module's memory, too, which is no anonymous memory either.
const BY_NATURE: [(&str, &str); 9] = [
    (
        "madvise 8",
        "refused (`EINVAL`) by the file that stands in for the module",
    ),
    ("madvise 9", "refused with another error number"),
    ("madvise 18", "refused (`EINVAL`)"),
    ("IORING_OP_MADVISE WIPEONFORK", "refused (`EINVAL`)"),
    ("madvise 25", "refused (`EINVAL`)"),
    ("process_madvise", "as each `madvise`"),
    ("madvise COLLAPSE after mprotect", "refused (`EINVAL`)"),
    (
        "ioctl UFFDIO_MOVE out of memory",
        "refused (`EINVAL`) by the file that stands in",
    ),
    ("realloc", "blocks above half of their size keep all of it"),
];

#[test]
fn each_call_on_the_heap_means_what_it_means() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "memory_calls.c", &[]);
    let space = stand_in(folder.path());
    compare_calls("coloring", "heap", &BY_NATURE, &program, || {
        under_library(&program, &space)
    });
}

#[test]
fn a_heap_block_is_private_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "private_memory.c", &[]);
    let space = stand_in(folder.path());
    for check in [
        "heap",
        "fork_by_syscall",
        "clone_by_libc",
        "fork_by_instruction",
    ] {
        let mut command = under_library(&program, &space);
        command.arg(check);
        succeed(command, "");
    }
}

#[test]
fn blocks_keep_their_bytes_in_threads_and_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "allocations.c", &[]);
    for memory in [Memory::Plain, stand_in(folder.path())] {
        let mut command = under_library(&program, &memory);
        command.arg("20000");
        succeed(command, "");
    }
}

fn prints_the_same(program: &RealProgram) {
    if let Some(file) = missing(program) {
        return skip(&format!("there is no {file}"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let command = under_library("bash".as_ref(), &stand_in(folder.path()));
    let environment: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?, value?.to_owned())))
        .collect();
    let expected = run(program, &[]).expect("it runs without the library");
    let found = run(program, &environment).expect("it runs with the library");
    assert_eq!(expected, found);
}

pagemill_testkit::test_real_programs!(prints_the_same);

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_by_whatever_way_leave_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let space = stand_in(folder.path());
    calls_by_ways::compare(folder.path(), |program| under_library(program, &space));
}
