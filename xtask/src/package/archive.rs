//! The archive of the command and its libraries for systems without `dpkg`: what the Debian package has below `/usr`, in one folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::control::committed;
use super::files::{emptied, write};
use crate::process;

/// What belongs to one system only.
const LEFT_OUT: [&str; 1] = ["lib/systemd"];

/// Packs what the Debian package `command` has.
pub fn build(folder: &Path, command: &Path) -> Result<PathBuf> {
    let name = command
        .file_stem()
        .context("a package without a name")?
        .to_string_lossy()
        .replace('_', "-");
    let unpacked = folder.join("archive");
    emptied(&unpacked)?;
    process::run(
        Command::new("dpkg-deb")
            .arg("--extract")
            .arg(command)
            .arg(&unpacked),
    )?;
    let usr = unpacked.join("usr");
    for path in LEFT_OUT {
        std::fs::remove_dir_all(usr.join(path))
            .with_context(|| format!("{path} is not in {}", command.display()))?;
    }
    std::fs::rename(&usr, unpacked.join(&name))
        .with_context(|| format!("cannot rename {}", usr.display()))?;
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", committed("%ct")?))
        .arg("-C")
        .arg(&unpacked)
        .arg("-czf")
        .arg(&archive)
        .arg(&name);
    process::run(&mut tar)?;
    Ok(archive)
}

/// Writes `SHA256SUMS` of `files` into `folder`.
pub fn add_checksums(folder: &Path, files: &[&Path]) -> Result<PathBuf> {
    let mut lines = String::new();
    for file in files {
        let sum = process::output(Command::new("sha256sum").arg("--").arg(file))?;
        let sum = sum.split_whitespace().next().unwrap_or_default();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        lines.push_str(&format!("{sum}  {name}\n"));
    }
    let path = folder.join("SHA256SUMS");
    write(&path, &lines)?;
    Ok(path)
}

/// Unpacks it into `folder` and uses it there.
pub fn try_out(archive: &Path, folder: &Path) -> Result<()> {
    emptied(folder)?;
    process::run(
        Command::new("tar")
            .arg("-xzf")
            .arg(archive)
            .arg("-C")
            .arg(folder)
            .arg("--strip-components=1"),
    )?;
    let mut command = Command::new(folder.join("bin/pagemill"));
    let printed = process::output(command.args(["run", "smoke"]))?;
    if !printed.contains("multi-range") {
        bail!("the unpacked command printed no results:\n{printed}");
    }
    super::installed::preloads_its_own(folder)
}
