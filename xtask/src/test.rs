//! Every test there is, after setting up what they need.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use pagemill_vm::{ARCHITECTURES, CHECKS};

use crate::cuda::Nvcc;
use crate::process::{self, cargo, watch};
use crate::since::Reach;
use crate::tally::Tally;
use crate::{
    check, frameworks, fuzz, gallery, kernels, mpi4py, package, python, room, site, system, vm,
    workspace,
};

/// Names the file that `pagemill_testkit::skip` appends to.
const SKIP_LOG: &str = "PAGEMILL_SKIP_LOG";

/// If set, tests run at length: random ones longer, rows that cost up to a minute.
pub const FULL: &str = "PAGEMILL_TEST_FULL";

/// Where property tests begin. A change is judged by the same cases each time; `full`, a plain `cargo test` and
/// `cargo xtask fuzz` look for new ones.
const SEED: u32 = 20_261_123;
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";

/// Seconds for each fuzz target.
const FUZZ_SECONDS: u32 = 300;

/// Minutes that a part may take, several times what it takes on two cores.
const LIMIT_MIN: u64 = 20;
const LIMITS_MIN: [(&str, u64); 5] = [
    ("tests are built", 60),
    ("Rust tests", 60),
    ("fuzzing", 180),
    ("virtual machines", 40),
    ("virtual machines, other kernels", 60),
];

/// The releases of Debian whose kernels `--full` also boots.
const NEWER_KERNELS: [&str; 2] = ["bookworm-backports", "sid"];

/// Sets up, checks, tests; whether nothing failed. `full` adds what takes long.
pub fn run(full: bool) -> Result<bool> {
    let mut all = Tally::default();
    part(&mut all, "set-up", |_| provide())?;
    let (quick, compiling) = check::CHECKS.split_at(check::QUICK);
    part(&mut all, "checks", |tally| tally.add(check::run(quick)));
    // What does not build is counted where it is run.
    part(&mut all, "tests are built", |_| {
        let _ = process::run(&mut cargo(&["test", "--workspace", "--no-run"]));
    });
    // Many tests wait for others: what is compiled only to be checked is so in their time.
    let tested = std::thread::scope(|scope| {
        let checked = scope.spawn(|| check::run(compiling));
        let mut tested = Tally::default();
        part(&mut tested, "Rust tests", |tally| {
            run_cargo_tests(tally, full, &["--workspace".to_owned()])
        })?;
        tested.add(run_others(full));
        part(&mut tested, "lints and documentation", |tally| {
            tally.add(checked.join().expect("what fails is counted"));
        });
        Ok::<_, anyhow::Error>(tested)
    })?;
    all.add(tested);
    // Alone: what the emulator's threads see of each other depends on the load of this machine.
    all.add(run_emulated(full));
    if full {
        // Last: its command takes the place of the whole one.
        part(&mut all, "the command without CUDA and network", |tally| {
            let alone = ["-ppagemill-cli", "--no-default-features"];
            run_cargo_tests(tally, full, &alone.map(str::to_owned))
        })?;
    }
    all.print();
    Ok(all.all_passed())
}

/// The checks, and tests of what a change since `revision` can reach; whether nothing failed.
pub fn run_since(revision: &str) -> Result<bool> {
    let reach = Reach::since(revision)?;
    let suites = reach.suites()?;
    let packages: Vec<String> = reach
        .packages
        .iter()
        .map(|name| format!("-p{name}"))
        .collect();
    let mut all = Tally::default();
    let (quick, _) = check::CHECKS.split_at(check::QUICK);
    part(&mut all, "checks", |tally| tally.add(check::run(quick)));
    if !packages.is_empty() {
        part(&mut all, "lints", |tally| {
            tally.check("lints", || check::lints_of(workspace::root(), &packages));
        });
        part(&mut all, "Rust tests", |tally| {
            run_cargo_tests(tally, false, &packages)
        })?;
    }
    if reach.has("pagemill-python")
        && let Err(error) = run_python(&mut all, false)
    {
        all.check("Python package", || Err(error));
    }
    if !suites.is_empty() {
        part(&mut all, "virtual machines", |tally| {
            add_booted(vm::run(&suites, false), tally);
        });
    }
    let left_out = Vec::from_iter(reach.left_out).join(", ");
    println!(
        "Left out: documentation, packages, gallery, PTX, other suites than [{}], and {left_out}",
        suites.join(", ")
    );
    all.print();
    Ok(all.all_passed())
}

/// What is tested in virtual machines.
fn run_emulated(full: bool) -> Tally {
    let mut all = Tally::default();
    part(&mut all, "virtual machines", |tally| {
        add_booted(vm::run(&[], false), tally);
    });
    if !full {
        return all;
    }
    let newer = NEWER_KERNELS
        .iter()
        .chain(&CHECKS)
        .map(|release| vm::Guest {
            release: Some(*release),
            ..vm::Guest::default()
        });
    let others = ARCHITECTURES.iter().skip(1).map(|architecture| vm::Guest {
        architecture,
        ..vm::Guest::default()
    });
    for guest in newer.chain(others) {
        part(&mut all, "virtual machines, other kernels", |tally| {
            add_booted(vm::run_on_guest(&guest, &[]), tally);
        });
    }
    all
}

fn add_booted(booted: Result<Tally>, tally: &mut Tally) {
    match booted {
        Ok(booted) => tally.add(booted),
        Err(error) => tally.check("virtual machine", || Err(error)),
    }
}

/// PTX, in the full test also fuzz targets, beside Python, which builds into another folder; then the gallery and packages.
fn run_others(full: bool) -> Tally {
    let mut all = std::thread::scope(|scope| {
        let beside = scope.spawn(|| run_beside(full));
        let mut all = Tally::default();
        if let Err(error) = run_python(&mut all, full) {
            all.check("Python package", || Err(error));
        }
        all.add(beside.join().expect("what fails is counted"));
        all
    });
    part(&mut all, "gallery", |tally| {
        tally.check(
            "the gallery can be made of the rows in validation/, and has every figure that it links",
            gallery::check,
        );
    });
    part(&mut all, "packages", |tally| {
        if let Err(error) = package::test(tally) {
            tally.check("Debian packages", || Err(error));
        }
    });
    all
}

fn run_beside(full: bool) -> Tally {
    let mut all = Tally::default();
    if full {
        let plan = fuzz::Plan {
            seconds: FUZZ_SECONDS,
            keep: false,
            until: None,
            seed: None,
        };
        part(&mut all, "fuzzing", |tally| match fuzz::run(plan, &[]) {
            Ok(fuzzed) => tally.add(fuzzed),
            Err(error) => tally.check("fuzz targets", || Err(error)),
        });
    }
    part(&mut all, "PTX", |tally| match kernels::compare(None) {
        Ok(compared) => tally.add(compared),
        Err(error) => tally.check("committed PTX", || Err(error)),
    });
    all
}

/// Installs what tests need.
fn provide() -> Result<()> {
    room::check()?;
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

fn run_python(all: &mut Tally, full: bool) -> Result<()> {
    let environment = part(all, "Python package", |_| python::provide())?;
    let site = match full {
        true => Some(part(all, "site", |_| site::make(None))?),
        false => None,
    };
    part(all, "Python tests", |tally| {
        python::test(&environment, site.as_deref(), full, tally)
    })
}

/// Runs a part and counts it in `all`; prints its counts and time: to see where the minutes go. A part that takes longer than
/// its limit is cut short, and named.
fn part<T>(all: &mut Tally, name: &str, run: impl FnOnce(&mut Tally) -> T) -> T {
    let start = Instant::now();
    let mut tally = Tally::default();
    let minutes = LIMITS_MIN
        .iter()
        .find(|(part, _)| *part == name)
        .map_or(LIMIT_MIN, |(_, minutes)| *minutes);
    let (result, is_cut) = process::within(Duration::from_secs(60 * minutes), || run(&mut tally));
    if is_cut {
        tally.check(name, || {
            bail!("took more than {minutes} minutes and was ended")
        });
    }
    let counts = match tally.is_empty() {
        true => String::new(),
        false => format!("  {}", tally.sum()),
    };
    println!("{name:<30} {:>6} s{counts}", start.elapsed().as_secs());
    all.add(tally);
    result
}

fn run_cargo_tests(tally: &mut Tally, full: bool, packages: &[String]) -> Result<()> {
    let skip_log = workspace::root().join("target/skipped-tests.txt");
    std::fs::write(&skip_log, "")
        .with_context(|| format!("cannot write {}", skip_log.display()))?;
    let failures_before = tally.failures();
    let mut tests = cargo(&["test", "--no-fail-fast"]);
    tests.args(packages);
    match full {
        true => tests.env(FULL, "1"),
        false => tests.env(PROPERTY_SEED, SEED.to_string()),
    };
    match mpi4py::tests() {
        Ok(folder) => {
            tests.env(mpi4py::VARIABLE, folder);
        }
        // The test that needs them is skipped, and counted.
        Err(error) => eprintln!("{error:#}"),
    }
    let succeeded = watch(tests.env(SKIP_LOG, &skip_log), |line| {
        tally.see_test_line(line)
    })?;
    if !succeeded && tally.failures() == failures_before {
        // Nothing was counted: a test program did not compile, or died.
        tally.check("test programs build and run to the end", || {
            bail!("`cargo test` failed without naming a test; standard error says why")
        });
    }
    let skipped = std::fs::read_to_string(&skip_log)
        .with_context(|| format!("cannot read {}", skip_log.display()))?;
    tally.see_skip_log(&skipped);
    Ok(())
}
