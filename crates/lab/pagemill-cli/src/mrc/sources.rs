//! Where the virtual machine's sources are, and where what is fetched and built for it is kept.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Names the folder for what is fetched and built.
const FOLDER_VARIABLE: &str = "PAGEMILL_VM";

/// The sources of the module, as the Debian package has them, or a checkout.
pub fn sources() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()
        .and_then(|own| own.canonicalize())
        .map_err(|error| Failure::Run(format!("cannot find this program: {error}")))?;
    sources_of(&own).ok_or_else(|| {
        Failure::NoDevice(format!(
            "the sources of the kernel module are not with {}: install the package pagemill, or build pagemill in a checkout",
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

/// Where the kernel is kept, and what is built for it.
pub fn folder() -> Result<PathBuf, Failure> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let folder = variable(FOLDER_VARIABLE)
        .or_else(|| Some(cache()?.join("pagemill/vm")))
        .ok_or_else(|| {
            Failure::Usage(format!(
                "there is no folder for the virtual machine: set {FOLDER_VARIABLE} to one"
            ))
        })?;
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::Usage(format!("cannot make {}: {error}", folder.display())))?;
    Ok(folder)
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
