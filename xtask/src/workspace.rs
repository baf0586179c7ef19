//! Where things are.

use std::path::Path;

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
