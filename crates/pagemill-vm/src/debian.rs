//! Debian's kernel, headers, busybox and QEMU. Versions are what the package index offers today.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::files::{entries, make_folder};
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

/// The package whose dependency names today's kernel.
const NEWEST: &str = "linux-image-amd64";

/// Installs and downloads what is missing.
pub fn provide(workshop: &Workshop) -> Result<Provided> {
    if std::env::consts::ARCH != "x86_64" {
        return Ok(Provided::Not("the guest is x86-64".to_owned()));
    }
    if !process::succeeds("apt-get", &["--version"]) {
        return Ok(Provided::Not(
            "there is no apt-get to fetch Debian's kernel with".to_owned(),
        ));
    }
    let Some(release) = newest_release(workshop)? else {
        return Ok(Provided::Not(format!(
            "the package index does not know {NEWEST}"
        )));
    };
    let missing = missing_packages(&release);
    if !missing.is_empty() {
        let Some(packages) = workshop.packages else {
            return Ok(Provided::Not(format!(
                "not installed: sudo apt-get install -y --no-install-recommends {}",
                missing.join(" ")
            )));
        };
        eprintln!("installing {}", missing.join(" "));
        let names: Vec<&str> = missing.iter().map(String::as_str).collect();
        if let Err(error) = (packages.install)(&names) {
            return Ok(Provided::Not(format!("apt-get failed: {error:#}")));
        }
    }
    match unpacked(workshop, &release) {
        Ok(folder) => Ok(Provided::Kernel(kernel(release, &folder)?)),
        Err(error) => Ok(Provided::Not(format!("no kernel: {error:#}"))),
    }
}

/// What `linux-image-amd64` stands for. The index is fetched when it is empty, or names a kernel that we do not have yet.
fn newest_release(workshop: &Workshop) -> Result<Option<String>> {
    let indexed = indexed_release()?;
    let is_known = |release: &String| image(&folder_of(workshop, release), release).is_file();
    let Some(packages) = workshop.packages else {
        return Ok(indexed);
    };
    if indexed.as_ref().is_some_and(is_known) {
        return Ok(indexed);
    }
    if let Err(error) = (packages.update)() {
        eprintln!("the package index stays as it is: {error:#}");
    }
    indexed_release()
}

fn indexed_release() -> Result<Option<String>> {
    let text = process::output(Command::new("apt-cache").args(["depends", NEWEST]));
    Ok(text.ok().as_deref().and_then(release_in))
}

/// The release in what `apt-cache depends` says.
fn release_in(depends: &str) -> Option<String> {
    let names = depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    names.map(|name| name.trim().to_owned()).next()
}

fn missing_packages(release: &str) -> Vec<String> {
    let needs = [
        (
            Path::new(BUSYBOX).is_file() && is_static(BUSYBOX),
            "busybox-static".to_owned(),
        ),
        (
            process::succeeds("qemu-system-x86_64", &["--version"]),
            "qemu-system-x86".to_owned(),
        ),
        (
            headers_of(release).join("Makefile").is_file(),
            format!("linux-headers-{release}"),
        ),
        (
            process::succeeds("gcc", &["--version"]),
            "gcc libc6-dev".to_owned(),
        ),
        (process::succeeds("make", &["--version"]), "make".to_owned()),
    ];
    let missing = needs.into_iter().filter(|(is_there, _)| !is_there);
    missing
        .flat_map(|(_, names)| names.split(' ').map(str::to_owned).collect::<Vec<String>>())
        .collect()
}

/// A dynamically linked program does not run in the guest, which has no libraries.
fn is_static(program: &str) -> bool {
    let output = Command::new("ldd").arg(program).output();
    output.is_ok_and(|output| !output.status.success())
}

fn headers_of(release: &str) -> PathBuf {
    Path::new("/usr/src").join(format!("linux-headers-{release}"))
}

fn folder_of(workshop: &Workshop, release: &str) -> PathBuf {
    workshop.folder.join("kernels").join(release)
}

fn image(folder: &Path, release: &str) -> PathBuf {
    folder.join("boot").join(format!("vmlinuz-{release}"))
}

/// Where the kernel's package is unpacked; downloads it the first time.
fn unpacked(workshop: &Workshop, release: &str) -> Result<PathBuf> {
    let folder = folder_of(workshop, release);
    if image(&folder, release).is_file() {
        return Ok(folder);
    }
    let packages = workshop.folder.join("packages");
    make_folder(&packages)?;
    let package = format!("linux-image-{release}");
    eprintln!("downloading {package}");
    let mut download = Command::new("apt-get");
    download
        .args(["-qq", "-o", "APT::Sandbox::User=root", "download"])
        .arg(&package)
        .current_dir(&packages);
    process::run(&mut download)?;
    let archive = newest_archive(&packages, &package)?;
    // Renamed when whole, so that an interrupted run leaves nothing that looks complete.
    let partial = packages.join("partial");
    if partial.exists() {
        std::fs::remove_dir_all(&partial)
            .with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    process::run(
        Command::new("dpkg-deb")
            .arg("-x")
            .arg(&archive)
            .arg(&partial),
    )?;
    std::fs::remove_file(&archive)
        .with_context(|| format!("cannot remove {}", archive.display()))?;
    make_folder(&workshop.folder.join("kernels"))?;
    std::fs::rename(&partial, &folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn newest_archive(packages: &Path, package: &str) -> Result<PathBuf> {
    let prefix = format!("{package}_");
    let found = entries(packages)?.into_iter().rfind(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    });
    found.with_context(|| format!("apt-get left no {prefix}*.deb in {}", packages.display()))
}

fn kernel(release: String, folder: &Path) -> Result<Kernel> {
    let image = image(folder, &release);
    if !image.is_file() {
        bail!(
            "the package linux-image-{release} holds no kernel: remove {} and run again",
            folder.display()
        );
    }
    Ok(Kernel {
        version: version_in(&image).unwrap_or_else(|| release.clone()),
        headers: headers_of(&release),
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
        let depends = "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n";
        assert_eq!(release_in(depends).as_deref(), Some("6.1.0-56-amd64"));
        assert_eq!(release_in("N: Unable to locate package\n"), None);
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
