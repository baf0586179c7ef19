//! Every test there is, after setting up what they need.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cuda::Nvcc;
use crate::process::{self, cargo, watch};
use crate::tally::Tally;
use crate::{
    check, frameworks, fuzz, gallery, kernels, mpi4py, package, python, system, vm, workspace,
};

/// Names the file that `pagemill_testkit::skip` appends to.
const SKIP_LOG: &str = "PAGEMILL_SKIP_LOG";

/// Tells tests that how often they repeat what is random is up to them: set, they do so at length.
const FULL: &str = "PAGEMILL_TEST_FULL";

/// Seconds for each fuzz target: to see that they work, and to find something.
const FUZZ_SECONDS: u32 = 2;
const FUZZ_SECONDS_FULL: u32 = 300;

/// Sets up, checks, tests; whether nothing failed. `full` adds what takes long.
pub fn run(full: bool) -> Result<bool> {
    let mut stages = Stages::default();
    stages.time("set-up", provide)?;
    let mut tally = stages.time("checks", check::run);
    stages.time("Rust tests", || run_cargo_tests(&mut tally, full))?;
    let seconds = if full {
        FUZZ_SECONDS_FULL
    } else {
        FUZZ_SECONDS
    };
    match stages.time("fuzzing", || fuzz::run(seconds, &[], false)) {
        Ok(fuzzed) => tally.add(fuzzed),
        Err(error) => tally.check("fuzz targets", || Err(error)),
    }
    if let Err(error) = stages.time("Python", || python::test(&mut tally)) {
        tally.check("Python package", || Err(error));
    }
    match stages.time("PTX", || kernels::compare(None)) {
        Ok(compared) => tally.add(compared),
        Err(error) => tally.check("committed PTX", || Err(error)),
    }
    match stages.time("virtual machines", || vm::run(&[], false)) {
        Ok(booted) => tally.add(booted),
        Err(error) => tally.check("virtual machine", || Err(error)),
    }
    stages.time("gallery", || {
        tally.check(
            "docs/gallery is of the rows in validation/",
            gallery::compare,
        );
    });
    if let Err(error) = stages.time("packages", || package::test(&mut tally)) {
        tally.check("Debian packages", || Err(error));
    }
    stages.print();
    tally.print();
    Ok(tally.all_passed())
}

/// Installs what tests need.
fn provide() -> Result<()> {
    system::provide()?;
    if let Err(error) = Nvcc::provide() {
        // The tests that need it say so, and the comparison of the committed PTX fails with the reason.
        eprintln!("{error:#}");
    }
    if let Err(error) = frameworks::provide() {
        // Likewise.
        eprintln!("{error:#}");
    }
    Ok(())
}

/// How long each part took, to see where the minutes go.
#[derive(Default)]
struct Stages(Vec<(&'static str, Duration)>);

impl Stages {
    fn time<T>(&mut self, name: &'static str, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = run();
        self.0.push((name, start.elapsed()));
        result
    }

    fn print(&self) {
        for (name, span) in &self.0 {
            println!("{name:<18} {:>6} s", span.as_secs());
        }
    }
}

fn run_cargo_tests(tally: &mut Tally, full: bool) -> Result<()> {
    let skip_log = workspace::root().join("target/skipped-tests.txt");
    std::fs::write(&skip_log, "")
        .with_context(|| format!("cannot write {}", skip_log.display()))?;
    let failures_before = tally.failures();
    let mut tests = cargo(&["test", "--workspace", "--no-fail-fast"]);
    if full {
        tests.env(FULL, "1");
    }
    match mpi4py::tests() {
        Ok(folder) => {
            tests.env(mpi4py::VARIABLE, folder);
        }
        // The test that needs them is skipped, and counted.
        Err(error) => eprintln!("{error:#}"),
    }
    // Building says nothing on stdout, and takes its time on a fresh machine. What does not build is counted below.
    let _ = process::run(&mut cargo(&["test", "--workspace", "--no-run"]));
    let succeeded = watch(tests.env(SKIP_LOG, &skip_log), |line| {
        tally.see_test_line(line)
    })?;
    if !succeeded && tally.failures() == failures_before {
        // Nothing was counted: a test program did not compile, or died.
        tally.check("test programs build and run to the end", || {
            bail!("`cargo test` failed without naming a test; see above")
        });
    }
    let skipped = std::fs::read_to_string(&skip_log)
        .with_context(|| format!("cannot read {}", skip_log.display()))?;
    tally.see_skip_log(&skipped);
    Ok(())
}
