//! Debian's kernels, their headers, busybox and QEMU. Versions are what the package index offers today.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::architecture::Architecture;
use crate::archive::Archive;
use crate::kernel::{BUSYBOX, Kernel, Provided};
use crate::system::System;
use crate::{Workshop, checked, process};

/// The packages whose dependency names today's kernel, and its headers.
const NEWEST: &str = "linux-image-amd64";

/// Installs and downloads what is missing. The kernel is this machine's Debian's, or that of the release `other`, or this
/// Debian's for another architecture.
pub fn provide(
    workshop: &Workshop,
    other: Option<&str>,
    architecture: &'static Architecture,
) -> Result<Provided> {
    if std::env::consts::ARCH != Architecture::own().machine {
        return Ok(Provided::Not("this machine is not x86-64".to_owned()));
    }
    if !process::succeeds("apt-get", &["--version"]) {
        return Ok(Provided::Not(
            "there is no apt-get to fetch Debian's kernel with".to_owned(),
        ));
    }
    let is_built_here = other.is_some_and(|name| checked::CHECKS.contains(&name));
    let provided = match (other, architecture.cross) {
        (None, None) => own_kernel(workshop),
        (Some(check), None) if is_built_here => checked_kernel(check, workshop),
        (Some(other), None) => kernel_of(other, workshop),
        (None, Some(_)) => kernel_for(architecture, workshop),
        (Some(other), Some(_)) => bail!(
            "the kernel of {other} for {} is not tried yet: leave the release or the architecture out",
            architecture.name
        ),
    };
    match provided {
        // What is configured here is ours to mend.
        Err(error) if !is_built_here => Ok(Provided::Not(format!("no kernel: {error:#}"))),
        provided => provided,
    }
}

/// The kernel of this machine's Debian, with installed headers.
fn own_kernel(workshop: &Workshop) -> Result<Provided> {
    let Some(release) = newest_release(workshop)? else {
        return Ok(Provided::Not(format!(
            "the package index does not know {NEWEST}"
        )));
    };
    let headers = Path::new("/usr/src").join(format!("linux-headers-{release}"));
    let mut missing = missing_packages();
    if !headers.join("Makefile").is_file() {
        missing.push(format!("linux-headers-{release}"));
    }
    if let Some(reason) = install(workshop, &missing) {
        return Ok(Provided::Not(reason));
    }
    let folder = folder_of(workshop, &release);
    if image(&folder, &release).is_none() {
        let package = [format!("linux-image-{release}")];
        Archive::own().unpack(&package, &workshop.folder, &folder)?;
    }
    Ok(Provided::Kernel(kernel(release, &folder, headers, None)?))
}

/// This Debian's kernel with a check, built from the source of its series.
fn checked_kernel(check: &str, workshop: &Workshop) -> Result<Provided> {
    let Some(release) = newest_release(workshop)? else {
        return Ok(Provided::Not(format!(
            "the package index does not know {NEWEST}"
        )));
    };
    let series: Vec<&str> = release.split('.').take(2).collect();
    let source = format!("linux-source-{}", series.join("."));
    let mut missing = missing_packages();
    missing.extend(checked::missing(&source));
    match install(workshop, &missing) {
        Some(reason) => Ok(Provided::Not(reason)),
        None => checked::provide(workshop, &source, check),
    }
}

/// The kernel of another release of Debian. It and its headers are unpacked in the folder, not installed. Where they need a
/// newer compiler than this machine has, modules are built in a minimal system of that release.
fn kernel_of(other: &str, workshop: &Workshop) -> Result<Provided> {
    if let Some(reason) = install(workshop, &missing_packages()) {
        return Ok(Provided::Not(reason));
    }
    let archive = Archive::of_release(other, &workshop.folder)?;
    let release = archive.dependencies(NEWEST).and_then(release_in);
    let Some(release) = release else {
        return Ok(Provided::Not(format!("{other} has no package {NEWEST}")));
    };
    let names = HeaderPackages::of(&archive, &release)?;
    let folder = folder_of(workshop, &release);
    let system = match names.compiler.as_deref().filter(|one| !is_program(one)) {
        None => None,
        Some(_) => {
            if let Some(reason) = install(workshop, &missing_debootstrap()) {
                return Ok(Provided::Not(reason));
            }
            Some(System::provide(other, &names.headers, &workshop.folder)?)
        }
    };
    if image(&folder, &release).is_none() {
        let mut packages = vec![image_package(&archive, &release)?];
        if system.is_none() {
            packages.push(names.headers.clone());
            packages.extend(names.sources);
        }
        archive.unpack(&packages, &workshop.folder, &folder)?;
    }
    let sources = match &system {
        Some(_) => PathBuf::from("/usr/src"),
        None => folder.join("usr/src"),
    };
    let headers = sources.join(&names.headers);
    if system.is_none() {
        lead_to(&headers.join("Makefile"), &sources)?;
    }
    Ok(Provided::Kernel(kernel(release, &folder, headers, system)?))
}

/// The kernel of this machine's Debian for another architecture. All of it is unpacked in the folder; only the emulator and
/// the compiler, which run here, are installed.
fn kernel_for(architecture: &'static Architecture, workshop: &Workshop) -> Result<Provided> {
    let mut missing = missing_packages();
    missing.extend(missing_for(architecture));
    if let Some(reason) = install(workshop, &missing) {
        return Ok(Provided::Not(reason));
    }
    let archive = Archive::of_architecture(architecture, &workshop.folder)?;
    let newest = format!("linux-image-{}", architecture.name);
    let release = archive.dependencies(&architecture.package(&newest));
    let Some(release) = release.and_then(release_in) else {
        return Ok(Provided::Not(format!(
            "the package index does not know {newest}"
        )));
    };
    let headers = format!("linux-headers-{release}");
    let needed = archive
        .dependencies(&architecture.package(&headers))
        .with_context(|| format!("the package index does not know {headers}"))?;
    let names = HeaderPackages::among(headers, needed);
    let folder = folder_of(workshop, &release);
    if image(&folder, &release).is_none() {
        let image = format!("linux-image-{release}");
        let foreign = [image.as_str(), &names.headers, "busybox-static"];
        let mut packages: Vec<String> =
            (foreign.iter().map(|name| architecture.package(name))).collect();
        // Scripts and programs of the build run on this machine.
        packages.extend(names.sources);
        archive.unpack(&packages, &workshop.folder, &folder)?;
    }
    let sources = folder.join("usr/src");
    let headers = sources.join(&names.headers);
    lead_to(&headers.join("Makefile"), &sources)?;
    let mut kernel = kernel(release, &folder, headers, None)?;
    kernel.architecture = architecture;
    kernel.busybox = folder.join(BUSYBOX.trim_start_matches('/'));
    Ok(Provided::Kernel(kernel))
}

/// What emulating and compiling for another architecture needs beside the rest.
fn missing_for(architecture: &Architecture) -> Vec<String> {
    let compiler = architecture.tool("gcc");
    let mut missing = Vec::new();
    if !is_program(architecture.emulator) {
        missing.push(architecture.emulator_package.to_owned());
    }
    if !is_program(&compiler) {
        missing.push(format!("gcc-{}", compiler.trim_end_matches("-gcc")));
        missing.push(format!("libc6-dev-{}-cross", architecture.name));
    }
    missing
}

/// The package that holds the kernel. Since Linux 6.19 `linux-image-*` only depends on it.
fn image_package(archive: &Archive, release: &str) -> Result<String> {
    let package = format!("linux-image-{release}");
    let needed = archive
        .dependencies(&package)
        .with_context(|| format!("the package index does not know {package}"))?;
    let binary = format!("linux-binary-{release}");
    Ok(match needed.contains(&binary) {
        true => binary,
        false => package,
    })
}

/// What modules are built against, by package.
struct HeaderPackages {
    headers: String,
    /// What these include: headers for all processors, and scripts.
    sources: Vec<String>,
    /// The program that the kernel was compiled with, if the headers need that very version.
    compiler: Option<String>,
}

impl HeaderPackages {
    fn of(archive: &Archive, release: &str) -> Result<Self> {
        let headers = format!("linux-headers-{release}");
        let needed = archive
            .dependencies(&headers)
            .with_context(|| format!("the package index does not know {headers}"))?;
        Ok(Self::among(headers, needed))
    }

    /// `needed` is what the package `headers` depends on.
    fn among(headers: String, needed: Vec<String>) -> Self {
        let compiler = needed
            .iter()
            .find_map(|name| name.strip_suffix("-for-host"))
            .map(str::to_owned);
        let is_source =
            |name: &String| name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-");
        Self {
            headers,
            sources: needed.into_iter().filter(is_source).collect(),
            compiler,
        }
    }
}

fn is_program(name: &str) -> bool {
    process::succeeds(name, &["--version"])
}

fn missing_debootstrap() -> Vec<String> {
    let is_there = is_program("debootstrap");
    let missing = (!is_there).then(|| "debootstrap".to_owned());
    missing.into_iter().collect()
}

/// The headers' makefile includes another by its place on a machine where it is installed.
fn lead_to(makefile: &Path, sources: &Path) -> Result<()> {
    let cannot = || format!("cannot change {}", makefile.display());
    let text = std::fs::read_to_string(makefile).with_context(cannot)?;
    let include = format!("include {}/", sources.display());
    let led = text.replace("include /usr/src/", &include);
    std::fs::write(makefile, led).with_context(cannot)
}

/// Installs packages, and says why not if it cannot.
fn install(workshop: &Workshop, missing: &[String]) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let Some(packages) = workshop.packages else {
        return Some(format!(
            "not installed: sudo apt-get install -y --no-install-recommends {}",
            missing.join(" ")
        ));
    };
    eprintln!("installing {}", missing.join(" "));
    let names: Vec<&str> = missing.iter().map(String::as_str).collect();
    let error = (packages.install)(&names).err()?;
    Some(format!("apt-get failed: {error:#}"))
}

/// What `linux-image-amd64` stands for. The index is fetched when it is empty, or names a kernel that we do not have yet.
fn newest_release(workshop: &Workshop) -> Result<Option<String>> {
    let indexed = || Archive::own().dependencies(NEWEST).and_then(release_in);
    let is_known = |release: &String| image(&folder_of(workshop, release), release).is_some();
    let known = indexed();
    let Some(packages) = workshop.packages else {
        return Ok(known);
    };
    if known.as_ref().is_some_and(is_known) {
        return Ok(known);
    }
    if let Err(error) = (packages.update)() {
        eprintln!("the package index stays as it is: {error:#}");
    }
    Ok(indexed())
}

/// The release of the kernel among the packages that `linux-image-amd64` depends on.
fn release_in(dependencies: Vec<String>) -> Option<String> {
    dependencies
        .iter()
        .find_map(|name| name.strip_prefix("linux-image-").map(str::to_owned))
}

/// What the emulator and the build of modules need, whichever kernel.
fn missing_packages() -> Vec<String> {
    let needs = [
        (
            Path::new(BUSYBOX).is_file() && is_static(BUSYBOX),
            "busybox-static",
        ),
        (
            is_program(Architecture::own().emulator),
            Architecture::own().emulator_package,
        ),
        (process::succeeds("gcc", &["--version"]), "gcc libc6-dev"),
        (process::succeeds("make", &["--version"]), "make"),
    ];
    let missing = needs.into_iter().filter(|(is_there, _)| !is_there);
    missing
        .flat_map(|(_, names)| names.split(' ').map(str::to_owned))
        .collect()
}

/// A dynamically linked program does not run in the guest, which has no libraries.
fn is_static(program: &str) -> bool {
    let output = Command::new("ldd").arg(program).output();
    output.is_ok_and(|output| !output.status.success())
}

fn folder_of(workshop: &Workshop, release: &str) -> PathBuf {
    workshop.folder.join("kernels").join(release)
}

/// The kernel in an unpacked package: where it has been, and where it is since Linux 6.19.
fn image(folder: &Path, release: &str) -> Option<PathBuf> {
    let places = [
        folder.join("boot").join(format!("vmlinuz-{release}")),
        folder.join("usr/lib/modules").join(release).join("vmlinuz"),
    ];
    places.into_iter().find(|place| place.is_file())
}

fn kernel(
    release: String,
    folder: &Path,
    headers: PathBuf,
    system: Option<System>,
) -> Result<Kernel> {
    let Some(image) = image(folder, &release) else {
        bail!(
            "the packages of {release} hold no kernel: remove {} and run again",
            folder.display()
        );
    };
    Ok(Kernel {
        version: version_in(&image).unwrap_or_else(|| release.clone()),
        headers,
        release,
        image,
        architecture: Architecture::own(),
        busybox: PathBuf::from(BUSYBOX),
        system,
    })
}

/// What the kernel calls itself: text at an offset that its header names (Documentation/x86/boot.rst, `kernel_version`).
fn version_in(image: &Path) -> Option<String> {
    let bytes = std::fs::read(image).ok()?;
    let at = u16::from_le_bytes([*bytes.get(0x20e)?, *bytes.get(0x20f)?]);
    let text = bytes.get(usize::from(at) + 0x200..)?;
    let end = text.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&text[..end]).ok()?;
    // "6.1.0-56-amd64 (builder) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (date)"
    let release = text.split(' ').next()?;
    let version = text.split("Debian ").nth(1)?.split(' ').next()?;
    Some(format!("{release} (Debian {version})"))
}

#[cfg(test)]
mod tests;
