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
    /// Pages that nobody has.
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
            total_pages: number("nr_hugepages")?,
            free_pages: number("free_hugepages")?,
            reserved_pages: number("resv_hugepages")?,
        })
    }

    /// Pages that can be had now.
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
}

/// Keeps others that change the stock through this crate out, until it is closed.
fn lock(size: HugeSize) -> Result<fs::File> {
    let path = folder(size).join("nr_hugepages");
    let failed = |error| OsError::new(format!("lock {}", path.display()), error);
    let file = fs::File::open(&path).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

fn folder(size: HugeSize) -> PathBuf {
    let kib = size.bytes() / 1024;
    PathBuf::from(format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB"))
}

/// Huge pages that were added to the kernel's stock, and are taken away again when this is dropped.
#[derive(Debug)]
pub struct Reserve {
    size: HugeSize,
    added_pages: usize,
}

impl Reserve {
    /// Sees to it that `pages` can be had now. Adds only what lacks.
    ///
    /// # Errors
    /// Only root may, and memory in 2 MiB pieces must be there.
    pub fn available(size: HugeSize, pages: usize) -> Result<Self> {
        let _alone = lock(size)?;
        let before = Stock::read(size)?;
        let lacking = pages.saturating_sub(before.available_pages());
        if lacking == 0 {
            return Ok(Self {
                size,
                added_pages: 0,
            });
        }
        Self::add(size, lacking, before.total_pages)
    }

    /// Adds `pages`, whatever is there: for those who share a stock with others that have yet to take theirs.
    ///
    /// # Errors
    /// As [`Reserve::available`].
    pub fn more(size: HugeSize, pages: usize) -> Result<Self> {
        let _alone = lock(size)?;
        Self::add(size, pages, Stock::read(size)?.total_pages)
    }

    fn add(size: HugeSize, pages: usize, total_pages: usize) -> Result<Self> {
        Stock::set_total(size, total_pages + pages)?;
        let added_pages = (Stock::read(size)?.total_pages).saturating_sub(total_pages);
        if added_pages >= pages {
            return Ok(Self { size, added_pages });
        }
        Stock::set_total(size, total_pages)?;
        Err(OsError::new(
            format!("add {pages} huge pages of {size}: the kernel found {added_pages}"),
            io::Error::from(io::ErrorKind::OutOfMemory),
        )
        .with_hint("free memory, or reserve them at boot with hugepages="))
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        if self.added_pages == 0 {
            return;
        }
        let _alone = lock(self.size);
        if let Ok(now) = Stock::read(self.size) {
            // Nothing better can be done where this fails: the pages stay reserved, and `Stock` shows them.
            let _ = Stock::set_total(self.size, now.total_pages.saturating_sub(self.added_pages));
        }
    }
}
