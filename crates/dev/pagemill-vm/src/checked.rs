//! Kernels with checks of their own (`kmod/kernels/NAME.config`), built here from Debian's source.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::architecture::Architecture;
use crate::files::make_folder;
use crate::kernel::{BUSYBOX, Kernel, Provided};
use crate::{Workshop, process};

/// The names of the checks.
pub const CHECKS: [&str; 1] = ["kasan"];

/// What all of these kernels have.
const COMMON: &str = "guest";

/// What the build needs beside a compiler: program, and the package that has it.
const NEEDS: [(&str, &str); 4] = [
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("xz", "xz-utils"),
];

/// The packages that are missing to build a kernel of `source`.
pub fn missing(source: &str) -> Vec<String> {
    let programs = NEEDS
        .iter()
        .filter(|(program, _)| !process::succeeds(program, &["--version"]));
    let mut missing: Vec<String> = programs.map(|(_, package)| (*package).to_owned()).collect();
    let others = [
        (archive(source), source),
        ("/usr/include/gelf.h".to_owned(), "libelf-dev"),
    ];
    for (file, package) in others {
        if !Path::new(&file).is_file() {
            missing.push(package.to_owned());
        }
    }
    missing
}

/// The kernel of the package `source`, such as `linux-source-6.1`, with the check `name`. It is built once.
///
/// # Errors
/// It does not build, or has not all that was asked of it.
pub fn provide(workshop: &Workshop, source: &str, name: &str) -> Result<Provided> {
    let folder = workshop.folder.join("kernels").join(name);
    let tree = folder.join(source);
    let configuration = configuration(workshop, name)?;
    let built = folder.join("built.config");
    let is_built = std::fs::read_to_string(&built).is_ok_and(|old| old == configuration);
    if !is_built {
        make_folder(&folder)?;
        if !tree.is_dir() {
            let mut unpack = Command::new("tar");
            unpack
                .arg("-xf")
                .arg(archive(source))
                .arg("-C")
                .arg(&folder);
            process::output(&mut unpack).context("cannot unpack the kernel's source")?;
        }
        eprintln!("building Linux with {name}: minutes, once");
        build(&tree, &configuration)?;
        std::fs::write(&built, &configuration).context("cannot note the build")?;
    }
    let read = |path: &str| {
        let path = tree.join(path);
        let text = std::fs::read_to_string(&path);
        text.with_context(|| format!("cannot read {}", path.display()))
    };
    let release = read("include/config/kernel.release")?.trim().to_owned();
    Ok(Provided::Kernel(Kernel {
        version: format!("{release} ({source})"),
        release,
        image: tree.join("arch/x86/boot/bzImage"),
        headers: tree,
        architecture: Architecture::own(),
        busybox: BUSYBOX.into(),
        system: None,
    }))
}

/// Where Debian's package puts the source.
fn archive(source: &str) -> String {
    format!("/usr/src/{source}.tar.xz")
}

/// What is asked of the kernel, a setting in each line.
fn configuration(workshop: &Workshop, name: &str) -> Result<String> {
    let mut all = String::new();
    for part in [COMMON, name] {
        let path = workshop.sources.join(format!("kernels/{part}.config"));
        let text = std::fs::read_to_string(&path);
        all += &text.with_context(|| format!("cannot read {}", path.display()))?;
    }
    Ok(all)
}

fn build(tree: &Path, configuration: &str) -> Result<()> {
    let make = |targets: &[&str]| {
        let mut make = Command::new("make");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        make.arg("--silent")
            .arg(format!("-j{jobs}"))
            .arg("-C")
            .arg(tree)
            .args(targets);
        // Cargo's own make variables mean nothing to the kernel's build.
        make.env_remove("MAKEFLAGS").env_remove("MFLAGS");
        process::output(&mut make).with_context(|| format!("`make {}` fails", targets.join(" ")))
    };
    make(&["tinyconfig"])?;
    let config = tree.join(".config");
    let cannot = || format!("cannot write {}", config.display());
    let tiny = std::fs::read_to_string(&config).with_context(cannot)?;
    // Of two lines for one setting, the last one counts.
    std::fs::write(&config, tiny + configuration).with_context(cannot)?;
    make(&["olddefconfig"])?;
    let settled = std::fs::read_to_string(&config).with_context(cannot)?;
    let is_missing = |line: &&str| {
        let is_asked = line.starts_with("CONFIG_") && !line.ends_with("=n");
        is_asked && !settled.lines().any(|own| own == *line)
    };
    let missing: Vec<&str> = configuration.lines().filter(is_missing).collect();
    if !missing.is_empty() {
        bail!(
            "Linux cannot be configured with {}: change kmod/kernels/",
            missing.join(", ")
        );
    }
    make(&["bzImage", "modules"]).map(drop)
}
