//! mpi4py's own tests of point-to-point communication and collectives, beside libfabric's own provider for TCP.
//!
//! Some of them fail with every provider, because of what Open MPI makes of them. So the outcome of each has to be the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{lacks_open_mpi, mpirun, run, succeeds};
use pagemill_fabric::launch::Clocks;
use pagemill_nic::NicMachine;

const MODULES: [&str; 4] = [
    "test_p2p_buf",
    "test_p2p_obj",
    "test_cco_obj",
    "test_cco_buf",
];

fn lacks() -> Option<&'static str> {
    if let Some(lack) = lacks_open_mpi() {
        return Some(lack);
    }
    if !succeeds("/usr/bin/python3", &["-c", "import mpi4py"]) {
        return Some("there is no mpi4py");
    }
    tests().is_none().then_some(
        "PAGEMILL_MPI4PY_TESTS names no folder of mpi4py's tests; cargo xtask test fetches them",
    )
}

fn tests() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("PAGEMILL_MPI4PY_TESTS")?);
    folder.join("test_p2p_obj.py").exists().then_some(folder)
}

fn suite(ranks: u32, folder: &Path) -> Command {
    let mut command = mpirun(ranks);
    command
        .args(["--timeout", "200", "/usr/bin/python3"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/mpi4py_suite.py"))
        .arg(folder)
        .args(MODULES);
    command
}

#[test]
fn every_test_ends_as_with_tcp() {
    if let Some(lack) = lacks() {
        return pagemill_testkit::skip(lack);
    }
    let folder = tests().expect("looked for above");
    for ranks in [2, 3] {
        let tcp = suite(ranks, &folder)
            .envs([
                ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
                ("OMPI_MCA_pml", "cm"),
                ("OMPI_MCA_mtl", "ofi"),
                ("OMPI_MCA_mtl_ofi_provider_include", "tcp;ofi_rxm"),
            ])
            .output()
            .expect("mpirun starts");
        let expected = String::from_utf8_lossy(&tcp.stdout).into_owned();
        assert!(
            tcp.status.success(),
            "{}",
            String::from_utf8_lossy(&tcp.stderr)
        );
        let passed = expected.lines().filter(|line| line.ends_with(" passed"));
        assert!(passed.count() > 150, "{expected}");
        // They poll, and so may lose the order of time; what they receive may not depend on it.
        let ours = run(&NicMachine::pni(), Clocks::Mpi, suite(ranks, &folder));
        assert_eq!(ours.code, Some(0), "{}", ours.stderr);
        assert_eq!(ours.stdout, expected, "{ranks} ranks: {}", ours.stderr);
    }
}
