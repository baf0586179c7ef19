//! The CUDA C++ compiler, from Python wheels in an environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, system, workspace};

const REQUIREMENTS: &str = include_str!("../cuda-requirements.txt");

/// An installed nvcc.
pub struct Nvcc {
    program: PathBuf,
}

impl Nvcc {
    /// Installs it under `target/venv/cuda` unless it is there already.
    pub fn provide() -> Result<Self> {
        let environment = workspace::root().join("target/venv/cuda");
        let installed = environment.join("installed.txt");
        let is_current = std::fs::read_to_string(&installed).is_ok_and(|text| text == REQUIREMENTS);
        if !is_current {
            install(&environment)?;
            std::fs::write(&installed, REQUIREMENTS)
                .with_context(|| format!("cannot write {}", installed.display()))?;
        }
        Ok(Self {
            program: find_nvcc(&environment)?,
        })
    }

    /// The pinned version.
    pub fn version() -> &'static str {
        let pinned = REQUIREMENTS
            .lines()
            .find_map(|line| line.strip_prefix("nvidia-cuda-nvcc=="));
        pinned.expect("cuda-requirements.txt pins nvidia-cuda-nvcc")
    }

    /// Compiles `source` to PTX text.
    pub fn ptx(&self, source: &Path, arch: &str, flags: &[String]) -> Result<String> {
        let folder = source.parent().context("a source lies in a folder")?;
        let name = source.file_name().context("a source has a name")?;
        let mut command = Command::new(&self.program);
        command
            .current_dir(folder)
            .arg("-ptx")
            .arg(format!("-arch={arch}"))
            .args(flags);
        process::output(command.arg(name).args(["-o", "-"]))
    }
}

fn install(environment: &Path) -> Result<()> {
    let python = system::python().context(
        "no Python with the module venv: sudo apt-get update && sudo apt-get install -y python3-venv",
    )?;
    let requirements = workspace::root().join("xtask/cuda-requirements.txt");
    eprintln!(
        "installing the CUDA compiler into {}",
        workspace::relative(environment).display()
    );
    let make = || -> Result<()> {
        process::run(
            Command::new(python)
                .args(["-m", "venv", "--clear"])
                .arg(environment),
        )?;
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-input",
        ]);
        process::run(pip.arg("--requirement").arg(&requirements))
    };
    let environment = workspace::relative(environment).display();
    let by_hand = [
        format!("{python} -m venv --clear {environment}"),
        format!("{environment}/bin/python -m pip install -r xtask/cuda-requirements.txt"),
        format!("cp xtask/cuda-requirements.txt {environment}/installed.txt"),
    ];
    make().with_context(|| {
        format!(
            "cannot install the CUDA compiler, which needs the Python package index (pypi.org or a mirror); \
             by hand:\n  {}\nwhat went wrong",
            by_hand.join(" &&\n  ")
        )
    })
}

fn find_nvcc(environment: &Path) -> Result<PathBuf> {
    for python in workspace::entries(&environment.join("lib"))? {
        for toolkit in workspace::entries(&python.join("site-packages/nvidia"))? {
            let program = toolkit.join("bin/nvcc");
            if program.is_file() {
                return Ok(program);
            }
        }
    }
    let environment = workspace::relative(environment).display();
    bail!("no nvcc in {environment}: remove that folder and run again")
}
