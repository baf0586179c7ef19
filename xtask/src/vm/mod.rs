//! Kernel modules under test in a virtual machine (ADR 0010).

mod build;
mod bundle;
mod claim;
mod cpio;
mod debian;
mod guest;
mod plugin;
mod protocol;
mod qemu;
mod suite;
mod usertest;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::tally::Tally;
use crate::workspace;
pub use debian::{Provided, provide};

use debian::Kernel;
use protocol::{Outcome, Report};
use suite::Suite;

/// Everything that the virtual machine needs or leaves behind.
fn folder() -> PathBuf {
    workspace::root().join("target/vm")
}

/// Boots the suites whose name contains one of `filters`, and counts their tests. Without filters all of them, after what
/// the modules can have tested in user space.
/// With `keep`, the measured values go to `validation/`.
pub fn run(filters: &[String], keep: bool) -> Result<Tally> {
    let suites: Vec<Suite> = suite::load_all()?
        .into_iter()
        .filter(|suite| filters.is_empty() || filters.iter().any(|part| suite.name.contains(part)))
        .collect();
    if suites.is_empty() {
        bail!(
            "no suite is called like {}: kmod/suites/ holds them",
            filters.join(" or ")
        );
    }
    let mut tally = Tally::default();
    if filters.is_empty() {
        usertest::run(&mut tally)?;
    }
    match provide()? {
        Provided::Kernel(kernel) => {
            for suite in &suites {
                run_suite(suite, &kernel, keep, &mut tally);
            }
        }
        Provided::Not(reason) => {
            for suite in &suites {
                suite
                    .test
                    .iter()
                    .for_each(|test| tally.skip(&suite.title(&test.name), &reason));
            }
        }
    }
    Ok(tally)
}

fn run_suite(suite: &Suite, kernel: &Kernel, keep: bool, tally: &mut Tally) {
    let reason = match suite.cannot_run_on(&kernel.release) {
        Some(reason) => Ok(Some(reason)),
        None => suite.bundle.provide(),
    };
    if let Some(reason) = reason.unwrap_or_else(|error| Some(format!("{error:#}"))) {
        for test in &suite.test {
            tally.skip(&suite.title(&test.name), &reason);
        }
        return;
    }
    eprintln!("suite {}: {}", suite.name, suite.summary);
    match boot(suite, kernel) {
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
fn boot(suite: &Suite, kernel: &Kernel) -> Result<Report> {
    let work = folder().join("suites").join(&suite.name);
    std::fs::create_dir_all(&work).with_context(|| format!("cannot make {}", work.display()))?;
    let built = build::build(suite, kernel)?;
    let archive = work.join("initramfs.cpio");
    std::fs::write(&archive, guest::archive(suite, &built)?)
        .with_context(|| format!("cannot write {}", archive.display()))?;
    let watching = match &suite.plugin {
        Some(plugin) => plugin.provide(&work)?.to_vec(),
        None => Vec::new(),
    };
    let mut report = qemu::boot(suite, kernel, &archive, &work, &watching)?;
    if let Some(plugin) = &suite.plugin {
        plugin.report(&work, &mut report)?;
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
        ("qemu", &qemu::version()?),
        ("machine", &suite.machine_in_words()),
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
