//! Debian's kernels, their headers, busybox and QEMU. Versions are what the package index offers today.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::archive::Archive;
use crate::{Workshop, process};

/// A kernel to boot and to build modules for.
#[derive(Debug)]
pub struct Kernel {
    /// What `uname -r` says in the guest, such as `6.1.0-56-amd64`.
    pub release: String,
    /// Release and Debian's version of it.
    pub version: String,
    /// The compressed kernel.
    pub image: PathBuf,
    /// Where modules are built against.
    pub headers: PathBuf,
}

/// What this machine can offer.
#[derive(Debug)]
pub enum Provided {
    /// Everything is there.
    Kernel(Kernel),
    /// It is not, and cannot be had; the reason.
    Not(String),
}

/// Where Debian's statically linked busybox is.
pub const BUSYBOX: &str = "/bin/busybox";

/// The packages whose dependency names today's kernel, and its headers.
const NEWEST: &str = "linux-image-amd64";

/// Installs and downloads what is missing. The kernel is this machine's Debian's, or that of the release `other`.
pub fn provide(workshop: &Workshop, other: Option<&str>) -> Result<Provided> {
    if std::env::consts::ARCH != "x86_64" {
        return Ok(Provided::Not("the guest is x86-64".to_owned()));
    }
    if !process::succeeds("apt-get", &["--version"]) {
        return Ok(Provided::Not(
            "there is no apt-get to fetch Debian's kernel with".to_owned(),
        ));
    }
    let provided = match other {
        None => own_kernel(workshop),
        Some(other) => kernel_of(other, workshop),
    };
    match provided {
        Err(error) => Ok(Provided::Not(format!("no kernel: {error:#}"))),
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
    if !image(&folder, &release).is_file() {
        let package = [format!("linux-image-{release}")];
        Archive::own().unpack(&package, &workshop.folder, &folder)?;
    }
    Ok(Provided::Kernel(kernel(release, &folder, headers)?))
}

/// The kernel of another release of Debian. It and its headers are unpacked in the folder, not installed.
fn kernel_of(other: &str, workshop: &Workshop) -> Result<Provided> {
    if let Some(reason) = install(workshop, &missing_packages()) {
        return Ok(Provided::Not(reason));
    }
    let archive = Archive::of_release(other, &workshop.folder)?;
    let release = archive.dependencies(NEWEST).and_then(release_in);
    let Some(release) = release else {
        return Ok(Provided::Not(format!("{other} has no package {NEWEST}")));
    };
    let folder = folder_of(workshop, &release);
    let sources = folder.join("usr/src");
    let headers = sources.join(format!("linux-headers-{release}"));
    if !image(&folder, &release).is_file() {
        let names = kernel_packages(&archive, &release)?;
        archive.unpack(&names, &workshop.folder, &folder)?;
    }
    lead_to(&headers.join("Makefile"), &sources)?;
    Ok(Provided::Kernel(kernel(release, &folder, headers)?))
}

/// A kernel, and what modules are built against.
fn kernel_packages(archive: &Archive, release: &str) -> Result<Vec<String>> {
    let headers = format!("linux-headers-{release}");
    let needed = archive
        .dependencies(&headers)
        .with_context(|| format!("the package index does not know {headers}"))?;
    let is_source =
        |name: &String| name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-");
    let mut names = vec![format!("linux-image-{release}"), headers];
    names.extend(needed.into_iter().filter(is_source));
    Ok(names)
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
    let is_known = |release: &String| image(&folder_of(workshop, release), release).is_file();
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
            process::succeeds("qemu-system-x86_64", &["--version"]),
            "qemu-system-x86",
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

fn image(folder: &Path, release: &str) -> PathBuf {
    folder.join("boot").join(format!("vmlinuz-{release}"))
}

fn kernel(release: String, folder: &Path, headers: PathBuf) -> Result<Kernel> {
    let image = image(folder, &release);
    if !image.is_file() {
        bail!(
            "the package linux-image-{release} holds no kernel: remove {} and run again",
            folder.display()
        );
    }
    Ok(Kernel {
        version: version_in(&image).unwrap_or_else(|| release.clone()),
        headers,
        release,
        image,
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
mod tests {
    use super::*;

    #[test]
    fn the_release_is_read_from_the_dependency() {
        let depends = ["linux-base", "linux-image-6.1.0-56-amd64"].map(str::to_owned);
        assert_eq!(
            release_in(depends.to_vec()).as_deref(),
            Some("6.1.0-56-amd64")
        );
        assert_eq!(release_in(Vec::new()), None);
    }

    #[test]
    fn unpacked_headers_include_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let makefile = folder.path().join("Makefile");
        std::fs::write(
            &makefile,
            "include /usr/src/linux-headers-common/Makefile\n",
        )
        .unwrap();
        for _ in 0..2 {
            lead_to(&makefile, Path::new("/kept/usr/src")).unwrap();
            assert_eq!(
                std::fs::read_to_string(&makefile).unwrap(),
                "include /kept/usr/src/linux-headers-common/Makefile\n"
            );
        }
    }

    #[test]
    fn a_damaged_kernel_has_no_version() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("vmlinuz");
        assert_eq!(version_in(&image), None);
        std::fs::write(&image, [0xff; 0x210]).unwrap();
        assert_eq!(version_in(&image), None);
    }
}
