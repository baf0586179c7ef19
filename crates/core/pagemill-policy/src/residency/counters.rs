use super::{AccessCounterSpec, BIG_PAGE_PAGES, BLOCK_PAGES, CounterRegion, PageMask};

/// Access counters: remote accesses to each region, and which 64 KiB they went to.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    threshold: u32,
    /// Regions of a block.
    regions: u32,
    counts: Vec<u32>,
    /// By block, a bit for each 64 KiB.
    big_pages: Vec<u32>,
}

/// The count of a region that is not reported.
const SILENT: u32 = u32::MAX;

/// Bits of a block's 64 KiB pages.
const BIG_PAGES: u32 = BLOCK_PAGES / BIG_PAGE_PAGES;

impl Counters {
    pub(super) fn new(spec: AccessCounterSpec) -> Self {
        Self {
            threshold: spec.threshold,
            regions: match spec.region {
                CounterRegion::Kib64 => BIG_PAGES,
                CounterRegion::Mib2 => 1,
            },
            counts: Vec::new(),
            big_pages: Vec::new(),
        }
    }

    /// Room for `blocks` blocks.
    pub(super) fn grow(&mut self, blocks: u32) {
        let blocks = self.big_pages.len().max(blocks as usize);
        self.counts.resize(blocks * self.regions as usize, 0);
        self.big_pages.resize(blocks, 0);
    }

    /// Counts `accesses` to `page` of `block`. True when the threshold is reached now: the region is to be reported.
    #[inline]
    pub(super) fn count(&mut self, block: u32, page: u32, accesses: u32) -> bool {
        let region = page / (BLOCK_PAGES / self.regions);
        let count = &mut self.counts[(block * self.regions + region) as usize];
        // The hardware reports a region once, when it crosses the threshold; a count that saturates can never cross
        // it again, which is how `SILENT` works.
        let before = *count;
        *count = before.saturating_add(accesses);
        // A report of 2 MiB also says which of its 64 KiB were accessed (its sub-granularity), so only those move.
        self.big_pages[block as usize] |= 1 << (page / BIG_PAGE_PAGES);
        before < self.threshold && *count >= self.threshold
    }

    /// The 64 KiB of the reported regions of `block` that were accessed since it was last asked for; counting starts again
    /// in these regions.
    pub(super) fn take(&mut self, block: u32) -> PageMask {
        let (first, threshold) = (block * self.regions, self.threshold);
        let mut reported = 0;
        for region in 0..self.regions {
            let count = &mut self.counts[(first + region) as usize];
            // A region that is not reported keeps still when another of its block is.
            if (*count >= threshold && *count != SILENT) || self.regions == 1 {
                *count = 0;
                reported |= big_pages_of(region, self.regions);
            }
        }
        let touched = &mut self.big_pages[block as usize];
        let taken = *touched & reported;
        *touched &= !reported;
        let big_pages = (0..BIG_PAGES).filter(|index| taken >> index & 1 != 0);
        big_pages.fold(PageMask::EMPTY, |pages, index| {
            let start = index * BIG_PAGE_PAGES;
            pages.or(&PageMask::range(start..start + BIG_PAGE_PAGES))
        })
    }

    /// The regions of `pages` of `block` are not reported again before [`Counters::rearm`].
    pub(super) fn silence(&mut self, block: u32, pages: &PageMask) {
        for region in 0..self.regions {
            let width = BLOCK_PAGES / self.regions;
            if pages.overlaps(&PageMask::range(region * width..(region + 1) * width)) {
                self.counts[(block * self.regions + region) as usize] = SILENT;
            }
        }
    }

    /// Counting starts again in `block`.
    pub(super) fn rearm(&mut self, block: u32) {
        let first = (block * self.regions) as usize;
        self.counts[first..first + self.regions as usize].fill(0);
        self.big_pages[block as usize] = 0;
    }
}

/// Bits of the 64 KiB of a region.
fn big_pages_of(region: u32, regions: u32) -> u32 {
    match regions {
        1 => u32::MAX,
        _ => 1 << region,
    }
}

#[cfg(test)]
mod tests;
