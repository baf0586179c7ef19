//! The Python package: its wheel, an environment with the wheel in it, and its tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::built;
use crate::process::{self, watch};
use crate::tally::Tally;
use crate::test::FULL;
use crate::venv::{Environment, pip_install};
use crate::workspace;

/// What builds and tests the package.
pub const ENVIRONMENT: Environment = Environment {
    name: "python",
    what: "what the tests of the Python package need",
    file: "python-requirements.txt",
    requirements: include_str!("../python-requirements.txt"),
};

/// Builds the wheel and the command, and installs the wheel; returns its environment.
pub fn provide() -> Result<PathBuf> {
    let environment = ENVIRONMENT.provide()?;
    built::provide()?;
    // Of what was built just now: without the feature, most of the workspace would be compiled again.
    let wheel = build_wheel(&environment, |maturin| {
        maturin.args(["--features", "workspace"]);
        Ok(())
    })?;
    install(&environment, &wheel)?;
    Ok(environment)
}

/// Runs every test of the package in `environment`; those of the playground only where there is a `site`.
pub fn test(environment: &Path, site: Option<&Path>, full: bool, tally: &mut Tally) -> Result<()> {
    let failures_before = tally.failures();
    let mut pytest = Command::new(environment.join("bin/python"));
    pytest
        .args([
            "-m",
            "pytest",
            "-q",
            "-rA",
            "--tb=short",
            "--show-capture=no",
            "--durations=12",
            // A few at a time: browsers and the commands that tests start take what is left. What a file's tests share is
            // made once.
            "--numprocesses=auto",
            "--maxprocesses=4",
            "--dist=loadfile",
        ])
        .current_dir(workspace::root().join("crates/lab/pagemill-python"))
        .env("PAGEMILL", built::folder().join("pagemill"))
        .env_remove("PYTHONPATH");
    match site {
        Some(site) => pytest.env("PAGEMILL_SITE", site),
        None => pytest.arg("--ignore=tests/test_playground.py"),
    };
    if full {
        pytest.env(FULL, "1");
    }
    let succeeded = watch(&mut pytest, |line| tally.see_pytest_line(line))?;
    if !succeeded && tally.failures() == failures_before {
        bail!("pytest failed without naming a test; standard error says why");
    }
    Ok(())
}

/// Builds the wheel; `add_options` says how.
pub fn build_wheel(
    environment: &Path,
    add_options: impl FnOnce(&mut Command) -> Result<()>,
) -> Result<PathBuf> {
    let wheels = workspace::root().join("target/wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)
            .with_context(|| format!("cannot empty {}", wheels.display()))?;
    }
    let mut maturin = Command::new(environment.join("bin/maturin"));
    maturin
        .args(["build", "--quiet", "--out"])
        .arg(&wheels)
        .current_dir(workspace::root().join("crates/lab/pagemill-python"));
    add_options(&mut maturin)?;
    process::run(&mut maturin)?;
    let built = workspace::entries(&wheels)?;
    let wheel = built
        .into_iter()
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheel.with_context(|| format!("maturin left no wheel in {}", wheels.display()))
}

fn install(environment: &Path, wheel: &Path) -> Result<()> {
    process::run(
        pip_install(environment)
            .args(["--force-reinstall", "--no-deps"])
            .arg(wheel),
    )
}
