//! Pages of this process, timed.

use std::path::Path;

use pagemill_linux::clock::timed_reads;
use pagemill_linux::{Backing, Mapping, OsError, pagemap};
use pagemill_policy::coloring::CacheGeometry;

use super::TimedMemory;

const PAGE_BYTES: usize = 4096;
const LINE_BYTES: usize = 64;
/// What is timed: lines far apart, without a pattern that a prefetcher knows.
const TIMED: [usize; 10] = [5, 50, 23, 38, 60, 14, 31, 57, 9, 43];

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The kernel refuses.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The kernel does not describe such a cache.
    #[error(
        "this machine reports no cache of level {0}: look at /sys/devices/system/cpu/cpu0/cache"
    )]
    NoCache(u32),
}

/// A cache as the kernel describes it, which need not be the hardware's truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedCache {
    /// Its shape.
    pub geometry: CacheGeometry,
    /// Who shares it, such as `0-1`.
    pub shared_by: String,
}

/// The data cache of `level` of the first CPU.
///
/// # Errors
/// The kernel reports none.
pub fn probed_cache(level: u32) -> Result<ProbedCache, MeasureError> {
    let root = Path::new("/sys/devices/system/cpu/cpu0/cache");
    (0..16)
        .map(|index| root.join(format!("index{index}")))
        .find_map(|folder| read_cache(&folder, level))
        .ok_or(MeasureError::NoCache(level))
}

fn read_cache(folder: &Path, level: u32) -> Option<ProbedCache> {
    let text = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    if number("level")? != u64::from(level) || text("type")? == "Instruction" {
        return None;
    }
    let kib: u64 = text("size")?.strip_suffix('K')?.parse().ok()?;
    Some(ProbedCache {
        geometry: CacheGeometry {
            bytes: kib << 10,
            ways: number("ways_of_associativity")?.try_into().ok()?,
            line_bytes: number("coherency_line_size")?.try_into().ok()?,
        },
        shared_by: text("shared_cpu_list")?,
    })
}

/// Pages of usual memory, three times as much as the cache holds.
#[derive(Debug)]
pub struct CachedMemory {
    memory: Mapping,
    frames: Vec<Option<u64>>,
}

impl CachedMemory {
    /// For a cache of `bytes`.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn new(bytes: u64) -> Result<Self, MeasureError> {
        let pages = bytes as usize * 3 / PAGE_BYTES;
        let mut memory = Mapping::new(Backing::Anonymous, pages * PAGE_BYTES, false)?;
        memory.keep_usual_pages()?;
        for page in memory.bytes_mut().chunks_exact_mut(PAGE_BYTES) {
            // A frame of its own, not the kernel's page of zeroes; all but this byte stay 0, as `timed_reads` wants.
            page[PAGE_BYTES - 1] = 1;
        }
        let start = memory.address();
        let frame = |page: usize| {
            let entry = pagemap::entry(start + page * PAGE_BYTES).ok()?;
            entry.frame
        };
        Ok(Self {
            frames: (0..pages).map(frame).collect(),
            memory,
        })
    }

    fn page(&self, page: usize) -> &[u8] {
        &self.memory.bytes()[page * PAGE_BYTES..][..PAGE_BYTES]
    }
}

impl TimedMemory for CachedMemory {
    fn pages(&self) -> usize {
        self.frames.len()
    }

    fn reload(&mut self, victim: usize, others: &[usize]) -> u64 {
        let offsets = TIMED.map(|line| line * LINE_BYTES);
        timed_reads(self.page(victim), &offsets);
        // Several times, as replacement is not strictly by age; small sets more often, which costs as much.
        let rounds = (512 / others.len().max(1)).clamp(2, 24);
        for page in (0..rounds).flat_map(|_| others) {
            for line in self.page(*page).iter().step_by(LINE_BYTES) {
                std::hint::black_box(*line);
            }
        }
        timed_reads(self.page(victim), &offsets)
    }

    fn frame(&self, page: usize) -> Option<u64> {
        self.frames[page]
    }
}
