//! Debian's programs print what they print with enough memory.

use std::path::Path;
use std::process::Command;

use pagemill_pager::{SETUP_VARIABLE, Setup};
use pagemill_testkit::real_programs::{RIGHTS, RealProgram, missing, run};
use pagemill_testkit::skip;

use crate::{has_userfault, library};

/// Each process has 16 MiB of frames, and blocks from 64 KiB on are paged.
fn environment() -> Vec<(&'static str, std::ffi::OsString)> {
    let mut setup = Setup::new(16 << 20, "compressed");
    setup.least_bytes = 64 << 10;
    vec![
        ("LD_PRELOAD", library().into()),
        (SETUP_VARIABLE, setup.to_json().into()),
        // Where root has userfaultfd and other users do not, this capability is what they lack.
        (
            RIGHTS,
            "--inh-caps=+sys_ptrace --ambient-caps=+sys_ptrace".into(),
        ),
    ]
}

fn prints_the_same(program: &RealProgram) {
    if !has_userfault() {
        return;
    }
    if let Some(file) = missing(program) {
        return skip(&format!("there is no {file}"));
    }
    let expected = run(program, &[]).expect("it runs without the library");
    let found = run(program, &environment()).expect("it runs with the library");
    assert_eq!(expected, found);
}

pagemill_testkit::test_real_programs!(prints_the_same);

/// Blocks of a program keep their bytes, in threads and children, with the allocator that it is linked with.
fn runs_with(allocator: &str, header: &str) {
    if !has_userfault() {
        return;
    }
    if !Path::new(header).exists() {
        return skip(&format!("there is no {header}"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("allocations");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../pagemill-mapping/tests/programs/allocations.c");
    let built = Command::new("cc")
        .args(["-O1", "-fno-builtin", "-pthread", "-o"])
        .args([&program, &source])
        .arg(allocator)
        .status();
    assert!(built.expect("a C compiler").success());
    let output = Command::new(&program)
        .arg("20000")
        .envs(environment())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{allocator}: {output:?}");
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
