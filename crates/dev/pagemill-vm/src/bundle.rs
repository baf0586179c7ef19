//! Programs and files of this machine, put into the guest with the shared libraries that they need.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::cpio::Archive;
use crate::files::entries;
use crate::{Workshop, process};

/// What a suite takes from this machine.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bundle {
    /// Programs and libraries that cargo builds, as `PACKAGE/PROGRAM` and `PACKAGE/libNAME.so`; in the guest `/bin/PROGRAM` and
    /// `/lib/pagemill/libNAME.so`.
    pub cargo: Vec<String>,
    /// Files and folders that keep their place, `*` in the last part of a path stands for anything.
    pub files: Vec<String>,
    /// Debian packages that `files` come from.
    pub packages: Vec<String>,
}

impl Bundle {
    /// Installs the packages; the reason if that cannot be done.
    ///
    /// # Errors
    /// The packages cannot be installed.
    pub fn provide(&self, workshop: &Workshop) -> Result<Option<String>> {
        let missing: Vec<&str> = self
            .packages
            .iter()
            .map(String::as_str)
            .filter(|package| !is_installed(package))
            .collect();
        if missing.is_empty() {
            return Ok(None);
        }
        let names = missing.join(" ");
        let Some(packages) = workshop.packages else {
            return Ok(Some(format!("not installed: sudo apt-get install {names}")));
        };
        eprintln!("installing {names}");
        (packages.install)(&missing)?;
        Ok(None)
    }

    /// Adds its files, with the libraries that they need.
    pub(crate) fn collect(&self, found: &mut Files) -> Result<()> {
        for pattern in &self.files {
            for file in matching(Path::new(pattern))? {
                found.add_where_it_is(&file)?;
            }
        }
        Ok(())
    }
}

/// Files for the guest: where each is there, without the root, and here.
#[derive(Debug, Default)]
pub struct Files {
    found: BTreeMap<String, PathBuf>,
}

impl Files {
    /// Adds `file` as `place`, and the shared libraries that it needs.
    ///
    /// # Errors
    /// There is no `ldd`.
    pub fn add(&mut self, place: &str, file: &Path) -> Result<()> {
        self.add_libraries(file)?;
        self.found.insert(place.to_owned(), file.to_owned());
        Ok(())
    }

    /// Adds a file, or a folder with all that is in it, at the same place.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn add_where_it_is(&mut self, path: &Path) -> Result<()> {
        if path.is_dir() {
            return entries(path)?
                .iter()
                .try_for_each(|entry| self.add_where_it_is(entry));
        }
        self.add(&guest_path(path), path)
    }

    /// Adds what the dynamic linker would load; nothing for what is no program.
    pub(crate) fn add_libraries(&mut self, file: &Path) -> Result<()> {
        let output = Command::new("ldd")
            .arg(file)
            .output()
            .context("cannot start `ldd`")?;
        let text = String::from_utf8_lossy(&output.stdout);
        for path in text.lines().filter_map(library_in) {
            self.found.insert(guest_path(path), path.to_owned());
        }
        Ok(())
    }

    /// Packs them and the folders that they lie in, except those that are `known`.
    pub(crate) fn pack(&self, archive: &mut Archive, known: &[&str]) -> Result<()> {
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for path in self.found.keys() {
            let above = Path::new(path).ancestors().skip(1);
            folders.extend(above.map(Path::to_owned));
        }
        for folder in folders {
            let name = folder.to_string_lossy();
            if !name.is_empty() && !known.contains(&name.as_ref()) {
                archive.folder(&name);
            }
        }
        for (path, file) in &self.found {
            let contents =
                std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            archive.file(path, &contents);
        }
        Ok(())
    }
}

fn is_installed(package: &str) -> bool {
    let status = process::output(Command::new("dpkg-query").args([
        "--show",
        "--showformat=${db:Status-Abbrev}",
        package,
    ]));
    status.is_ok_and(|status| status.starts_with("ii"))
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
    let found: Vec<PathBuf> = entries(folder)?.into_iter().filter(fits).collect();
    if found.is_empty() {
        bail!("there is nothing like {}", pattern.display());
    }
    Ok(found)
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

/// `libc.so.6 => /lib/libc.so.6 (0x7f..)`, or `/lib64/ld-linux.so.2 (0x7f..)`.
fn library_in(line: &str) -> Option<&Path> {
    let path = line.split_once("=>").map_or(line, |(_, path)| path).trim();
    let path = path.split(" (").next()?;
    path.starts_with('/').then(|| Path::new(path))
}

#[cfg(test)]
mod tests;
