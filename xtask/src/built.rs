//! The workspace's programs, libraries and examples as tests use them.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::process::{self, cargo};
use crate::workspace;

/// Builds all of them in the development profile, as `cargo test --workspace` does.
///
/// A build of one package alone asks its dependencies for fewer features, and so compiles most of the workspace again; it also
/// replaces the command that the tests ran.
///
/// # Errors
/// Something does not compile.
pub fn provide() -> Result<()> {
    process::run(&mut cargo(&[
        "build",
        "--quiet",
        "--workspace",
        "--lib",
        "--bins",
        // Examples also count the features that dependencies of tests ask for.
        "--examples",
    ]))
}

/// The folder that [`provide`] builds into.
pub fn folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace::root().join("target"), PathBuf::from)
        .join("debug")
}

/// A program of [`provide`], in the workspace's root: `pagemill`, `examples/gallery`.
pub fn program(name: &str) -> Command {
    let mut program = Command::new(folder().join(name));
    program.current_dir(workspace::root());
    program
}
