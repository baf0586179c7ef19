//! Colors where the processor divides its cache by ways: a task's part is a group of resctrl, whatever its memory is.

use std::os::fd::BorrowedFd;

use pagemill_linux::color_module::Recolored;
use pagemill_linux::process::Identity;
use pagemill_linux::resctrl::{CacheInfo, Group, Tree, remove_abandoned};
use pagemill_linux::{OsError, Result};
use pagemill_policy::coloring::{ColorRange, WayPalette};

use crate::space::ColorSpace;

/// No such process.
const ESRCH: i32 = 3;

/// Looks at the threads of a process that starts threads meanwhile.
const LOOKS_MAX: u32 = 100;

/// A task in a group of resctrl. The group goes when this is dropped.
#[derive(Debug)]
pub struct ResctrlSpace {
    group: Group,
    palette: WayPalette,
}

impl ResctrlSpace {
    /// A new group with all colors. Groups that were left behind are removed first.
    ///
    /// # Errors
    /// There is no resctrl, it divides no cache, or there is no group left.
    pub fn new(tree: Box<dyn Tree>) -> Result<Self> {
        // First, as it says best what is missing.
        CacheInfo::read(&*tree)?;
        remove_abandoned(&*tree)?;
        let group = Group::new(tree, Identity::own()?)?;
        let palette = way_palette(group.info())?;
        Ok(Self { group, palette })
    }
}

/// The colors that the caches of this machine have.
///
/// # Errors
/// Their masks cannot be.
pub fn way_palette(info: &CacheInfo) -> Result<WayPalette> {
    WayPalette::new(info.ways, info.ways_min).map_err(|error| {
        let kind = std::io::ErrorKind::Unsupported;
        OsError::new("divide the cache", std::io::Error::new(kind, error))
    })
}

impl ColorSpace for ResctrlSpace {
    fn colors(&self) -> u16 {
        self.palette.colors()
    }

    fn recolor(&mut self, range: ColorRange) -> Result<Recolored> {
        let mask = self.palette.mask(range).ok_or_else(|| {
            let error = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            OsError::new(format!("change to colors {range}"), error)
        })?;
        self.group.set_ways(mask)?;
        // Lines stay where they are until they are replaced: nothing is copied.
        Ok(Recolored::default())
    }

    fn pages(&self) -> Result<u64> {
        Ok(0)
    }

    fn is_used(&self) -> Result<bool> {
        Ok(!self.group.tasks()?.is_empty())
    }

    /// Moves every thread of the process. One that starts meanwhile inherits the group of its parent, or is found by the next
    /// look; one that ends meanwhile needs no group.
    fn adopt(&mut self, process: u32) -> Result<()> {
        let mut moved = std::collections::BTreeSet::new();
        for _ in 0..LOOKS_MAX {
            let mut is_new = false;
            for thread in threads(process) {
                if !moved.insert(thread) {
                    continue;
                }
                is_new = true;
                match self.group.add(thread) {
                    Err(error) if error.errno() == Some(ESRCH) && thread != process => {}
                    added => added?,
                }
            }
            if !is_new {
                break;
            }
        }
        Ok(())
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Numbers of its threads; of a process that is gone, its own, so that the kernel says so.
fn threads(process: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task"));
    let names = entries.into_iter().flatten().flatten();
    let found: Vec<u32> = names
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    if found.is_empty() {
        vec![process]
    } else {
        found
    }
}
