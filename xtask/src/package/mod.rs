//! The packages that users install: a Python wheel, and a Debian package with the command, its libraries, the kernel
//! modules' sources for DKMS and the systemd units.

mod deb;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, python, workspace};

/// How cargo builds what is packaged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// As users get it.
    Release,
    /// As tests build it: quick to make.
    Dev,
}

impl Profile {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Release => &["--release"],
            Self::Dev => &[],
        }
    }

    fn folder(self) -> PathBuf {
        workspace::root().join(match self {
            Self::Release => "target/release",
            Self::Dev => "target/debug",
        })
    }
}

/// Builds both packages, then installs each where it disturbs nobody and tries it.
pub fn run(profile: Profile) -> Result<()> {
    let environment = python::ENVIRONMENT.provide()?;
    let wheel = python::build_wheel(&environment, profile.arguments())?;
    try_wheel(&wheel)?;
    let deb = deb::build(profile)?;
    try_deb(&deb)?;
    println!("{}\n{}", wheel.display(), deb.display());
    Ok(())
}

/// Into an environment with nothing in it.
fn try_wheel(wheel: &std::path::Path) -> Result<()> {
    let environment = workspace::root().join("target/venv/empty");
    let python = crate::system::python().context("no Python with the module venv")?;
    process::run(
        Command::new(python)
            .args(["-m", "venv", "--clear"])
            .arg(&environment),
    )?;
    process::run(crate::venv::pip_install(&environment).arg(wheel))?;
    let program = "import pagemill; assert len(pagemill.run('smoke', jobs=1)) == 15";
    process::run(Command::new(environment.join("bin/python")).args(["-c", program]))
}

/// Unpacked, not installed: the command finds its libraries from where it is.
fn try_deb(deb: &std::path::Path) -> Result<()> {
    let root = workspace::root().join("target/deb/tried");
    if root.exists() {
        std::fs::remove_dir_all(&root)
            .with_context(|| format!("cannot empty {}", root.display()))?;
    }
    process::run(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(deb)
            .arg(&root),
    )?;
    let told = process::output(Command::new(root.join("usr/bin/pagemill")).args(["run", "smoke"]))?;
    if !told.contains("multi-range") {
        bail!("the packaged command printed no results:\n{told}");
    }
    process::output(Command::new("dpkg-deb").arg("--info").arg(deb)).map(drop)
}
