//! `docs/gallery/`: pages made of the rows kept in `validation/`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{built, process, workspace};

const COMMITTED: &str = "docs/gallery";

/// Makes the pages.
pub fn make() -> Result<()> {
    make_in(&workspace::root().join(COMMITTED))
}

/// Makes the pages elsewhere, and compares them with those that are committed.
///
/// # Errors
/// They differ.
pub fn compare() -> Result<()> {
    let fresh = workspace::root().join("target/gallery");
    if fresh.exists() {
        std::fs::remove_dir_all(&fresh)
            .with_context(|| format!("cannot empty {}", fresh.display()))?;
    }
    make_in(&fresh)?;
    let mut diff = Command::new("diff");
    diff.args(["--recursive", "--brief", COMMITTED]);
    process::run(diff.arg(&fresh).current_dir(workspace::root()))
        .with_context(|| format!("{COMMITTED} is not of these rows: run `cargo xtask gallery`"))
}

fn make_in(folder: &Path) -> Result<()> {
    built::provide()?;
    process::run(built::program("examples/gallery").arg(folder))
}
