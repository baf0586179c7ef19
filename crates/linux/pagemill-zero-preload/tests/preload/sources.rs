//! Memory of the kernel that the library hands out, to compare the pool with: every call means on it what it always means.

use std::path::Path;
use std::process::Command;

use pagemill_linux::hugetlb::{HugeSize, Reserve};
use pagemill_testkit::memory_programs::{CHECKS, build};
use pagemill_testkit::{few_or_many, skip};

use crate::meaning::run;
use crate::pool::library;

const RANDOM_STEPS: u64 = 4_000;

fn on_source(program: &Path, source: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", library())
        .env("PAGEMILL_ZERO_SOURCE", source)
        .env("PAGEMILL_ZERO_MMAP", "1");
    command
}

fn keeps_every_meaning(source: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let checks = build(folder.path(), "private_memory.c", &[]);
    for check in CHECKS {
        let mut command = on_source(&checks, source);
        command.arg(check);
        run(command, &format!("{check} on {source}"));
    }
    let random = build(folder.path(), "random_calls.c", &[]);
    let steps = few_or_many(RANDOM_STEPS, 200_000).to_string();
    for (mode, seed) in [("map", "1"), ("heap", "2")] {
        let words = [mode, seed, &steps];
        let mut plain = Command::new(&random);
        plain.args(words);
        let expected = run(plain, "without the library").stdout;
        let mut command = on_source(&random, source);
        command.args(words);
        let found = run(command, &format!("{mode} on {source}")).stdout;
        let first = expected
            .iter()
            .zip(&found)
            .position(|(one, other)| one != other);
        assert_eq!(
            first.map(|byte| byte / 8),
            None,
            "{mode} on {source}: the first step that differs"
        );
        assert_eq!(expected.len(), found.len());
    }
}

#[test]
fn transparent_huge_pages() {
    keeps_every_meaning("thp");
}

#[test]
fn populated_memory() {
    keeps_every_meaning("populate");
}

#[test]
fn huge_pages_of_the_stock() {
    let Ok(_reserve) = Reserve::more(HugeSize::Mib2, 24) else {
        return skip("there are no huge pages");
    };
    keeps_every_meaning("hugetlb");
}
