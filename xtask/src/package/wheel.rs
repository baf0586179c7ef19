//! The wheel: the Python package with the command and its libraries inside.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::files::{copy, emptied};
use super::{Profile, portable};
use crate::{process, python, system, venv, workspace};

/// The README's example under two policies, and a sweep of one process.
const PROGRAM: &str = "
import numpy as np, pagemill
assert len(pagemill.run('smoke', jobs=1)) == 15
x = np.ones(1 << 12, np.float32)
for policy in ['whole-page', 'multi-range']:
    gpu = pagemill.Gpu('gtx480', policy)
    a, b, c = gpu.managed(x), gpu.managed(x), gpu.managed(np.zeros_like(x))
    gpu.launch(pagemill.ptx('vector-add'), 'vector_add', grid=16, block=256, args=[a, b, c, x.size])
    assert (c.numpy() == 2).all()
    assert len(gpu.finish()) > 0
advice = pagemill.advise('pattern', 'grid-stride', factor=1.5, machine='a100-pcie4-x86')
assert pagemill.compare(advice, advice).rows
";

/// Builds it with what the Debian package has below `usr`.
pub fn build(usr: &Path, profile: Profile) -> Result<PathBuf> {
    // Where maturin looks for files that are installed beside the package's own.
    let data = workspace::root().join("crates/lab/pagemill-python/pagemill._native.data");
    emptied(&data)?;
    copy(&usr.join("bin/pagemill"), &data.join("scripts/pagemill"))?;
    for library in workspace::entries(&usr.join("lib/pagemill"))? {
        let name = library.file_name().context("a library without a name")?;
        copy(&library, &data.join("data/lib/pagemill").join(name))?;
    }
    let environment = python::ENVIRONMENT.provide()?;
    let wheel = python::build_wheel(&environment, |maturin| match profile {
        Profile::Release => portable::maturin(maturin),
        Profile::Dev => Ok(()),
    });
    std::fs::remove_dir_all(&data).with_context(|| format!("cannot remove {}", data.display()))?;
    wheel
}

/// Installs it into an environment with nothing in it, and uses it there.
pub fn try_out(wheel: &Path) -> Result<()> {
    let environment = workspace::root().join("target/venv/empty");
    let python = system::python().context("no Python with the module venv")?;
    process::run(
        Command::new(python)
            .args(["-m", "venv", "--clear"])
            .arg(&environment),
    )?;
    process::run(venv::pip_install(&environment).arg(wheel))?;
    process::run(Command::new(environment.join("bin/python")).args(["-c", PROGRAM]))?;
    process::output(Command::new(environment.join("bin/pagemill")).args(["run", "smoke"]))?;
    super::installed::preloads_its_own(&environment)
}
