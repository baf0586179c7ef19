//! Debian packages that the tests need beside a Rust toolchain.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Something that has to be on the machine.
pub struct Need {
    /// What it is, and what for.
    pub what: &'static str,
    /// Packages, with spaces between.
    pub package: &'static str,
    /// Whether it is there already.
    pub is_there: fn() -> bool,
}

const NEEDS: [Need; 18] = [
    Need {
        what: "a C++ compiler, which nvcc preprocesses with",
        package: "g++",
        is_there: || process::succeeds("g++", &["--version"]),
    },
    Need {
        what: "GoogleTest, which the C++ project of examples/ci tests with",
        package: "libgtest-dev",
        is_there: || Path::new("/usr/include/gtest/gtest.h").exists(),
    },
    Need {
        what: "Python with the module venv, which nvcc is installed by",
        package: "python3-venv",
        is_there: || python().is_some(),
    },
    Need {
        what: "an OpenCL device where there is no GPU",
        package: "pocl-opencl-icd",
        is_there: || Path::new("/etc/OpenCL/vendors/pocl.icd").exists(),
    },
    Need {
        what: "Open MPI with its compilers, which pagemill-fabric runs programs of",
        package: "libopenmpi-dev openmpi-bin",
        is_there: || {
            process::succeeds("mpicc", &["--version"])
                && process::succeeds("mpirun", &["--version"])
        },
    },
    Need {
        what: "QEMU's user mode, which counts the instructions of MPI programs",
        package: "qemu-user",
        is_there: || process::succeeds("qemu-x86_64", &["--version"]),
    },
    Need {
        what: "libfabric's headers, which pagemill-fabric's structures are compared with",
        package: "libfabric-dev",
        is_there: || Path::new("/usr/include/rdma/providers/fi_prov.h").exists(),
    },
    Need {
        what: "NetPIPE, which measures the simulated network",
        package: "netpipe-openmpi",
        is_there: || Path::new("/usr/bin/NPopenmpi").exists(),
    },
    Need {
        what: "dpkg-shlibdeps, which finds what the Debian package depends on",
        package: "dpkg-dev",
        is_there: || process::succeeds("dpkg-shlibdeps", &["--version"]),
    },
    Need {
        what: "HPC Challenge, which runs on and measures the simulated network",
        package: "hpcc",
        is_there: || Path::new("/usr/bin/hpcc").exists(),
    },
    Need {
        what: "a browser, which the report's pages are tested in",
        package: "chromium",
        is_there: || Path::new("/usr/bin/chromium").exists(),
    },
    Need {
        what: "mpi4py, which tests objects and collectives",
        package: "python3-mpi4py",
        is_there: || process::succeeds("/usr/bin/python3", &["-c", "import mpi4py"]),
    },
    Need {
        what: "NumPy, which runs on clean huge pages",
        package: "python3-numpy",
        is_there: || process::succeeds("/usr/bin/python3", &["-c", "import numpy"]),
    },
    Need {
        what: "redis, which runs under the preload libraries",
        package: "redis-server redis-tools",
        is_there: || Path::new("/usr/bin/redis-benchmark").exists(),
    },
    Need {
        what: "CPython's own tests, which run under the preload libraries",
        package: "libpython3.11-testsuite",
        is_there: || Path::new("/usr/lib/python3.11/test/test_mmap.py").exists(),
    },
    Need {
        what: "databases, which run under the preload libraries",
        package: "postgresql sqlite3",
        is_there: || {
            Path::new("/usr/bin/sqlite3").exists()
                && Path::new("/usr/lib/postgresql/15/bin/initdb").exists()
        },
    },
    Need {
        what: "Java, whose heap is of clean huge pages",
        package: "default-jre-headless",
        is_there: || process::succeeds("java", &["-version"]),
    },
    Need {
        what: "other allocators, which programs under the preload libraries are linked with",
        package: "libjemalloc-dev libgoogle-perftools-dev",
        is_there: || {
            Path::new("/usr/include/jemalloc/jemalloc.h").exists()
                && Path::new("/usr/include/gperftools/tcmalloc.h").exists()
        },
    },
];

/// A Python that can make virtual environments. The first on the path may lack what Debian's has.
pub fn python() -> Option<&'static str> {
    let able = |python: &&str| process::succeeds(python, &["-c", "import ensurepip, venv"]);
    ["python3", "/usr/bin/python3"].into_iter().find(able)
}

/// Makes sure that everything that tests need is there: installs it if we are root, else prints the command.
pub fn provide() -> Result<()> {
    provide_all(&NEEDS)
}

/// The same of other needs.
pub fn provide_all(needs: &[Need]) -> Result<()> {
    let missing: Vec<&Need> = needs.iter().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|need| need.package.split(' '))
        .collect();
    let reasons: Vec<String> = missing
        .iter()
        .map(|need| format!("  {}: {}", need.package, need.what))
        .collect();
    let by_hand = format!(
        "sudo apt-get update && sudo apt-get install -y {}",
        packages.join(" ")
    );
    if !is_root() {
        bail!(
            "these packages are missing:\n{}\ninstall them with:\n  {by_hand}",
            reasons.join("\n")
        );
    }
    eprintln!("installing {}", packages.join(" "));
    install(&packages)
        .with_context(|| format!("cannot install {}; by hand: {by_hand}", packages.join(" ")))?;
    match missing.iter().find(|need| !(need.is_there)()) {
        Some(need) => bail!(
            "package {} is installed, yet {} is not found",
            need.package,
            need.what
        ),
        None => Ok(()),
    }
}

/// Whether packages can be installed.
pub fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// Fetches the package index and installs `packages`.
pub fn install(packages: &[&str]) -> Result<()> {
    update()?;
    process::run(
        apt()
            .args(["install", "-y", "--no-install-recommends"])
            .args(packages),
    )
}

/// Fetches the package index.
pub fn update() -> Result<()> {
    process::run(apt().arg("update"))
}

/// How long to wait for another package manager to end, in seconds, before this one gives up.
const LOCK_TIMEOUT: &str = "DPkg::Lock::Timeout=600";

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
    command.args(["-o", LOCK_TIMEOUT]);
    command
}
