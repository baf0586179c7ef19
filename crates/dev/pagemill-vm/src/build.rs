//! Modules against the kernel's headers, guest programs without shared libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::files::{entries, make_folder};
use crate::kernel::Kernel;
use crate::suite::Suite;
use crate::{Workshop, process};

/// What goes into a guest beside busybox: name and file of each.
pub struct Built {
    pub modules: Vec<(String, PathBuf)>,
    pub programs: Vec<(String, PathBuf)>,
}

/// Builds what `suite` names.
pub fn build(workshop: &Workshop, suite: &Suite, kernel: &Kernel) -> Result<Built> {
    let mirror = workshop.folder.join("kmod").join(&kernel.release);
    copy_changed(&workshop.sources, &mirror)?;
    let modules = suite
        .modules
        .iter()
        .map(|name| module(name, kernel, &mirror));
    let static_programs = suite
        .programs
        .iter()
        .map(|source| program(workshop, kernel, source, &["-static"]));
    let dynamic_programs = suite
        .dynamic
        .iter()
        .map(|source| program(workshop, kernel, source, &[]));
    let programs = static_programs.chain(dynamic_programs);
    Ok(Built {
        modules: modules.collect::<Result<_>>()?,
        programs: programs.collect::<Result<_>>()?,
    })
}

/// The kernel's build writes beside the sources, so it works on a copy. Unchanged files keep their time.
fn copy_changed(from: &Path, to: &Path) -> Result<()> {
    let cannot = || format!("cannot copy {} to {}", from.display(), to.display());
    make_folder(to)?;
    for source in entries(from)? {
        let target = to.join(source.file_name().unwrap_or_default());
        if source.is_dir() {
            copy_changed(&source, &target)?;
            continue;
        }
        let contents = std::fs::read(&source).with_context(cannot)?;
        let is_same = std::fs::read(&target).is_ok_and(|old| old == contents);
        if !is_same {
            std::fs::write(&target, contents).with_context(cannot)?;
        }
    }
    Ok(())
}

fn module(name: &str, kernel: &Kernel, mirror: &Path) -> Result<(String, PathBuf)> {
    let folder = mirror.join(name);
    let mut make = match &kernel.system {
        Some(system) => system.command("make"),
        None => Command::new("make"),
    };
    make.arg("--silent")
        .arg("-C")
        .arg(&kernel.headers)
        .arg(format!("M={}", folder.display()))
        .args(["KCFLAGS=-Werror", "modules"])
        .args(kernel.make_variables())
        // Type information for tracers: its generator is no dependency of Debian's headers.
        .arg("CONFIG_DEBUG_INFO_BTF_MODULES=");
    // Cargo's own make variables mean nothing to the kernel's build.
    make.env_remove("MAKEFLAGS").env_remove("MFLAGS");
    process::output(&mut make).with_context(|| format!("module {name} does not build"))?;
    Ok((name.to_owned(), folder.join(format!("{name}.ko"))))
}

/// Every program is linked with `kmod/guest/`, what guest programs share; a script stays as it is.
fn program(
    workshop: &Workshop,
    kernel: &Kernel,
    source: &Path,
    more: &[&str],
) -> Result<(String, PathBuf)> {
    let sources = &workshop.sources;
    let stem = source.file_stem().context("a program has a name")?;
    let name = stem.to_string_lossy().into_owned();
    if source.extension().is_some_and(|own| own == "sh") {
        return Ok((name, sources.join(source)));
    }
    let architecture = kernel.architecture;
    let folder = workshop.folder.join("programs").join(architecture.name);
    make_folder(&folder)?;
    let target = folder.join(&name);
    let shared = entries(&sources.join("guest"))?;
    let shared = shared
        .iter()
        .filter(|path| path.extension().is_some_and(|own| own == "c"));
    let mut compile = Command::new(architecture.tool("gcc"));
    compile
        .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"])
        .args(more)
        .args(["-pthread", "-I"])
        .arg(sources.join("guest"))
        .arg("-I")
        .arg(sources.join("uapi"))
        .arg("-o")
        .arg(&target)
        .arg(sources.join(source))
        .args(shared);
    process::output(&mut compile)
        .with_context(|| format!("guest program {name} does not build"))?;
    Ok((name, target))
}
