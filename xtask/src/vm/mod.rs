//! Kernel modules under test in a virtual machine (ADR 0010).

mod curves;
mod product;
mod usertest;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use pagemill_vm::{
    Architecture, CHECKS, Kernel, Outcome, Packages, Provided, Report, Suite, Workshop,
};

use crate::tally::Tally;
use crate::{system, workspace};

/// Whose kernel is booted.
#[derive(Clone, Copy)]
pub struct Guest<'a> {
    /// A release of Debian, if it is not this machine's.
    pub release: Option<&'a str>,
    /// The processor.
    pub architecture: &'static Architecture,
}

impl Default for Guest<'_> {
    fn default() -> Self {
        Self {
            release: None,
            architecture: Architecture::own(),
        }
    }
}

impl Guest<'_> {
    /// Whether its kernel checks itself.
    fn is_checked(&self) -> bool {
        self.release.is_some_and(|name| CHECKS.contains(&name))
    }
}

/// Everything that the virtual machine needs or leaves behind.
fn folder() -> PathBuf {
    workspace::root().join("target/vm")
}

fn workshop() -> Workshop {
    let packages = Packages {
        install: system::install,
        update: system::update,
    };
    Workshop {
        sources: workspace::root().join("kmod"),
        folder: folder(),
        packages: system::is_root().then_some(packages),
    }
}

/// The kernel that is booted, and built for.
pub fn kernel() -> Result<Provided> {
    workshop().kernel()
}

/// Boots the suites whose name contains one of `filters`, and counts their tests. Without filters all of them, after what
/// the modules can have tested in user space, but for those that are booted on demand.
/// With `keep`, the measured values go to `validation/`.
pub fn run(filters: &[String], keep: bool) -> Result<Tally> {
    let mut tally = Tally::default();
    if filters.is_empty() {
        usertest::run(&mut tally)?;
    }
    let own = Guest::default();
    run_on(&own, filters, keep, &mut tally)?;
    Ok(tally)
}

/// Boots the same suites on another guest.
pub fn run_on_guest(guest: &Guest, filters: &[String]) -> Result<Tally> {
    let mut tally = Tally::default();
    run_on(guest, filters, false, &mut tally)?;
    Ok(tally)
}

fn run_on(guest: &Guest, filters: &[String], keep: bool, tally: &mut Tally) -> Result<()> {
    let workshop = workshop();
    let suites: Vec<Suite> = Suite::load_all(&workshop.sources.join("suites"))?
        .into_iter()
        .filter(|suite| suite.is_meant(filters) && suite.is_for(guest.architecture))
        .filter(|suite| !guest.is_checked() || suite.is_checkable())
        .map(|suite| product::under_own(suite.on(guest.release, guest.architecture)))
        .collect();
    if suites.is_empty() {
        bail!(
            "no suite for {} is called like {}: kmod/suites/ holds them",
            guest.architecture.name,
            filters.join(" or ")
        );
    }
    match workshop.kernel_of(guest.release, guest.architecture)? {
        Provided::Kernel(kernel) => run_suites(&workshop, &suites, &kernel, keep, tally),
        Provided::Not(reason) => {
            for suite in &suites {
                suite
                    .test
                    .iter()
                    .for_each(|test| tally.skip(&suite.title(&test.name), &reason));
            }
        }
    }
    Ok(())
}

/// Guests that one thread of the host executes, as many at a time as there are cores; then each other one alone: what the
/// threads of an emulator see of each other depends on the load of this machine.
fn run_suites(
    workshop: &Workshop,
    suites: &[Suite],
    kernel: &Kernel,
    keep: bool,
    tally: &mut Tally,
) {
    let (narrow, wide): (Vec<_>, Vec<_>) = suites.iter().partition(|suite| suite.is_one_thread());
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut tally = Tally::default();
        while let Some(suite) = narrow.get(next.fetch_add(1, Ordering::Relaxed)) {
            run_suite(workshop, suite, kernel, keep, &mut tally);
        }
        tally
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let lanes: Vec<_> = (0..cores).map(|_| scope.spawn(lane)).collect();
        for lane in lanes {
            tally.add(lane.join().expect("what fails is counted"));
        }
    });
    for suite in wide {
        run_suite(workshop, suite, kernel, keep, tally);
    }
}

fn run_suite(workshop: &Workshop, suite: &Suite, kernel: &Kernel, keep: bool, tally: &mut Tally) {
    let reason = match suite.cannot_run_on(&kernel.release) {
        Some(reason) => Ok(Some(reason)),
        None => suite
            .bundle
            .provide(workshop)
            .and_then(|reason| match reason {
                Some(reason) => Ok(Some(reason)),
                None => product::cannot_run_under(&suite.machine.under),
            }),
    };
    if let Some(reason) = reason.unwrap_or_else(|error| Some(format!("{error:#}"))) {
        for test in &suite.test {
            tally.skip(&suite.title(&test.name), &reason);
        }
        return;
    }
    eprintln!("suite {}: {}", suite.name, suite.summary);
    let start = Instant::now();
    let booted = boot(workshop, suite, kernel);
    eprintln!("suite {} took {} s", suite.name, start.elapsed().as_secs());
    match booted {
        Ok(report) => {
            count(suite, &report, tally);
            let kept = keep_values(suite, kernel, &report, keep);
            if let Err(error) = kept {
                tally.check(&suite.title("values are kept"), || Err(error));
            }
        }
        Err(error) => tally.check(&suite.title("runs"), || Err(error)),
    }
}

/// Builds, packs and boots; the report of what ran.
fn boot(workshop: &Workshop, suite: &Suite, kernel: &Kernel) -> Result<Report> {
    let work = folder().join("suites").join(&suite.name);
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    let files = product::provide(&suite.bundle.cargo, &work)?;
    let mut hear = |shown: &str| eprintln!("  {shown}");
    let mut report = workshop.boot(suite, kernel, files, &work, &mut hear)?;
    if suite.plugin.as_ref().is_some_and(|plugin| plugin.curves) {
        curves::add(&work, suite, &mut report)?;
    }
    Ok(report)
}

/// Every test that was sent counts, also if nothing was heard of it.
fn count(suite: &Suite, report: &Report, tally: &mut Tally) {
    for test in &suite.test {
        let title = suite.title(&test.name);
        match report.outcome(&test.name) {
            Outcome::Skipped(reason) => tally.skip(&title, &reason),
            Outcome::Passed => tally.check(&title, || Ok(())),
            Outcome::Failed(reason) => tally.check(&title, || bail!("{reason}")),
        }
    }
    for claim in &suite.claim {
        tally.check(&suite.title(&claim.name), || claim.check(report));
    }
    if let Some(problem) = report.problem(suite.test.len()) {
        let console = report.console.clone();
        tally.check(&suite.title("guest shuts down"), || {
            bail!("{problem}\nthe end of the guest's console:\n{console}")
        });
    }
}

fn keep_values(suite: &Suite, kernel: &Kernel, report: &Report, keep: bool) -> Result<()> {
    let csv = report.csv(&[
        ("kernel", kernel.version.as_str()),
        ("qemu", &pagemill_vm::emulator_version(kernel.architecture)?),
        ("machine", &suite.machine_in_words(kernel.architecture)),
    ]);
    let Some(csv) = csv else { return Ok(()) };
    write(
        &folder().join("suites").join(&suite.name).join("values.csv"),
        &csv,
    )?;
    match &suite.keep {
        Some(path) if keep => write(&workspace::root().join("validation").join(path), &csv),
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
