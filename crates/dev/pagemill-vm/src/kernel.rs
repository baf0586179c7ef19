//! A kernel, wherever it comes from.

use std::path::PathBuf;

use crate::architecture::Architecture;
use crate::system::System;

/// Where Debian's statically linked busybox is.
pub const BUSYBOX: &str = "/bin/busybox";

/// A kernel to boot and to build modules for.
#[derive(Debug)]
pub struct Kernel {
    /// What `uname -r` says in the guest, such as `6.1.0-56-amd64`.
    pub release: String,
    /// Release and Debian's version of it.
    pub version: String,
    /// The compressed kernel.
    pub image: PathBuf,
    /// What modules are built against.
    pub headers: PathBuf,
    /// The processor that it is for.
    pub architecture: &'static Architecture,
    /// A shell and its tools for the guest, without shared libraries.
    pub(crate) busybox: PathBuf,
    /// Where they are built, if not on this machine: the headers are in it, and its compiler is the kernel's.
    pub system: Option<System>,
}

impl Kernel {
    /// What `make` has to know to build modules for another architecture than this machine's.
    pub(crate) fn make_variables(&self) -> Vec<String> {
        let Some(cross) = self.architecture.cross else {
            return Vec::new();
        };
        vec![
            format!("ARCH={}", self.architecture.kbuild),
            format!("CROSS_COMPILE={cross}"),
        ]
    }
}

/// What this machine can offer.
#[derive(Debug)]
pub enum Provided {
    /// Everything is there.
    Kernel(Kernel),
    /// It is not, and cannot be had; the reason.
    Not(String),
}
