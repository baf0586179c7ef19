//! Python environments of our own under `target/venv/`, each from a file of pinned requirements.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, system, workspace};

/// What to install, and why.
pub struct Environment {
    /// Its folder under `target/venv/`.
    pub name: &'static str,
    /// What it is for, as in "cannot install the CUDA compiler".
    pub what: &'static str,
    /// The requirements file under `xtask/`.
    pub file: &'static str,
    /// Its text.
    pub requirements: &'static str,
}

impl Environment {
    /// Makes the environment unless it is there already; gives its folder.
    pub fn provide(&self) -> Result<PathBuf> {
        let folder = workspace::root().join("target/venv").join(self.name);
        let installed = folder.join("installed.txt");
        let is_current =
            std::fs::read_to_string(&installed).is_ok_and(|text| text == self.requirements);
        if !is_current {
            self.install(&folder)?;
            std::fs::write(&installed, self.requirements)
                .with_context(|| format!("cannot write {}", installed.display()))?;
        }
        Ok(folder)
    }

    fn install(&self, folder: &Path) -> Result<()> {
        let python = system::python().context(
            "no Python with the module venv: sudo apt-get update && sudo apt-get install -y python3-venv",
        )?;
        let requirements = workspace::root().join("xtask").join(self.file);
        eprintln!(
            "installing {} into {}",
            self.what,
            workspace::relative(folder).display()
        );
        let make = || -> Result<()> {
            process::run(
                Command::new(python)
                    .args(["-m", "venv", "--clear"])
                    .arg(folder),
            )?;
            process::run(pip_install(folder).arg("--requirement").arg(&requirements))
        };
        let shown = workspace::relative(folder).display();
        let by_hand = [
            format!("{python} -m venv --clear {shown}"),
            format!("{shown}/bin/python -m pip install -r xtask/{}", self.file),
            format!("cp xtask/{} {shown}/installed.txt", self.file),
        ];
        make().with_context(|| {
            format!(
                "cannot install {}, which needs the Python package index (pypi.org or a mirror); \
                 by hand:\n  {}\nwhat went wrong",
                self.what,
                by_hand.join(" &&\n  ")
            )
        })
    }
}

/// `pip install` in the environment `folder`; what to install is left to add.
pub fn pip_install(folder: &Path) -> Command {
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]);
    pip
}
