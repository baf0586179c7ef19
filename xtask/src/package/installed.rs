//! Installing the Debian package `pagemill` into a root of its own, with the programs of this machine: quick, and nothing is fetched.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::Packages;
use super::files::{copy, emptied, everything_below, nothing_is_left, write};
use crate::tally::Tally;
use crate::{process, system};

/// The only program of that root: Debian's statically linked shell and tools.
const BUSYBOX: &str = "/bin/busybox";

/// Installs, uses and purges it.
pub fn check(packages: &Packages, tally: &mut Tally) -> Result<()> {
    let what = "Debian package installs, runs and leaves nothing behind";
    if !system::is_root() {
        tally.skip(what, "only root can install packages");
        return Ok(());
    }
    if !Path::new(BUSYBOX).is_file() {
        tally.skip(what, "package busybox-static is not installed");
        return Ok(());
    }
    let root = packages.folder.join("root");
    tally.check(what, || {
        prepare(&root)?;
        let before = everything_below(&root)?;
        // What it depends on is this machine's: the root has no C library.
        dpkg(&root, &["--force-depends", "--install"], &packages.command)?;
        use_installed(&root)?;
        dpkg(&root, &["--purge"], Path::new("pagemill"))?;
        nothing_is_left(&before, &everything_below(&root)?)
    });
    Ok(())
}

/// A root in which maintainer scripts run.
fn prepare(root: &Path) -> Result<()> {
    emptied(root)?;
    copy(Path::new(BUSYBOX), &root.join("bin/busybox"))?;
    process::run(Command::new("chroot").arg(root).args([
        "/bin/busybox",
        "--install",
        "-s",
        "/bin",
    ]))?;
    for file in ["status", "available", "diversions", "statoverride"] {
        write(&root.join("var/lib/dpkg").join(file), "")?;
    }
    for folder in ["updates", "info", "triggers"] {
        std::fs::create_dir_all(root.join("var/lib/dpkg").join(folder))?;
    }
    Ok(())
}

fn dpkg(root: &Path, action: &[&str], what: &Path) -> Result<()> {
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display()))
        .args(action)
        .arg(what);
    // It looks for programs that scripts use where it runs itself.
    dpkg.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("DPKG_MAINTSCRIPT_DEBUG", "");
    process::output(&mut dpkg).map(drop)
}

fn use_installed(root: &Path) -> Result<()> {
    let command = root.join("usr/bin/pagemill");
    let pagemill = |arguments: &[&str]| process::output(Command::new(&command).args(arguments));
    let told = pagemill(&["run", "smoke"])?;
    if !told.contains("multi-range") {
        bail!("the installed command printed no results:\n{told}");
    }
    preloads_its_own(&root.join("usr"))?;
    completes(root)
}

/// The command in `prefix` gives other programs the libraries beside it.
pub fn preloads_its_own(prefix: &Path) -> Result<()> {
    let command = prefix.join("bin/pagemill");
    let pagemill = |arguments: &[&str]| process::output(Command::new(&command).args(arguments));
    let shown = ["sh", "-c", "echo $LD_PRELOAD"];
    for (run, library) in [
        (&["zero", "run"][..], "libpagemill_zero_preload.so"),
        (
            &["color", "run", "--stand-in", "64"],
            "libpagemill_color_preload.so",
        ),
        (&["mpi"], "libpagemill_fabric.so"),
    ] {
        let told = pagemill(&[run, &["--"], &shown].concat())?;
        let own = prefix.join("lib/pagemill").join(library).canonicalize()?;
        if Path::new(told.trim()).canonicalize().ok() != Some(own) {
            bail!(
                "`pagemill {}` preloads {:?}, not its own {library}",
                run.join(" "),
                told.trim()
            );
        }
    }
    Ok(())
}

/// Sourced by a shell, the completions offer what there is.
fn completes(root: &Path) -> Result<()> {
    let script = "PATH=$1:$PATH; source \"$0\"; COMP_WORDS=(pagemill ru); COMP_CWORD=1; COMP_TYPE=9; \
                  asked=$(complete -p pagemill | sed 's/.*-F \\([^ ]*\\).*/\\1/'); $asked pagemill ru pagemill; echo \"${COMPREPLY[@]}\"";
    let completions = root.join("usr/share/bash-completion/completions/pagemill");
    let mut bash = Command::new("bash");
    bash.args(["-ec", script]).arg(completions);
    let told = process::output(bash.arg(root.join("usr/bin")))?;
    if told.trim() != "run" {
        bail!("bash completes `pagemill ru` to {:?}", told.trim());
    }
    Ok(())
}
