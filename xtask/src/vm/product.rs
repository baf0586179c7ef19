//! What cargo builds for the guest.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use pagemill_vm::{Files, Suite};

use crate::{built, process};

/// Builds programs and libraries of this workspace in `work`, for their place in the guest.
pub fn provide(products: &[String], work: &Path) -> Result<Files> {
    let mut files = Files::default();
    if products.is_empty() {
        return Ok(files);
    }
    built::provide()?;
    for product in products {
        let product = Product::parse(product)?;
        files.add(&product.guest_path(), &product.provide(work)?)?;
    }
    Ok(files)
}

/// The suite, with `pagemill` of this workspace where its emulator runs under that.
pub fn under_own(mut suite: Suite) -> Suite {
    if let Some(word) = suite.machine.under.first_mut()
        && word == "pagemill"
    {
        *word = built::folder().join(&*word).display().to_string();
    }
    suite
}

/// Why an emulator cannot run under this command, if so.
pub fn cannot_run_under(words: &[String]) -> Result<Option<String>> {
    let Some((program, words)) = words.split_first() else {
        return Ok(None);
    };
    built::provide()?;
    let tried = Command::new(program).args(words).arg("true").output();
    let tried = tried.with_context(|| format!("cannot start {program}"))?;
    match tried.status.code() {
        Some(0) => Ok(None),
        // What is missing is the machine's.
        Some(3) => Ok(Some(
            String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
        )),
        _ => bail!(
            "{program} {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&tried.stderr)
        ),
    }
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
        let folder = if self.is_library() {
            "lib/pagemill"
        } else {
            "bin"
        };
        format!("{folder}/{}", self.name)
    }

    /// Leaves out what only debuggers read: the guest holds its files in memory.
    fn provide(&self, work: &Path) -> Result<PathBuf> {
        let stripped = work.join(self.name);
        let mut strip = Command::new("strip");
        strip
            .arg("-o")
            .arg(&stripped)
            .arg(built::folder().join(self.name));
        process::output(&mut strip)
            .with_context(|| format!("{} builds no {}", self.package, self.name))?;
        Ok(stripped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_a_package_and_a_place() {
        let path = |text| Product::parse(text).map(|product| product.guest_path());
        assert_eq!(path("a/program").unwrap(), "bin/program");
        assert_eq!(path("a/libb.so").unwrap(), "lib/pagemill/libb.so");
        assert!(path("program").is_err());
    }
}
