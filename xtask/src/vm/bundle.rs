//! Programs and files of this machine, put into the guest with the shared libraries that they need.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::cpio::Archive;
use crate::{process, system, workspace};

/// What a suite takes from this machine.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bundle {
    /// Programs and libraries of this workspace, as `PACKAGE/PROGRAM` and `PACKAGE/libNAME.so`; in the guest `/bin/PROGRAM` and
    /// `/lib/libNAME.so`.
    pub cargo: Vec<String>,
    /// Files and folders that keep their place, `*` in the last part of a path stands for anything.
    pub files: Vec<String>,
    /// Debian packages that `files` come from.
    pub packages: Vec<String>,
}

impl Bundle {
    /// Installs the packages; the reason if that cannot be done.
    pub fn provide(&self) -> Result<Option<String>> {
        let missing: Vec<&str> = self
            .packages
            .iter()
            .map(String::as_str)
            .filter(|package| !is_installed(package))
            .collect();
        if missing.is_empty() {
            return Ok(None);
        }
        if !system::is_root() {
            let names = missing.join(" ");
            return Ok(Some(format!("not installed: sudo apt-get install {names}")));
        }
        eprintln!("installing {}", missing.join(" "));
        system::install(&missing)?;
        Ok(None)
    }

    /// Guest path and file of everything, libraries included. What has to be made for it is made in `work`.
    pub fn collect(&self, work: &Path) -> Result<BTreeMap<String, PathBuf>> {
        let mut found = BTreeMap::new();
        for product in &self.cargo {
            let (place, file) = Product::parse(product)?.provide(work)?;
            add_libraries(&file, &mut found)?;
            found.insert(place, file);
        }
        for pattern in &self.files {
            for file in matching(Path::new(pattern))? {
                add_file(&file, &mut found)?;
            }
        }
        Ok(found)
    }
}

/// Adds files and the folders that they lie in, except those that are `known`.
pub fn pack(
    archive: &mut Archive,
    found: &BTreeMap<String, PathBuf>,
    known: &[&str],
) -> Result<()> {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    for path in found.keys() {
        let above = Path::new(path).ancestors().skip(1);
        folders.extend(above.map(Path::to_owned));
    }
    for folder in folders {
        let name = folder.to_string_lossy();
        if !name.is_empty() && !known.contains(&name.as_ref()) {
            archive.folder(&name);
        }
    }
    for (path, file) in found {
        let contents =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        archive.file(path, &contents);
    }
    Ok(())
}

fn is_installed(package: &str) -> bool {
    let status = process::output(Command::new("dpkg-query").args([
        "--show",
        "--showformat=${db:Status-Abbrev}",
        package,
    ]));
    status.is_ok_and(|status| status.starts_with("ii"))
}

/// What cargo builds of a package of this workspace.
#[derive(Debug, PartialEq, Eq)]
struct Product<'a> {
    package: &'a str,
    /// The file's name.
    name: &'a str,
}

impl<'a> Product<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        match text.split_once('/') {
            Some((package, name)) => Ok(Self { package, name }),
            None => bail!("{text:?} is neither PACKAGE/PROGRAM nor PACKAGE/libNAME.so"),
        }
    }

    fn is_library(&self) -> bool {
        self.name.ends_with(".so")
    }

    fn guest_path(&self) -> String {
        let folder = if self.is_library() { "lib" } else { "bin" };
        format!("{folder}/{}", self.name)
    }

    /// Builds it, and leaves out what only debuggers read: the guest holds its files in memory.
    fn provide(&self, work: &Path) -> Result<(String, PathBuf)> {
        let mut build = process::cargo(&["build", "--quiet", "-p", self.package]);
        if self.is_library() {
            build.arg("--lib");
        } else {
            build.args(["--bin", self.name]);
        }
        process::run(&mut build)?;
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| workspace::root().join("target"), PathBuf::from);
        let stripped = work.join(self.name);
        let mut strip = Command::new("strip");
        strip
            .arg("-o")
            .arg(&stripped)
            .arg(target.join("debug").join(self.name));
        process::output(&mut strip)?;
        Ok((self.guest_path(), stripped))
    }
}

/// The files that a pattern stands for; at least one.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let Some((start, end)) = name.split_once('*') else {
        return Ok(vec![pattern.to_owned()]);
    };
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    };
    let folder = pattern.parent().unwrap_or(Path::new("/"));
    let found: Vec<PathBuf> = workspace::entries(folder)?
        .into_iter()
        .filter(fits)
        .collect();
    if found.is_empty() {
        bail!("there is nothing like {}", pattern.display());
    }
    Ok(found)
}

fn add_file(path: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    if path.is_dir() {
        return workspace::entries(path)?
            .iter()
            .try_for_each(|entry| add_file(entry, found));
    }
    add_libraries(path, found)?;
    found.insert(guest_path(path), path.to_owned());
    Ok(())
}

/// The path without its root and without `..`: `/lib64/ld.so` is `lib64/ld.so` in the archive.
fn guest_path(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => {
                parts.pop();
            }
            _ => {}
        }
    }
    parts.join("/")
}

/// What the dynamic linker would load; nothing for what is no program.
pub fn add_libraries(file: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    let output = Command::new("ldd")
        .arg(file)
        .output()
        .context("cannot start `ldd`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    for path in text.lines().filter_map(library_in) {
        found.insert(guest_path(path), path.to_owned());
    }
    Ok(())
}

/// `libc.so.6 => /lib/libc.so.6 (0x7f..)`, or `/lib64/ld-linux.so.2 (0x7f..)`.
fn library_in(line: &str) -> Option<&Path> {
    let path = line.split_once("=>").map_or(line, |(_, path)| path).trim();
    let path = path.split(" (").next()?;
    path.starts_with('/').then(|| Path::new(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_ldd() {
        let path = |line| library_in(line).map(|path| path.display().to_string());
        assert_eq!(
            path("\tlibc.so.6 => /lib/x/libc.so.6 (0x7f)").as_deref(),
            Some("/lib/x/libc.so.6")
        );
        assert_eq!(
            path("\t/lib64/ld.so.2 (0x7f)").as_deref(),
            Some("/lib64/ld.so.2")
        );
        assert_eq!(path("\tlinux-vdso.so.1 (0x7f)"), None);
        assert_eq!(path("\tnot a dynamic executable"), None);
    }

    #[test]
    fn products_have_a_package_and_a_place() {
        let path = |text| Product::parse(text).map(|product| product.guest_path());
        assert_eq!(path("a/program").unwrap(), "bin/program");
        assert_eq!(path("a/libb.so").unwrap(), "lib/libb.so");
        assert!(path("program").is_err());
    }

    #[test]
    fn guest_paths_have_no_root_and_no_detours() {
        assert_eq!(guest_path(Path::new("/lib64/ld.so")), "lib64/ld.so");
        assert_eq!(guest_path(Path::new("/usr/lib/a/../b.so")), "usr/lib/b.so");
    }

    #[test]
    fn folders_come_before_what_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        std::fs::write(&file, "x").unwrap();
        let found = BTreeMap::from([
            ("a/b/x".to_owned(), file.clone()),
            ("bin/x".to_owned(), file),
        ]);
        let mut archive = Archive::new();
        pack(&mut archive, &found, &["bin"]).unwrap();
        let bytes = archive.finish();
        let at = |name: &[u8]| bytes.windows(name.len()).position(|part| part == name);
        assert!(at(b"a\0") < at(b"a/b\0") && at(b"a/b\0") < at(b"a/b/x\0"));
        assert_eq!(at(b"bin\0"), None);
    }
}
