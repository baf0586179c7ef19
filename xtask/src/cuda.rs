//! The CUDA C++ compiler, from Python wheels in an environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::venv::Environment;
use crate::{process, workspace};

const ENVIRONMENT: Environment = Environment {
    name: "cuda",
    what: "the CUDA compiler",
    file: "cuda-requirements.txt",
    requirements: include_str!("../cuda-requirements.txt"),
};

/// An installed nvcc.
pub struct Nvcc {
    program: PathBuf,
}

impl Nvcc {
    /// Installs it under `target/venv/cuda` unless it is there already.
    pub fn provide() -> Result<Self> {
        let environment = ENVIRONMENT.provide()?;
        Ok(Self {
            program: find_nvcc(&environment)?,
        })
    }

    /// The pinned version.
    pub fn version() -> &'static str {
        let pinned = ENVIRONMENT
            .requirements
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

    /// Compiles `source` to a program that looks for the CUDA runtime when it is started.
    pub fn program(&self, source: &Path, program: &Path) -> Result<()> {
        let runtime = self.program.with_file_name("../lib/libcudart.so.13");
        let mut command = Command::new(&self.program);
        // The runtime's wheel has no `libcudart.so` for the linker to find.
        command.args(["-cudart", "none", "-o"]).arg(program);
        process::run(command.arg(source).arg("-Xlinker").arg(runtime))
    }
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
