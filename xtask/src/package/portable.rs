//! Linking for systems that are older than this one: Zig has the symbols of every glibc, and links against those of [`GLIBC`].

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::venv::Environment;
use crate::{process, workspace};

/// The oldest glibc that a release runs with: Debian 10, Ubuntu 20.04 and RHEL 8 have it or a newer one.
const GLIBC: &str = "2.28";

const ENVIRONMENT: Environment = Environment {
    name: "release",
    what: "what links for older systems",
    file: "release-requirements.txt",
    requirements: include_str!("../../release-requirements.txt"),
};

/// This computer's processor, by the name that rustc has for Linux on it.
fn target() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// Cargo's profile for what is given away.
const PROFILE: &str = "dist";

/// Where cargo leaves what it builds.
pub fn folder() -> PathBuf {
    workspace::root()
        .join("target")
        .join(target())
        .join(PROFILE)
}

/// `cargo build` of what is left to add.
pub fn cargo_build() -> Result<Command> {
    let environment = ENVIRONMENT.provide()?;
    let mut build = Command::new(environment.join("bin/cargo-zigbuild"));
    build
        .args(["build", "--quiet", "--profile", PROFILE, "--target"])
        .arg(format!("{}.{GLIBC}", target()))
        .current_dir(workspace::root())
        .env("PATH", path(&environment));
    Ok(build)
}

/// What maturin needs for the same.
pub fn maturin(command: &mut Command) -> Result<()> {
    let environment = ENVIRONMENT.provide()?;
    command
        .args(["--profile", PROFILE, "--zig", "--target"])
        .arg(target())
        .arg("--compatibility")
        .arg(format!("manylinux_{}", GLIBC.replace('.', "_")))
        .env("PATH", path(&environment));
    Ok(())
}

/// Refuses a program or library that needs a newer glibc than [`GLIBC`].
pub fn check(file: &Path) -> Result<()> {
    let symbols = process::output(Command::new("objdump").arg("--dynamic-syms").arg(file))?;
    let allowed = version(GLIBC);
    let newest = (symbols.split("GLIBC_").skip(1).map(version)).max();
    if let Some((major, minor)) = newest.filter(|newest| *newest > allowed) {
        bail!(
            "{} needs glibc {major}.{minor}, and a release may need {GLIBC}",
            workspace::relative(file).display()
        );
    }
    Ok(())
}

/// The numbers that a text begins with: "2.28) memcpy" is 2 and 28.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Programs of the environment first: Zig is found by name.
fn path(environment: &Path) -> OsString {
    let mut path = environment.join("bin").into_os_string();
    if let Some(others) = std::env::var_os("PATH") {
        path.push(":");
        path.push(others);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_numbers() {
        assert_eq!(version("2.28) memcpy"), (2, 28));
        assert!(version("2.4) exp") < version(GLIBC));
        assert!(version("PRIVATE) _dl_2.99") < version(GLIBC));
    }
}
