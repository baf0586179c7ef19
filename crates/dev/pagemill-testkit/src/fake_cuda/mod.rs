//! A library that is called like the CUDA driver's, for machines without one.

use std::path::Path;
use std::process::Command;

/// A folder for `LD_LIBRARY_PATH` with the stand-in, compiled with `flags`; `cuda.c` lists its settings. `None`, and a
/// counted reason, without a C compiler.
///
/// # Panics
/// If it does not compile.
pub fn driver(flags: &[&str]) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fake_cuda/cuda.c");
    let library = folder.path().join("libcuda.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .arg(source)
        .args(flags)
        .status();
    let Ok(status) = compiled else {
        crate::skip("there is no C compiler called cc");
        return None;
    };
    assert!(status.success(), "the stand-in for the driver compiles");
    std::fs::copy(&library, folder.path().join("libcuda.so.1")).expect("a copy");
    Some(folder)
}
