//! A virtual machine that runs Debian's own kernel with pagemill's modules (ADR 0010).
//!
//! | file | what |
//! |---|---|
//! | `suite.rs` | what one boot consists of: modules, programs, machine, tests |
//! | `architecture.rs` | the processors that the modules are written for |
//! | `checked.rs` | kernels that check what they do, built from Debian's source |
//! | `kernel.rs`, `debian.rs`, `archive.rs` | kernel, headers, busybox, QEMU: found or fetched from Debian's package index |
//! | `system.rs` | a minimal Debian of another release, whose compiler builds modules for its kernel |
//! | `build.rs`, `plugin.rs` | modules, guest programs, and what watches the emulator, compiled from `kmod/` |
//! | `bundle.rs`, `initramfs.rs`, `cpio.rs` | files of this machine, and all that the guest finds |
//! | `qemu.rs`, `protocol.rs`, `claim.rs` | booting, what the guest reports, and what must hold of it |
#![forbid(unsafe_code)]

mod architecture;
mod archive;
mod build;
mod bundle;
mod checked;
mod claim;
mod cpio;
mod debian;
mod files;
mod initramfs;
mod kernel;
mod plugin;
pub mod process;
mod protocol;
mod qemu;
mod suite;
mod system;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use architecture::{ARCHITECTURES, Architecture};
pub use bundle::{Bundle, Files};
pub use checked::CHECKS;
pub use claim::Claim;
pub use files::entries;
pub use kernel::{Kernel, Provided};
pub use pagemill_linux::series::{KERNEL_SERIES, is_of_series, kernel_series_in_words};
pub use plugin::{Plugin, Traced, trace};
pub use protocol::{Outcome, Report};
pub use qemu::version as emulator_version;
pub use suite::{Machine, Suite, Test};
pub use system::System;

/// How Debian's packages are installed, by who may do so.
#[derive(Clone, Copy, Debug)]
pub struct Packages {
    /// Fetches the package index and installs packages.
    pub install: fn(&[&str]) -> Result<()>,
    /// Fetches the package index.
    pub update: fn() -> Result<()>,
}

/// Where the virtual machine comes from.
#[derive(Clone, Debug)]
pub struct Workshop {
    /// Sources of modules, guest programs and plugins: the folder `kmod`.
    pub sources: PathBuf,
    /// Everything that is fetched or built.
    pub folder: PathBuf,
    /// `None`: what is missing is reported, and not installed.
    pub packages: Option<Packages>,
}

impl Workshop {
    /// The kernel of this machine's Debian and what belongs to it, fetched if it is not there.
    ///
    /// # Errors
    /// Programs that should work do not.
    pub fn kernel(&self) -> Result<Provided> {
        self.kernel_of(None, Architecture::own())
    }

    /// The same of another release of Debian, such as `bookworm-backports`. Its packages are unpacked in the folder, or
    /// set up in it as a system of their own, and nothing of it is installed. So are those of another architecture, but
    /// for the emulator and the compiler. One of [`CHECKS`] is this Debian's kernel with that check, built from source.
    ///
    /// # Errors
    /// Programs that should work do not.
    pub fn kernel_of(
        &self,
        release: Option<&str>,
        architecture: &'static Architecture,
    ) -> Result<Provided> {
        let _alone = self.lock()?;
        debian::provide(self, release, architecture)
    }

    /// Until it is dropped, no other process fetches or builds in the folder.
    fn lock(&self) -> Result<File> {
        files::make_folder(&self.folder)?;
        let path = self.folder.join("lock");
        let cannot = || format!("cannot lock {}", path.display());
        let file = File::create(&path).with_context(cannot)?;
        file.lock().with_context(cannot)?;
        Ok(file)
    }

    /// Builds, packs and boots, in the folder `work`; the report of what ran. `files` are put into the guest beside
    /// what the suite names, and `hear` gets the guest's reports as they come.
    ///
    /// # Errors
    /// Something does not build, or cannot be started.
    pub fn boot(
        &self,
        suite: &Suite,
        kernel: &Kernel,
        mut files: Files,
        work: &Path,
        hear: &mut dyn FnMut(&str),
    ) -> Result<Report> {
        files::make_folder(work)?;
        let alone = self.lock()?;
        let built = build::build(self, suite, kernel)?;
        suite.bundle.collect(&mut files)?;
        let archive = work.join("initramfs.cpio");
        std::fs::write(&archive, initramfs::archive(suite, kernel, &built, files)?)
            .with_context(|| format!("cannot write {}", archive.display()))?;
        let watching = match &suite.plugin {
            Some(plugin) => plugin.provide(self, work)?.to_vec(),
            None => Vec::new(),
        };
        drop(alone);
        let mut report = qemu::boot(suite, kernel, &archive, work, &watching, hear)?;
        if let Some(plugin) = &suite.plugin {
            plugin.report(work, &mut report)?;
        }
        Ok(report)
    }
}
