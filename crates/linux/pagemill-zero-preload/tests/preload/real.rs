//! Debian's programs on memory of the pool print what they print without.

use std::path::Path;
use std::process::Command;

use pagemill_testkit::memory_programs::build;
use pagemill_testkit::real_programs::{RealProgram, missing, run};
use pagemill_testkit::skip;

use crate::pool::TestPool;

/// Runs a program with every large block, and every mapping of 2 MiB, from the pool while it has some.
fn prints_the_same(program: &RealProgram) {
    if let Some(file) = missing(program) {
        return skip(&format!("there is no {file}"));
    }
    let Some(mut pool) = TestPool::start(48) else {
        return skip("there are no huge pages");
    };
    let mut environment = pool.environment();
    environment.push(("PAGEMILL_ZERO_MIN", "131072".into()));
    environment.push(("PAGEMILL_ZERO_MMAP", "1".into()));
    let expected = run(program, &[]).expect("it runs without the library");
    let found = run(program, &environment).expect("it runs with the library");
    assert_eq!(expected, found);
    assert!(
        pool.status().counters.leases > 0,
        "nothing came from the pool"
    );
    pool.wait_until_clean();
}

pagemill_testkit::test_real_programs!(prints_the_same);

/// A program that was linked with another allocator keeps it, and that allocator's mappings are the pool's.
fn runs_with(allocator: &str, header: &str) {
    if !Path::new(header).exists() {
        return skip(&format!("there is no {header}"));
    }
    let Some(mut pool) = TestPool::start(48) else {
        return skip("there are no huge pages");
    };
    let folder = pool.folder().to_owned();
    let program = build(&folder, "allocations.c", &[allocator]);
    for smallest in ["262144", "1000000000000"] {
        let leases = pool.status().counters.leases;
        let status = Command::new(&program)
            .arg("20000")
            .envs(pool.environment())
            .env("PAGEMILL_ZERO_MMAP", "1")
            .env("PAGEMILL_ZERO_MIN", smallest)
            // jemalloc gives memory back at once.
            .env(
                "MALLOC_CONF",
                "dirty_decay_ms:0,muzzy_decay_ms:0,retain:false",
            )
            .status();
        assert!(status.expect("it runs").success(), "{allocator}");
        assert!(pool.status().counters.leases > leases || smallest.len() > 6);
        pool.wait_until_clean();
    }
}

#[test]
fn a_program_linked_with_jemalloc() {
    runs_with("-ljemalloc", "/usr/include/jemalloc/jemalloc.h");
}

#[test]
fn a_program_linked_with_tcmalloc() {
    runs_with("-ltcmalloc", "/usr/include/gperftools/tcmalloc.h");
}

#[test]
fn a_program_linked_with_glibc_only() {
    runs_with("-lc", "/usr/include/stdlib.h");
}
