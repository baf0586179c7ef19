//! Debian's package index: this machine's own, or that of another release, which is kept in a folder and changes nothing outside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::architecture::Architecture;
use crate::files::{entries, make_folder};
use crate::process;

/// Where packages of other releases are fetched from.
pub(crate) const MIRROR: &str = "http://deb.debian.org/debian";

/// The keys that sign them, of the package `debian-archive-keyring`.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A package index.
#[derive(Debug)]
pub struct Archive {
    /// Options of every `apt` command that reads it.
    options: Vec<String>,
}

impl Archive {
    /// The index of this machine.
    pub fn own() -> Self {
        Self {
            options: Vec::new(),
        }
    }

    /// The index of a Debian release such as `bookworm-backports`, fetched into a folder.
    ///
    /// # Errors
    /// There is no such release, or it cannot be fetched.
    pub fn of_release(release: &str, folder: &Path) -> Result<Self> {
        let folder = folder.join("indexes").join(release);
        let lists = folder.join("lists");
        make_folder(&lists.join("partial"))?;
        make_folder(&folder.join("cache/archives/partial"))?;
        let sources = folder.join("sources.list");
        let line = format!("deb [signed-by={KEYRING}] {MIRROR} {release} main\n");
        std::fs::write(&sources, line)
            .with_context(|| format!("cannot write {}", sources.display()))?;
        let option =
            |name: &str, path: &Path| ["-o".to_owned(), format!("{name}={}", path.display())];
        let options = [
            option("Dir::Etc::SourceList", &sources),
            option("Dir::Etc::SourceParts", Path::new("-")),
            option("Dir::State::Lists", &lists),
            option("Dir::Cache", &folder.join("cache")),
        ];
        let archive = Self {
            options: options.into_iter().flatten().collect(),
        };
        process::output(archive.command("apt-get").args(["-qq", "update"]))
            .with_context(|| format!("cannot fetch the package index of {release}"))?;
        Ok(archive)
    }

    /// The index of this machine's release for another architecture beside its own, fetched into a folder. `apt` on this machine
    /// does not learn of it.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub fn of_architecture(architecture: &Architecture, folder: &Path) -> Result<Self> {
        let folder = folder.join("indexes").join(architecture.name);
        let lists = folder.join("lists");
        make_folder(&lists.join("partial"))?;
        make_folder(&folder.join("cache/archives/partial"))?;
        let names = [Architecture::own().name, architecture.name];
        let options = [
            format!("APT::Architectures::={}", names[0]),
            format!("APT::Architectures::={}", names[1]),
            format!("Dir::State::Lists={}", lists.display()),
            format!("Dir::Cache={}", folder.join("cache").display()),
        ];
        let options = options.into_iter().flat_map(|one| ["-o".to_owned(), one]);
        let archive = Self {
            options: options.collect(),
        };
        process::output(archive.command("apt-get").args(["-qq", "update"]))
            .with_context(|| format!("cannot fetch the package index of {}", architecture.name))?;
        Ok(archive)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args([
            "-o",
            "APT::Sandbox::User=root",
            "-o",
            "DPkg::Lock::Timeout=600",
        ]);
        command.args(&self.options);
        command
    }

    /// The packages that one depends on, as the index has it; `None` if it does not know the package.
    pub fn dependencies(&self, package: &str) -> Option<Vec<String>> {
        let text = process::output(self.command("apt-cache").args(["depends", package])).ok()?;
        Some(dependencies_in(&text))
    }

    /// Downloads packages and unpacks them into `target`, which must not exist. An interrupted call leaves nothing there.
    ///
    /// # Errors
    /// They cannot be fetched or written.
    pub fn unpack(&self, names: &[String], folder: &Path, target: &Path) -> Result<()> {
        let packages = folder.join("packages");
        if packages.exists() {
            std::fs::remove_dir_all(&packages)
                .with_context(|| format!("cannot remove {}", packages.display()))?;
        }
        make_folder(&packages)?;
        eprintln!("downloading {}", names.join(" "));
        let mut download = self.command("apt-get");
        download.args(["-qq", "download"]).args(names);
        process::run(download.current_dir(&packages))?;
        let partial = packages.join("partial");
        for package in package_files(&packages)? {
            process::run(
                Command::new("dpkg-deb")
                    .arg("-x")
                    .arg(package)
                    .arg(&partial),
            )?;
        }
        if let Some(parent) = target.parent() {
            make_folder(parent)?;
        }
        std::fs::rename(&partial, target)
            .with_context(|| format!("cannot make {}", target.display()))?;
        std::fs::remove_dir_all(&packages)
            .with_context(|| format!("cannot remove {}", packages.display()))
    }
}

fn package_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_package = |path: &PathBuf| path.extension().is_some_and(|own| own == "deb");
    Ok(entries(folder)?.into_iter().filter(is_package).collect())
}

/// The names in what `apt-cache depends` says, without their architecture; of alternatives, each.
fn dependencies_in(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            line.trim()
                .trim_start_matches('|')
                .strip_prefix("Depends: ")
        })
        .map(|name| name.trim().trim_matches(['<', '>']))
        .map(|name| name.split(':').next().unwrap_or(name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read() {
        let depends = "linux-headers-6.12-amd64\n  Depends: linux-base\n |Depends: linux-image-6.12-amd64\n  Depends: linux-kbuild-6.12\n  Suggests: x\n";
        assert_eq!(
            dependencies_in(depends),
            ["linux-base", "linux-image-6.12-amd64", "linux-kbuild-6.12"]
        );
        let foreign = "linux-headers-6.1-arm64:arm64\n  Depends: <linux-headers-6.1-common:arm64>\n    linux-headers-6.1-common\n  Depends: linux-kbuild-6.1:arm64\n";
        assert_eq!(
            dependencies_in(foreign),
            ["linux-headers-6.1-common", "linux-kbuild-6.1"]
        );
        assert!(dependencies_in("N: Unable to locate package\n").is_empty());
    }
}
