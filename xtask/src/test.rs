//! Every test there is, after setting up what they need.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cuda::Nvcc;
use crate::process::{self, cargo, watch};
use crate::tally::Tally;
use crate::{
    check, frameworks, fuzz, gallery, kernels, mpi4py, package, python, site, system, vm, workspace,
};

/// Names the file that `pagemill_testkit::skip` appends to.
const SKIP_LOG: &str = "PAGEMILL_SKIP_LOG";

/// If set, randomized tests run at length.
const FULL: &str = "PAGEMILL_TEST_FULL";

/// Where property tests begin. A change is judged by the same cases each time; `full` and a plain `cargo test` look for new ones.
const PROPERTY_SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20261123");

/// Seconds for each fuzz target: to see that they work, and to find something.
const FUZZ_SECONDS: u32 = 2;
const FUZZ_SECONDS_FULL: u32 = 300;

/// The releases of Debian whose kernels `--full` also boots.
const NEWER_KERNELS: [&str; 2] = ["bookworm-backports", "sid"];

/// Sets up, checks, tests; whether nothing failed. `full` adds what takes long.
pub fn run(full: bool) -> Result<bool> {
    let mut results = Results::default();
    results.time("set-up", |_| provide())?;
    results.time("checks", |tally| tally.add(check::run()));
    results.time("Rust tests", |tally| run_cargo_tests(tally, full))?;
    results.add(run_others(full));
    // Alone: what the emulator's threads see of each other depends on the load of this machine.
    results.add(run_emulated(full));
    results.print();
    Ok(results.tally.all_passed())
}

/// What is tested in virtual machines.
fn run_emulated(full: bool) -> Results {
    let mut results = Results::default();
    results.time("virtual machines", |tally| {
        add_booted(vm::run(&[], false), tally);
    });
    for release in NEWER_KERNELS.iter().filter(|_| full) {
        results.time("virtual machines, newer kernel", |tally| {
            add_booted(vm::run_on_release(release, &[]), tally);
        });
    }
    results
}

fn add_booted(booted: Result<Tally>, tally: &mut Tally) {
    match booted {
        Ok(booted) => tally.add(booted),
        Err(error) => tally.check("virtual machine", || Err(error)),
    }
}

/// Fuzz targets, Python, PTX, the gallery and packages: one after the other, since they build into the same folders.
fn run_others(full: bool) -> Results {
    let mut results = Results::default();
    let seconds = if full {
        FUZZ_SECONDS_FULL
    } else {
        FUZZ_SECONDS
    };
    let plan = fuzz::Plan {
        seconds,
        keep: false,
        until: None,
    };
    results.time("fuzzing", |tally| match fuzz::run(plan, &[]) {
        Ok(fuzzed) => tally.add(fuzzed),
        Err(error) => tally.check("fuzz targets", || Err(error)),
    });
    if let Err(error) = run_python(&mut results) {
        (results.tally).check("Python package", || Err(error));
    }
    results.time("PTX", |tally| match kernels::compare(None) {
        Ok(compared) => tally.add(compared),
        Err(error) => tally.check("committed PTX", || Err(error)),
    });
    results.time("gallery", |tally| {
        tally.check(
            "the gallery can be made of the rows in validation/, and has every figure that it links",
            gallery::check,
        );
    });
    results.time("packages", |tally| {
        if let Err(error) = package::test(tally) {
            tally.check("Debian packages", || Err(error));
        }
    });
    results
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

fn run_python(results: &mut Results) -> Result<()> {
    let environment = results.time("Python package", |_| python::provide())?;
    let site = results.time("site", |_| site::make(None))?;
    results.time("Python tests", |tally| {
        python::test(&environment, &site, tally)
    })
}

/// What was counted, and how long each part took: to see where the minutes go.
#[derive(Default)]
struct Results {
    tally: Tally,
    parts: Vec<(&'static str, Duration)>,
}

impl Results {
    fn time<T>(&mut self, name: &'static str, run: impl FnOnce(&mut Tally) -> T) -> T {
        let start = Instant::now();
        let result = run(&mut self.tally);
        self.parts.push((name, start.elapsed()));
        result
    }

    fn add(&mut self, other: Self) {
        self.tally.add(other.tally);
        self.parts.extend(other.parts);
    }

    fn print(&self) {
        for (name, span) in &self.parts {
            println!("{name:<18} {:>6} s", span.as_secs());
        }
        self.tally.print();
    }
}

fn run_cargo_tests(tally: &mut Tally, full: bool) -> Result<()> {
    let skip_log = workspace::root().join("target/skipped-tests.txt");
    std::fs::write(&skip_log, "")
        .with_context(|| format!("cannot write {}", skip_log.display()))?;
    let failures_before = tally.failures();
    let mut tests = cargo(&["test", "--workspace", "--no-fail-fast"]);
    match full {
        true => tests.env(FULL, "1"),
        false => tests.env(PROPERTY_SEED.0, PROPERTY_SEED.1),
    };
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
