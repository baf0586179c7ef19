use pagemill_policy::coloring::{CacheGeometry, Palette};
use pagemill_types::{Bandwidth, Clock, PageSize, Picos};

use crate::SpecError;
use crate::parts::cache::CacheSpec;

/// Cores with a cache each, one cache that they share, and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedCacheMachine {
    /// What it is called.
    pub name: String,
    /// Each core.
    pub core: CoreSpec,
    /// The cache of each core. Its sets are selected by bits within a page.
    pub l1: CacheSpec,
    /// The cache that all cores share, indexed by physical addresses.
    pub l2: CacheSpec,
    /// Behind the shared cache.
    pub memory: MemorySpec,
    /// Pages, and what it costs to change them.
    pub paging: PagingSpec,
}

/// What runs the tasks, one on each core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreSpec {
    /// How many there are.
    pub count: u32,
    /// Their clock, which the caches have too.
    pub clock: Clock,
    /// From one reference to the next, with the instructions between them, where all is in the first cache.
    pub reference_cycles: u64,
}

/// What a miss of the shared cache meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySpec {
    /// From a miss to its data, where nothing else is served.
    pub latency: Picos,
    /// Of the bus, for lines in both directions.
    pub bandwidth: Bandwidth,
}

/// Pages, and what it costs to change them. Copies are no constant: their lines go through the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagingSpec {
    /// The size of a page.
    pub page: PageSize,
    /// A page fault, but for a copy.
    pub fault: Picos,
    /// Clearing the page-table entry of one page.
    pub unmap: Picos,
    /// One flush of what cores remember of page tables.
    pub flush_translations: Picos,
    /// One flush of all caches.
    pub flush_caches: Picos,
}

impl SharedCacheMachine {
    /// The colors of the shared cache.
    ///
    /// # Errors
    /// It has none; see [`SharedCacheMachine::check`].
    pub fn palette(&self) -> Result<Palette, SpecError> {
        let geometry = CacheGeometry {
            bytes: self.l2.bytes.into(),
            ways: self.l2.ways,
            line_bytes: self.l2.line_bytes,
        };
        Palette::new(geometry, self.paging.page).map_err(|error| {
            SpecError::new(
                "l2.bytes",
                self.l2.bytes,
                format!("it has to have colors: {error}"),
            )
        })
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value that is impossible: its key, what was given and what is allowed.
    pub fn check(&self) -> Result<(), SpecError> {
        at_most("core.count", self.core.count.into(), 1, 64)?;
        at_most("core.reference", self.core.reference_cycles, 1, 1_000_000)?;
        for (key, cache) in [("l1", &self.l1), ("l2", &self.l2)] {
            at_most(&format!("{key}.ways"), cache.ways.into(), 1, 255)?;
            at_most(&format!("{key}.misses"), cache.mshr_entries.into(), 1, 4096)?;
            at_most(
                &format!("{key}.hit"),
                cache.hit_latency_cycles.into(),
                0,
                1_000_000,
            )?;
            let geometry = CacheGeometry {
                bytes: cache.bytes.into(),
                ways: cache.ways,
                line_bytes: cache.line_bytes,
            };
            if geometry.sets().is_none() {
                let allowed = "it has to be ways x line x a power of two of sets";
                return Err(SpecError::new(format!("{key}.bytes"), cache.bytes, allowed));
            }
        }
        if self.l1.line_bytes != self.l2.line_bytes {
            let allowed = "both caches have to have the same line";
            return Err(SpecError::new("l1.line", self.l1.line_bytes, allowed));
        }
        // Sets within a page make the first cache the same for all colors, so a curve may be profiled behind it without frames.
        if u64::from(self.l1.bytes / self.l1.ways) > self.paging.page.bytes() {
            let allowed =
                "a way of it has to fit a page: its sets are selected by bits within a page";
            return Err(SpecError::new("l1.bytes", self.l1.bytes, allowed));
        }
        self.palette().map(|_| ())?;
        for (key, span) in [
            ("memory.latency", self.memory.latency),
            ("paging.fault", self.paging.fault),
            ("paging.unmap", self.paging.unmap),
            ("paging.flush_translations", self.paging.flush_translations),
            ("paging.flush_caches", self.paging.flush_caches),
        ] {
            if span > SECOND {
                let value = format!("{} ps", span.0);
                return Err(SpecError::new(key, value, "it has to be at most 1 s"));
            }
        }
        Ok(())
    }
}

const SECOND: Picos = Picos(1_000_000_000_000);

fn at_most(key: &str, value: u64, least: u64, most: u64) -> Result<(), SpecError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(SpecError::new(
        key,
        value,
        format!("it has to be from {least} to {most}"),
    ))
}
