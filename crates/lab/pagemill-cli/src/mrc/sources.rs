//! Where the sources of the emulator's plugin are.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// `kmod/`, as the Debian package has them, or a checkout.
pub fn sources() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()
        .and_then(|own| own.canonicalize())
        .map_err(|error| Failure::Run(format!("cannot find this program: {error}")))?;
    sources_of(&own).ok_or_else(|| {
        Failure::NoDevice(format!(
            "the sources of the emulator's plugin are not with {}: install the package pagemill, or build pagemill in a checkout",
            own.display()
        ))
    })
}

fn sources_of(program: &Path) -> Option<PathBuf> {
    let packaged = "share/pagemill/kmod";
    let folders = program.ancestors().skip(1);
    folders
        .flat_map(|folder| [folder.join(packaged), folder.join("kmod")])
        .find(|folder| folder.join("plugin_cache/plugin.c").is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_from_the_package_and_from_a_checkout() {
        let root = tempfile::tempdir().expect("a folder");
        let program = root.path().join("usr/bin/pagemill");
        assert_eq!(sources_of(&program), None);
        let checkout = root.path().join("kmod");
        let package = root.path().join("usr/share/pagemill/kmod");
        // The nearer one is taken.
        for folder in [checkout, package] {
            std::fs::create_dir_all(folder.join("plugin_cache")).expect("a folder");
            std::fs::write(folder.join("plugin_cache/plugin.c"), "").expect("a file");
            assert_eq!(sources_of(&program), Some(folder));
        }
    }
}
