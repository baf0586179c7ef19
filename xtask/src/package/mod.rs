//! A release, the packages that users install: a Python wheel, a Debian package with the command, an archive of the same, and a Debian package
//! with the sources of the kernel modules for DKMS.

mod archive;
mod bare;
mod control;
mod deb;
mod dkms;
mod files;
mod installed;
mod parts;
mod portable;
mod wheel;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use pagemill_vm::Provided;

use crate::tally::Tally;
use crate::{process, vm, workspace};

/// How cargo builds what is packaged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// As users get it.
    Release,
    /// As tests build it: quick to make.
    Dev,
}

impl Profile {
    fn folder(self) -> PathBuf {
        match self {
            Self::Release => portable::folder(),
            Self::Dev => workspace::root().join("target/debug"),
        }
    }

    fn compression(self) -> &'static [&'static str] {
        match self {
            Self::Release => &[],
            Self::Dev => &["-Zgzip", "-z1"],
        }
    }
}

/// The packages that are not Python's.
struct Packages {
    /// Where they are, beside what they were packed from.
    folder: PathBuf,
    /// `pagemill`.
    command: PathBuf,
    /// What `pagemill` has, for other systems.
    archive: PathBuf,
    /// `pagemill-dkms`.
    modules: PathBuf,
}

impl Packages {
    fn build(profile: Profile) -> Result<Self> {
        let folder = workspace::root().join("target/package");
        let command = deb::build(&folder, profile)?;
        Ok(Self {
            archive: archive::build(&folder, &command)?,
            command,
            modules: dkms::build(&folder, profile)?,
            folder,
        })
    }
}

/// Builds all packages and tries each where it changes nothing of this system; with `verify` also on a Debian system that has nothing else.
pub fn run(profile: Profile, verify: bool) -> Result<Tally> {
    if profile == Profile::Release {
        refuse_changes()?;
    }
    let mut tally = Tally::default();
    let packages = try_packages(profile, &mut tally)?;
    let wheel = wheel::build(&packages.folder.join("pagemill/usr"), profile)?;
    tally.check("wheel in an empty environment", || wheel::try_out(&wheel));
    if verify {
        bare::verify(&packages, &mut tally)?;
    }
    let container = packages.folder.join("Containerfile");
    files::copy(&workspace::root().join("deploy/Containerfile"), &container)?;
    let built = [
        &wheel,
        &packages.command,
        &packages.archive,
        &packages.modules,
        &container,
        &parts::add(&packages.folder)?,
    ];
    let sums = archive::add_checksums(&packages.folder, &built.map(PathBuf::as_path))?;
    for file in built.into_iter().chain([&sums]) {
        println!("{}", workspace::relative(file).display());
    }
    Ok(tally)
}

/// A release is of a commit.
fn refuse_changes() -> Result<()> {
    let mut status = Command::new("git");
    status
        .args(["status", "--porcelain"])
        .current_dir(workspace::root());
    let changed = process::output(&mut status)?;
    if !changed.trim().is_empty() {
        bail!("a release is of a commit, and the tree has changes:\n{changed}");
    }
    Ok(())
}

/// A part of `cargo xtask test`: the Debian packages without optimisation, as far as they can be tried at little cost.
pub fn test(tally: &mut Tally) -> Result<()> {
    try_packages(Profile::Dev, tally).map(drop)
}

fn try_packages(profile: Profile, tally: &mut Tally) -> Result<Packages> {
    let packages = Packages::build(profile)?;
    installed::check(&packages, tally)?;
    tally.check("archive runs where it is unpacked", || {
        archive::try_out(&packages.archive, &packages.folder.join("unpacked"))
    });
    let what = "modules build as dkms.conf says";
    match vm::kernel()? {
        Provided::Kernel(kernel) => {
            tally.check(what, || dkms::try_build(&packages.folder, &kernel.headers))
        }
        Provided::Not(reason) => tally.skip(what, &reason),
    }
    Ok(packages)
}
