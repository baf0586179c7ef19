//! Trying the wheel.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, system, venv, workspace};

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
";

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
    process::run(Command::new(environment.join("bin/python")).args(["-c", PROGRAM]))
}
