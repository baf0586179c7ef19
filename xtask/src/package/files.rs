//! Laying out the files of a Debian package.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Writes `text`, and makes the folders above it.
pub fn write(path: &Path, text: &str) -> Result<()> {
    make_folder_of(path)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes `text` as `path.gz`.
pub fn write_zipped(path: &Path, text: &str) -> Result<()> {
    write(path, text)?;
    // Without name and time: the same text gives the same file.
    process::run(Command::new("gzip").args(["-9", "--no-name"]).arg(path))
}

/// Adds a maintainer script to the package in `tree`: what dpkg runs at `name`, as with `postinst`.
pub fn script(tree: &Path, name: &str, commands: &str) -> Result<()> {
    let path = tree.join("DEBIAN").join(name);
    write(&path, &format!("#!/bin/sh\nset -e\n{commands}"))
}

/// Copies a file, and makes the folders above it.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    make_folder_of(to)?;
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Copies a built program or library without what only a debugger reads.
pub fn copy_stripped(from: &Path, to: &Path) -> Result<()> {
    make_folder_of(to)?;
    let mut strip = Command::new("strip");
    strip.args(["--strip-unneeded", "--remove-section=.comment", "-o"]);
    process::run(strip.arg(to).arg(from))
}

/// An empty folder in place of whatever `folder` was.
pub fn emptied(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Every file below `folder`, as paths from there, sorted.
pub fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    found(folder, &["!", "-type", "d"])
}

/// Every file and folder below `folder`, as paths from there, sorted.
pub fn everything_below(folder: &Path) -> Result<Vec<PathBuf>> {
    found(folder, &[])
}

fn found(folder: &Path, which: &[&str]) -> Result<Vec<PathBuf>> {
    let mut find = Command::new("find");
    find.arg(folder)
        .arg("-xdev")
        .args(which)
        .args(["-printf", "%P\\n"]);
    let told = process::output(&mut find)?;
    let mut paths: Vec<PathBuf> = told.lines().map(PathBuf::from).collect();
    paths.sort();
    Ok(paths)
}

/// What is in `after` and not in `before`, but for what other programs keep about all packages.
///
/// # Errors
/// Something is, and is named.
pub fn nothing_is_left(before: &[PathBuf], after: &[PathBuf]) -> Result<()> {
    let is_left = |path: &&PathBuf| {
        let is_a_book = ["var/lib/dpkg", "var/log", "var/cache"]
            .iter()
            .any(|book| path.starts_with(book));
        // `depmod` lists the modules of a kernel.
        let is_a_list =
            path.starts_with("usr/lib/modules") && path.to_string_lossy().contains("/modules.");
        !is_a_book && !is_a_list && before.binary_search(path).is_err()
    };
    let left: Vec<String> = after
        .iter()
        .filter(is_left)
        .map(|path| path.display().to_string())
        .collect();
    if !left.is_empty() {
        bail!("the purged package leaves behind: {}", left.join(", "));
    }
    Ok(())
}

/// Gives files and folders the modes that Debian wants, whatever the file mask of the build: only commands, maintainer
/// scripts and shell scripts can be run.
pub fn set_modes(tree: &Path) -> Result<()> {
    for path in below(tree)? {
        let may_run =
            path.starts_with("DEBIAN") || path.extension().is_some_and(|ending| ending == "sh");
        let runs = path.starts_with("usr/bin")
            || may_run && fs::read(tree.join(&path)).is_ok_and(|bytes| bytes.starts_with(b"#!"));
        set_mode(&tree.join(&path), if runs { 0o755 } else { 0o644 })?;
        for folder in path.ancestors().skip(1) {
            set_mode(&tree.join(folder), 0o755)?;
        }
    }
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("cannot set the mode of {}", path.display()))
}

fn make_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_and_scripts_can_be_run() {
        let root = tempfile::tempdir().unwrap();
        let tree = root.path();
        for (file, text) in [
            ("usr/bin/x", ""),
            ("usr/lib/x.so", "#!"),
            ("usr/share/x.sh", "#!/bin/sh"),
            ("DEBIAN/control", ""),
            ("DEBIAN/postinst", "#!/bin/sh"),
        ] {
            write(&tree.join(file), text).unwrap();
            set_mode(&tree.join(file), 0o600).unwrap();
        }
        set_mode(&tree.join("usr"), 0o700).unwrap();
        set_modes(tree).unwrap();
        let mode = |file: &str| fs::metadata(tree.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("usr/bin/x"), 0o755);
        assert_eq!(mode("DEBIAN/postinst"), 0o755);
        assert_eq!(mode("usr/share/x.sh"), 0o755);
        assert_eq!(mode("usr/lib/x.so"), 0o644);
        assert_eq!(mode("DEBIAN/control"), 0o644);
        assert_eq!(mode("usr"), 0o755);
    }

    #[test]
    fn a_file_that_stays_is_named() {
        let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(PathBuf::from).collect() };
        let before = paths(&["bin/sh", "var/lib/dpkg/status"]);
        let same = paths(&[
            "bin/sh",
            "var/lib/dpkg/status-old",
            "usr/lib/modules/6.1/modules.dep",
        ]);
        assert!(nothing_is_left(&before, &same).is_ok());
        let error = nothing_is_left(&before, &paths(&["bin/sh", "etc/x"])).unwrap_err();
        assert!(error.to_string().ends_with("behind: etc/x"), "{error}");
    }
}
