use super::{AccessCounterSpec, BIG_PAGE_PAGES, PageMask};

/// Access counters: remote accesses to each 2 MiB region, and which 64 KiB of it they went to.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    spec: AccessCounterSpec,
    counts: Vec<u32>,
    big_pages: Vec<u32>,
}

impl Counters {
    pub(super) fn new(spec: AccessCounterSpec) -> Self {
        Self {
            spec,
            counts: Vec::new(),
            big_pages: Vec::new(),
        }
    }

    /// Room for `blocks` blocks.
    pub(super) fn grow(&mut self, blocks: u32) {
        let blocks = self.counts.len().max(blocks as usize);
        self.counts.resize(blocks, 0);
        self.big_pages.resize(blocks, 0);
    }

    /// Counts `accesses` to `page` of `block`. True when the threshold is reached now: the region is to be reported.
    #[inline]
    pub(super) fn count(&mut self, block: u32, page: u32, accesses: u32) -> bool {
        let count = &mut self.counts[block as usize];
        let before = *count;
        *count = before.saturating_add(accesses);
        self.big_pages[block as usize] |= 1 << (page / BIG_PAGE_PAGES);
        before < self.spec.threshold && *count >= self.spec.threshold
    }

    /// The 64 KiB of `block` that were accessed since it was last asked for; counting starts again.
    pub(super) fn take(&mut self, block: u32) -> PageMask {
        self.counts[block as usize] = 0;
        let touched = std::mem::take(&mut self.big_pages[block as usize]);
        let big_pages = (0..32).filter(|index| touched >> index & 1 != 0);
        big_pages.fold(PageMask::EMPTY, |pages, index| {
            let start = index * BIG_PAGE_PAGES;
            pages.or(&PageMask::range(start..start + BIG_PAGE_PAGES))
        })
    }
}
