//! `cargo xtask site`: guides, gallery and playground as one folder for a file server.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{built, gallery, process, workspace};

/// Where the playground runs.
const TARGET: &str = "wasm32-unknown-unknown";

/// Makes the site and prints how to serve it.
pub fn run(folder: Option<&Path>) -> Result<()> {
    let made = make(folder)?;
    let shown = made.display();
    eprintln!("python3 -m http.server --bind 127.0.0.1 --directory {shown}");
    Ok(())
}

/// Makes the site in `folder`, or in `target/website`; answers where it is.
pub fn make(folder: Option<&Path>) -> Result<PathBuf> {
    let folder = folder.map_or_else(
        || workspace::root().join("target/website"),
        Path::to_path_buf,
    );
    let wasm = build()?;
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    let gallery = gallery::make(None)?;
    process::run(
        built::program("examples/site")
            .arg(&folder)
            .arg(wasm)
            .arg(gallery),
    )?;
    Ok(folder)
}

/// The playground as WebAssembly, built beside whatever else runs: at a low priority.
pub fn build() -> Result<PathBuf> {
    provide()?;
    process::run(&mut process::idle_cargo(&[
        "build",
        "--quiet",
        "--package",
        "pagemill-playground",
        "--lib",
        "--target",
        TARGET,
        "--profile",
        "site",
    ]))?;
    let built = format!("target/{TARGET}/site/pagemill_playground.wasm");
    Ok(workspace::root().join(built))
}

/// Installs the target's standard library where it is missing.
fn provide() -> Result<()> {
    let mut sysroot = Command::new("rustc");
    let sysroot = process::output(sysroot.args(["--print", "sysroot"]))?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET);
    if library.exists() {
        return Ok(());
    }
    process::run(Command::new("rustup").args(["target", "add", TARGET])).with_context(|| {
        format!("the playground needs the Rust target {TARGET}: install it with `rustup target add {TARGET}`")
    })
}
