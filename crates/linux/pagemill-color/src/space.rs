//! The memory of a task: a space of the module, or what stands in for one in tests.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use pagemill_linux::color_module::{Recolored, Space, WhenEmpty};
use pagemill_linux::{OsError, Result};
use pagemill_policy::coloring::ColorRange;

/// Memory in pages of chosen colors.
pub trait ColorSpace: Send {
    /// Colors that there are.
    fn colors(&self) -> u16;

    /// The colors of its pages from now on; pages of other colors move when they are touched.
    ///
    /// # Errors
    /// There are no such colors.
    fn recolor(&mut self, range: ColorRange) -> Result<Recolored>;

    /// Pages that it has.
    ///
    /// # Errors
    /// The module does not say.
    fn pages(&self) -> Result<u64>;

    /// Whether a process still uses it.
    ///
    /// # Errors
    /// The kernel does not say.
    fn is_used(&self) -> Result<bool> {
        Ok(self.pages()? > 0)
    }

    /// Takes in a process that is there already, where a space is made of processes and not of memory.
    ///
    /// # Errors
    /// The kernel refuses, or the process has ended.
    fn adopt(&mut self, process: u32) -> Result<()> {
        let _ = process;
        Ok(())
    }

    /// What processes map; `None` if they keep the memory that they have.
    fn file(&self) -> Option<BorrowedFd<'_>>;
}

/// A space of the kernel module `pagemill_color`.
#[derive(Debug)]
pub struct ModuleSpace {
    space: Space,
    colors: u16,
    rule: WhenEmpty,
}

impl ModuleSpace {
    /// A new space of all colors.
    ///
    /// # Errors
    /// The module is not loaded, or this user may not use it.
    pub fn open(rule: WhenEmpty) -> Result<Self> {
        let space = Space::open()?;
        let colors = u16::try_from(space.info()?.colors).unwrap_or(u16::MAX);
        Ok(Self {
            space,
            colors,
            rule,
        })
    }
}

impl ColorSpace for ModuleSpace {
    fn colors(&self) -> u16 {
        self.colors
    }

    fn recolor(&mut self, range: ColorRange) -> Result<Recolored> {
        let colors = range.first().0..range.end().0;
        self.space.recolor(&colors, self.rule)
    }

    fn pages(&self) -> Result<u64> {
        Ok(self.space.counts()?.pages)
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.space.as_fd())
    }
}

/// A file whose pages have no colors: everything but the cache works as with the module.
#[derive(Debug)]
pub struct StandInSpace {
    file: File,
    colors: u16,
}

impl StandInSpace {
    /// An empty file that is long enough for any mapping.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(colors: u16) -> Result<Self> {
        const BYTES: u64 = 1 << 46;
        let file = pagemill_linux::memory_file("pagemill-color-stand-in", BYTES)?;
        Ok(Self { file, colors })
    }
}

impl ColorSpace for StandInSpace {
    fn colors(&self) -> u16 {
        self.colors
    }

    fn recolor(&mut self, range: ColorRange) -> Result<Recolored> {
        if range.end().0 > self.colors {
            let error = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            return Err(OsError::new(format!("change to colors {range}"), error));
        }
        Ok(Recolored::default())
    }

    fn pages(&self) -> Result<u64> {
        Ok(0)
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}
