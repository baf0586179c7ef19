//! What every Debian package of ours says about itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::files::{below, set_modes, write, write_zipped};
use crate::{process, workspace};

/// The version of all packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The fields of a package that differ from package to package.
pub struct Package<'a> {
    pub name: &'a str,
    pub architecture: &'a str,
    pub section: &'a str,
    /// Fields such as `Depends`, with their values.
    pub relations: &'a [(&'a str, &'a str)],
    pub summary: &'a str,
    /// Lines of at most 80 characters.
    pub description: &'a [&'a str],
    /// What `copyright` says of the files.
    pub license: License,
}

/// Under which conditions a package is handed on.
#[derive(Clone, Copy)]
pub enum License {
    /// Everything that runs in user space.
    MitOrApache,
    /// Kernel modules.
    Gpl2,
}

impl Package<'_> {
    /// Adds what describes the package to what is installed, and closes it; gives the file.
    pub fn close(&self, tree: &Path, compression: &[&str]) -> Result<PathBuf> {
        let doc = tree.join("usr/share/doc").join(self.name);
        write(&doc.join("copyright"), &self.license.copyright()?)?;
        write_zipped(&doc.join("changelog"), &self.changelog()?)?;
        write(&tree.join("DEBIAN/md5sums"), &checksums(tree)?)?;
        write(
            &tree.join("DEBIAN/control"),
            &self.control(installed_kib(tree)?),
        )?;
        set_modes(tree)?;
        let file = format!("{}_{VERSION}_{}.deb", self.name, self.architecture);
        let deb = tree.with_file_name(file);
        let mut close = Command::new("dpkg-deb");
        close.env("SOURCE_DATE_EPOCH", committed("%ct")?);
        close
            .args(["--root-owner-group", "--build"])
            .args(compression);
        process::output(close.arg(tree).arg(&deb))?;
        Ok(deb)
    }

    fn control(&self, installed_kib: u64) -> String {
        let mut text = format!(
            "Package: {}\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {installed_kib}\n",
            self.name,
            self.architecture,
            maintainer(),
        );
        // Writing to a string cannot fail.
        for (field, value) in self.relations {
            let _ = writeln!(text, "{field}: {value}");
        }
        let _ = writeln!(text, "Section: {}\nPriority: optional", self.section);
        let _ = writeln!(text, "Description: {}", self.summary);
        for line in self.description {
            let _ = writeln!(text, " {line}");
        }
        text
    }

    fn changelog(&self) -> Result<String> {
        Ok(format!(
            "{} ({VERSION}) unstable; urgency=medium\n\n  * Built from the sources: CHANGELOG.md there says what is new.\n\n -- {}  {}\n",
            self.name,
            maintainer(),
            committed("%cD")?
        ))
    }
}

impl License {
    /// In the form of copyright-format/1.0.
    fn copyright(self) -> Result<String> {
        let head = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: pagemill\n\n\
                    Files: *\nCopyright: 2026 the pagemill authors\nLicense: ";
        Ok(match self {
            Self::MitOrApache => format!(
                "{head}Expat or Apache-2.0\n\nLicense: Expat\n{}\nLicense: Apache-2.0\n \
                 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.\n",
                indented(&permission()?)
            ),
            Self::Gpl2 => format!(
                "{head}GPL-2\n\nLicense: GPL-2\n On Debian systems the full text is in /usr/share/common-licenses/GPL-2.\n"
            ),
        })
    }
}

/// The MIT license without its heading.
fn permission() -> Result<String> {
    let path = workspace::root().join("LICENSE-MIT");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let start = text.find("Permission is").unwrap_or(0);
    Ok(text[start..].to_owned())
}

fn indented(text: &str) -> String {
    let line = |line: &str| match line.trim() {
        "" => " .\n".to_owned(),
        line => format!(" {line}\n"),
    };
    text.trim().lines().map(line).collect()
}

/// The packager, from the variables of Debian's own tools; else the authors of the workspace.
fn maintainer() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    match (variable("DEBFULLNAME"), variable("DEBEMAIL")) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        _ => env!("CARGO_PKG_AUTHORS").to_owned(),
    }
}

/// The time of the last commit in git's `format`, so that the same sources give the same package; without git, the year 1970.
pub fn committed(format: &str) -> Result<String> {
    let mut log = Command::new("git");
    log.args(["log", "-1", &format!("--format={format}")])
        .current_dir(workspace::root());
    let told = process::output(&mut log).unwrap_or_default();
    let start = match format {
        "%ct" => "0",
        _ => "Thu, 01 Jan 1970 00:00:00 +0000",
    };
    Ok(match told.trim() {
        "" => start.to_owned(),
        told => told.to_owned(),
    })
}

fn checksums(tree: &Path) -> Result<String> {
    let installed = below(tree)?
        .into_iter()
        .filter(|path| !path.starts_with("DEBIAN"));
    process::output(Command::new("md5sum").args(installed).current_dir(tree))
}

fn installed_kib(tree: &Path) -> Result<u64> {
    let told = process::output(
        Command::new("du")
            .args(["-sk", "--exclude=DEBIAN", "--apparent-size"])
            .arg(tree),
    )?;
    let kib = told
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    kib.context("`du` told no size")
}

/// `Depends` of the programs and libraries `files`, which lie in `tree`: what `dpkg-shlibdeps` finds in their symbols.
pub fn shared_libraries(tree: &Path, files: &[PathBuf]) -> Result<String> {
    // It wants to be called in a source package.
    let source = tree.with_file_name("shlibdeps");
    write(
        &source.join("debian/control"),
        "Source: pagemill\n\nPackage: pagemill\nArchitecture: any\n",
    )?;
    let mut find = Command::new("dpkg-shlibdeps");
    find.arg("-O")
        .args(files.iter().map(|file| tree.join(file)))
        .current_dir(&source);
    let told = process::output(&mut find)?;
    let depends = told
        .lines()
        .find_map(|line| line.strip_prefix("shlibs:Depends="));
    depends
        .map(str::to_owned)
        .context("`dpkg-shlibdeps` found no library that is needed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_of_a_license_are_dots() {
        assert_eq!(indented("a\n\n  b\n"), " a\n .\n b\n");
    }

    #[test]
    fn fields_are_in_the_order_of_debian() {
        let package = Package {
            name: "x",
            architecture: "all",
            section: "science",
            relations: &[("Depends", "dkms")],
            summary: "does it",
            description: &["Well.", "."],
            license: License::Gpl2,
        };
        let control = package.control(3);
        assert!(control.starts_with("Package: x\nVersion: "), "{control}");
        assert!(
            control.contains("\nInstalled-Size: 3\nDepends: dkms\nSection: science\n"),
            "{control}"
        );
        assert!(
            control.ends_with("\nDescription: does it\n Well.\n .\n"),
            "{control}"
        );
    }
}
