//! Where things are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder that holds the workspace's `Cargo.toml`.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace")
}

/// `path` as seen from the root, for messages.
pub fn relative(path: &Path) -> &Path {
    path.strip_prefix(root()).unwrap_or(path)
}

/// The entries of `folder`, sorted; none if there is no such folder.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let cannot_read = || format!("cannot read {}", folder.display());
    let mut paths = Vec::new();
    for entry in folder.read_dir().with_context(cannot_read)? {
        paths.push(entry.with_context(cannot_read)?.path());
    }
    paths.sort();
    Ok(paths)
}
