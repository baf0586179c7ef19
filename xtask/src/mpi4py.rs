//! The tests that come with mpi4py's source, which Debian's package leaves out.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{process, system, workspace};

/// Names the folder with these tests for those of `pagemill-fabric`.
pub const VARIABLE: &str = "PAGEMILL_MPI4PY_TESTS";

/// The version of Debian 12.
const URL: &str = "https://files.pythonhosted.org/packages/bc/f2/749af7fd0e7703ddca6cea525ab40f26c3ca6cbe6c23658441c6f9705860/mpi4py-3.1.4.tar.gz";
const SHA256: &str = "17858f2ebc623220d0120d1fa8d428d033dde749c4bc35b33d81a66ad7f93480";

/// The folder of the tests, fetched once.
pub fn tests() -> Result<PathBuf> {
    let target = workspace::root().join("target");
    let source = target.join("mpi4py");
    let tests = source.join("mpi4py-3.1.4/test");
    if !tests.exists() {
        let python = system::python().context("no Python to fetch the tests of mpi4py with")?;
        eprintln!("fetching the tests of mpi4py");
        let mut fetch = Command::new(python);
        fetch
            .arg(workspace::root().join("xtask/fetch.py"))
            .args([URL, SHA256])
            .arg(&source);
        process::run(&mut fetch).context("cannot fetch the tests of mpi4py")?;
    }
    Ok(tests)
}
