//! Where things are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use pagemill_vm::entries;

/// The folder that holds the workspace's `Cargo.toml`.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace")
}

/// `path` as seen from the root, for messages.
pub fn relative(path: &Path) -> &Path {
    path.strip_prefix(root()).unwrap_or(path)
}

/// The folders of all crates of the product and of `dev`, by street: `crates/core/pagemill-map`, ...
pub fn crates() -> Result<Vec<PathBuf>> {
    let streets = entries(&root().join("crates"))?;
    let crates = streets.iter().map(|street| entries(street));
    Ok(crates.collect::<Result<Vec<_>>>()?.concat())
}

/// The folder of the crate `name`, from whatever street.
pub fn crate_folder(name: &str) -> Result<PathBuf> {
    let named = crates()?.into_iter().find(|folder| folder.ends_with(name));
    named.with_context(|| format!("no crate {name} in crates/"))
}

/// The text of every Rust file below `folder`, build outputs left out.
pub fn rust_text(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for path in entries(folder)? {
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            text += &rust_text(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
        }
    }
    Ok(text)
}
