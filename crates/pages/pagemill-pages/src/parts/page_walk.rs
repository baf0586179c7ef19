//! The page-table walker: some walks at once, a fixed time for each level.

use super::ports::PortGroup;
use pagemill_types::{Clock, PageSize, Picos};

/// What a walker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkerSpec {
    /// Walks that proceed at the same time.
    pub concurrent_walks: u32,
    /// Core cycles for one level of the table.
    pub level_latency_cycles: u32,
    /// Bits of virtual address that the whole table translates.
    pub address_bits: u32,
    /// Bits of virtual address that one level translates.
    pub level_bits: u32,
}

impl WalkerSpec {
    /// Levels between the root and a leaf that maps a page of this size.
    pub fn levels(&self, page: PageSize) -> u32 {
        // A larger page ends the walk earlier: of 9 bits a level, 2 MiB spare the last one.
        let offset_bits = page.bytes().trailing_zeros();
        self.address_bits
            .saturating_sub(offset_bits)
            .div_ceil(self.level_bits.max(1))
            .max(1)
    }
}

/// The walker.
#[derive(Clone, Debug)]
pub struct PageWalker {
    walkers: PortGroup,
    walk: Picos,
    walks: u64,
}

impl PageWalker {
    /// An idle walker for pages of one size; `clock` is the clock that the latency counts.
    pub fn new(spec: &WalkerSpec, page: PageSize, clock: Clock) -> Self {
        let cycles = u64::from(spec.levels(page)) * u64::from(spec.level_latency_cycles);
        let walk = clock.cycles(cycles);
        Self {
            walkers: PortGroup::new(spec.concurrent_walks, walk),
            walk,
            walks: 0,
        }
    }

    /// Walks the table for a request that comes at `at`; returns when the translation is known.
    pub fn walk(&mut self, at: Picos) -> Picos {
        self.walks += 1;
        self.walkers.book(at) + self.walk
    }

    /// Walks made.
    pub fn walks(&self) -> u64 {
        self.walks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(concurrent_walks: u32) -> WalkerSpec {
        WalkerSpec {
            concurrent_walks,
            level_latency_cycles: 100,
            address_bits: 48,
            level_bits: 9,
        }
    }

    #[test]
    fn large_pages_need_one_level_less() {
        assert_eq!(spec(1).levels(PageSize::KIB_4), 4);
        assert_eq!(spec(1).levels(PageSize::new(65536).unwrap()), 4);
        assert_eq!(spec(1).levels(PageSize::MIB_2), 3);
    }

    #[test]
    fn walks_beyond_the_walkers_queue() {
        let clock = Clock::new(1_000_000_000).unwrap();
        let mut walker = PageWalker::new(&spec(2), PageSize::MIB_2, clock);
        let ends: Vec<u64> = (0..5)
            .map(|_| walker.walk(Picos::ZERO).as_nanos())
            .collect();
        assert_eq!(ends, [300, 300, 600, 600, 900]);
        assert_eq!(walker.walks(), 5);
    }
}
