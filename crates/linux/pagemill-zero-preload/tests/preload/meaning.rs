//! Every call on memory means what it means without the library.

#[cfg(target_arch = "x86_64")]
#[path = "../../../pagemill-mapping/tests/programs/calls_by_ways.rs"]
mod calls_by_ways;

use std::process::{Command, Output};

use pagemill_testkit::{few_or_many, skip};

use pagemill_testkit::memory_programs::{
    CHECKS, HUGE_CHECKS, assert_same_memory, build, compare_calls,
};

use crate::pool::TestPool;

pub fn run(mut command: Command, what: &str) -> Output {
    let output = command.output().expect("it runs");
    assert!(
        output.status.success(),
        "{what}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Runs checks, each on memory of the pool; the pool gets all of it back.
fn check_all(checks: &[&str], words: &[&str]) {
    let Some(mut pool) = TestPool::start(16) else {
        return skip("there are no huge pages");
    };
    let program = build(pool.folder(), "private_memory.c", &[]);
    for check in checks.iter().copied().chain(["closed_descriptors"]) {
        let leases_before = pool.status().counters.leases;
        let mut command = pool.command(&program);
        command.env("PAGEMILL_ZERO_MMAP", "1");
        command.arg(check).args(words);
        run(command, check);
        let leases = pool.status().counters.leases;
        assert!(leases > leases_before, "{check}: not on the pool's memory");
        pool.wait_until_clean();
    }
}

#[test]
fn calls_on_mappings_mean_what_they_mean() {
    check_all(&CHECKS, &[]);
}

#[test]
fn calls_on_huge_mappings_mean_what_they_mean() {
    check_all(&HUGE_CHECKS, &["huge"]);
}

#[test]
fn each_call_means_what_it_means_or_makes_memory_plain() {
    let Some(mut pool) = TestPool::start(24) else {
        return skip("there are no huge pages");
    };
    let program = build(pool.folder(), "memory_calls.c", &[]);
    let leases_before = pool.status().counters.leases;
    compare_calls("pool", "map", &[], &program, || {
        let mut command = pool.command(&program);
        command.env("PAGEMILL_ZERO_MMAP", "1");
        command
    });
    assert!(pool.status().counters.leases > leases_before);
    pool.wait_until_clean();
}

/// liburing makes its system calls by itself: what a ring is given is looked through.
#[test]
fn memory_that_is_given_back_through_liburing_is_zero() {
    const LIBRARY: &str = "liburing.so.2";
    let known = Command::new("/sbin/ldconfig").arg("-p").output();
    let known = known.map_or_else(|_| Vec::new(), |output| output.stdout);
    if !String::from_utf8_lossy(&known).contains(LIBRARY) {
        return skip(&format!("there is no {LIBRARY}"));
    }
    let Some(mut pool) = TestPool::start(24) else {
        return skip("there are no huge pages");
    };
    let program = build(pool.folder(), "liburing.c", &[&format!("-l:{LIBRARY}")]);
    let expected = Command::new(&program).output().expect("it runs");
    if expected.status.code() == Some(77) {
        return skip("the kernel makes no ring");
    }
    let found = run(pool.command(&program), "with the library");
    assert_eq!(expected.stdout, found.stdout);
    assert!(
        pool.status().counters.leases > 0,
        "not on the pool's memory"
    );
    pool.wait_until_clean();
}

/// The program itself, on the kernel's memory.
#[test]
fn the_checks_describe_the_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = build(folder.path(), "private_memory.c", &[]);
    for check in CHECKS {
        let mut command = Command::new(&program);
        command.arg(check);
        run(command, check);
    }
}

/// Runs the random program with and without the library, and compares what memory holds after every step.
/// Each of the `steps` is one call or one write.
fn compare(mode: &str, seed: u64, steps: u64) {
    let Some(mut pool) = TestPool::start(24) else {
        return skip("there are no huge pages");
    };
    let program = build(pool.folder(), "random_calls.c", &[]);
    let words = [mode.to_owned(), seed.to_string(), steps.to_string()];
    let mut plain = Command::new(&program);
    plain.args(&words);
    let expected = run(plain, "without the library").stdout;
    let mut preloaded = pool.command(&program);
    preloaded.args(&words).env("PAGEMILL_ZERO_MMAP", "1");
    let found = run(preloaded, "with the library").stdout;
    assert_eq!(expected.len() as u64, steps * 8);
    assert_same_memory(&expected, &found, &format!("seed {seed}"));
    let leases = pool.status().counters.leases;
    assert!(leases > steps / 1000, "{leases} leases");
    pool.wait_until_clean();
}

#[test]
fn random_calls_on_mappings_leave_the_same_bytes() {
    compare("map", 1, few_or_many(20_000, 1_000_000));
    compare("map", 2, 1_000);
}

#[test]
fn random_calls_on_heap_memory_leave_the_same_bytes() {
    compare("heap", 3, few_or_many(6_000, 1_000_000));
}

/// A program that ends in the midst of its work leaves nothing behind.
#[test]
fn the_pool_gets_everything_back_from_killed_programs() {
    let Some(mut pool) = TestPool::start(24) else {
        return skip("there are no huge pages");
    };
    let program = build(pool.folder(), "random_calls.c", &[]);
    for round in 0..8 {
        let mut command = pool.command(&program);
        command.env("PAGEMILL_ZERO_MMAP", "1");
        command.args(["map", &round.to_string(), "1000000"]);
        command.stdout(std::process::Stdio::null());
        let leases = pool.status().counters.leases;
        let mut child = command.spawn().expect("it runs");
        while pool.status().counters.leases < leases + 4 + round {
            std::thread::yield_now();
        }
        child.kill().expect("it runs still");
        child.wait().expect("it ends");
        pool.wait_until_clean();
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_by_whatever_way_leave_the_same_bytes() {
    let Some(mut pool) = TestPool::start(24) else {
        return skip("there are no huge pages");
    };
    calls_by_ways::compare(pool.folder(), |program| {
        let mut command = pool.command(program);
        command.env("PAGEMILL_ZERO_MMAP", "1");
        command.env("PAGEMILL_ZERO_MIN", "131072");
        command
    });
    assert!(pool.status().counters.leases > 0);
    pool.wait_until_clean();
}
