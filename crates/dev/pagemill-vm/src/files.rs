use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The entries of `folder`, sorted; none if there is no such folder.
///
/// # Errors
/// The folder cannot be read.
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

/// A folder, and those above it.
///
/// # Errors
/// It cannot be made.
pub fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}
