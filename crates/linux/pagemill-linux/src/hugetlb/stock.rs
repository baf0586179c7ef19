use std::fs;
use std::io;
use std::path::PathBuf;

use super::HugeSize;
use crate::{OsError, Result};

/// The kernel's stock of huge pages of one size, on all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Pages there are, without surplus ones.
    pub total_pages: usize,
    /// Pages that no process has.
    pub free_pages: usize,
    /// Free pages that were promised to mappings.
    pub reserved_pages: usize,
}

impl Stock {
    /// Reads the stock.
    ///
    /// # Errors
    /// The kernel has no huge pages of this size.
    pub fn read(size: HugeSize) -> Result<Self> {
        let number = |name: &str| -> Result<usize> {
            let path = folder(size).join(name);
            let failed = |error| {
                OsError::new(format!("read {}", path.display()), error)
                    .with_hint("this kernel may lack huge pages of this size")
            };
            let text = fs::read_to_string(&path).map_err(failed)?;
            let parsed = text.trim().parse();
            parsed.map_err(|_| failed(io::ErrorKind::InvalidData.into()))
        };
        Ok(Self {
            // Pages that were taken from the stock while in use are surplus until they are let go of.
            total_pages: number("nr_hugepages")?.saturating_sub(number("surplus_hugepages")?),
            free_pages: number("free_hugepages")?,
            reserved_pages: number("resv_hugepages")?,
        })
    }

    /// Pages that a new mapping can get now.
    pub fn available_pages(&self) -> usize {
        self.free_pages.saturating_sub(self.reserved_pages)
    }

    /// Asks for a total; the kernel may give fewer where memory is in pieces.
    ///
    /// # Errors
    /// Only root may.
    pub fn set_total(size: HugeSize, pages: usize) -> Result<()> {
        let path = folder(size).join("nr_hugepages");
        fs::write(&path, pages.to_string()).map_err(|error| {
            OsError::new(format!("write {pages} to {}", path.display()), error)
                .with_hint(format!("as root: echo {pages} > {}", path.display()))
        })
    }

    /// Whether this process may set the total, before anything is changed.
    pub(super) fn check_settable(size: HugeSize) -> Result<()> {
        let path = folder(size).join("nr_hugepages");
        let opened = fs::OpenOptions::new().write(true).open(&path);
        opened.map(|_| ()).map_err(|error| {
            OsError::new(format!("open {} for writing", path.display()), error)
                .with_hint("run as root, or have root add pages to the stock")
        })
    }
}

fn folder(size: HugeSize) -> PathBuf {
    let kib = size.bytes() / 1024;
    PathBuf::from(format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB"))
}
