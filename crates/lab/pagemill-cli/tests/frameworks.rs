//! Python frameworks from PyPI, unchanged, on the simulated GPU. `cargo xtask test` installs those that are small.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Finished, pagemill};

/// The interpreter of an environment that has the package `module`; a test without one is counted as skipped.
fn python_with(module: &str) -> Option<PathBuf> {
    let environments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/venv");
    let question = format!(
        "import importlib.util, sys; sys.exit(importlib.util.find_spec({module:?}) is None)"
    );
    for name in ["frameworks", "pytorch"] {
        let python = environments.join(name).join("bin/python");
        let has_it = Command::new(&python).args(["-c", &question]).status();
        if has_it.is_ok_and(|status| status.success()) {
            return Some(python);
        }
    }
    pagemill_testkit::skip(&format!(
        "there is no {module}: `cargo xtask test` installs the small frameworks, xtask/frameworks-full-requirements.txt and xtask/pytorch-requirements.txt list the others"
    ));
    None
}

/// Runs a smoke program, which compares its results with NumPy.
fn agrees_with_numpy(module: &str, program: &str) {
    agrees_with_numpy_on("gtx480", module, program);
}

/// The same on a machine.
fn agrees_with_numpy_on(machine: &str, module: &str, program: &str) {
    if let Some(finished) = run_on(machine, module, program) {
        assert!(
            finished.stdout.contains("agrees with NumPy"),
            "{}",
            finished.stdout
        );
    }
}

/// What a program of the folder `frameworks` printed, on a Python that has the package `module`.
fn run_on(machine: &str, module: &str, program: &str) -> Option<Finished> {
    let finished = run_as("--functional", machine, module, program)?;
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    Some(finished)
}

/// The same for a `way` to run it, whatever its exit code.
fn run_as(way: &str, machine: &str, module: &str, program: &str) -> Option<Finished> {
    let python = python_with(module)?;
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/frameworks")
        .join(program);
    let mut command = pagemill(folder.path());
    // Nothing of an earlier run, or of the user's, decides.
    for cache in [
        "TRITON_CACHE_DIR",
        "TORCHINDUCTOR_CACHE_DIR",
        "NUMBA_CACHE_DIR",
        "XDG_CACHE_HOME",
    ] {
        command.env(cache, folder.path().join(cache));
    }
    for own in ["DEV", "XLA_FLAGS", "CUDA_ROOT"] {
        command.env_remove(own);
    }
    command
        .args(["cuda", way, "--machine", machine, "--"])
        .arg(python)
        .arg(program);
    Some(Finished::from(
        command.output().expect("the command starts"),
    ))
}

#[test]
fn tinygrad() {
    agrees_with_numpy("tinygrad", "tinygrad_smoke.py");
}

#[test]
fn numba_cuda() {
    agrees_with_numpy("numba_cuda", "numba_smoke.py");
}

#[test]
fn cuda_core() {
    agrees_with_numpy("cuda.core", "core_smoke.py");
}

#[test]
fn triton() {
    agrees_with_numpy("triton", "triton_smoke.py");
}

/// As pip installs it.
#[test]
fn jax() {
    agrees_with_numpy_on("h200", "jax_cuda13_plugin", "jax_smoke.py");
}

/// How many results of each program agree with those of JAX's CPU: docs/frameworks.md has the same numbers.
#[test]
fn jax_beside_its_cpu() {
    for (program, count) in [
        ("element_wise", 56),
        ("reductions", 42),
        ("scans", 14),
        ("sorts", 13),
        ("products", 37),
        ("attention", 5),
        ("gather_scatter", 19),
        ("random_numbers", 13),
        ("transforms", 9),
        ("loops", 9),
        ("buffers", 3),
    ] {
        let program = format!("jax/{program}.py");
        let Some(finished) = run_on("h200", "jax_cuda13_plugin", &program) else {
            return;
        };
        let expected = format!("{count} agree with JAX's CPU");
        assert!(finished.stdout.contains(&expected), "{}", finished.stdout);
    }
}

/// A convolution needs cuDNN, whose functions are refused by their names.
#[test]
fn jax_convolution() {
    let Some(finished) = run_on("h200", "jax_cuda13_plugin", "jax/refused.py") else {
        return;
    };
    assert!(finished.stdout.contains("refused: "), "{}", finished.stdout);
    assert!(
        finished.stdout.contains("1 agree with JAX's CPU"),
        "{}",
        finished.stdout
    );
    for part in ["cudnn", "use matrix products", "run this part on the CPU"] {
        assert!(
            finished.stderr.contains(part),
            "{part}: {}",
            finished.stderr
        );
    }
}

/// How many results of each program agree with those of PyTorch's CPU: docs/frameworks.md has the same numbers.
#[test]
fn pytorch_beside_its_cpu() {
    for (program, count) in [("eager", 76), ("training", 11)] {
        let Some(finished) = run_on("h200", "torch", &format!("pytorch/{program}.py")) else {
            return;
        };
        let expected = format!("{count} agree with PyTorch's CPU");
        assert!(finished.stdout.contains(&expected), "{}", finished.stdout);
    }
    let Some(finished) = run_as("--check", "h200", "torch", "pytorch/race.py") else {
        return;
    };
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let found = "global-race at race.py:12, kernel total_of";
    assert!(finished.stderr.contains(found), "{}", finished.stderr);
}
