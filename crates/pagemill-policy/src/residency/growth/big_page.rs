use super::{Growth, GrowthContext, GrowthEntry};
use crate::residency::{BIG_PAGE_PAGES, BLOCK_PAGES, PageMask};

/// Moves every aligned 64 KiB in which a page faulted.
#[derive(Clone, Copy, Debug)]
pub struct BigPage;

impl BigPage {
    /// How machines and scenarios find this policy.
    pub const ENTRY: GrowthEntry = GrowthEntry {
        name: "big-page",
        summary: "moves the aligned 64 KiB around each faulted page",
        build: |_| Box::new(Self),
    };
}

impl Growth for BigPage {
    fn grow(&self, context: &GrowthContext) -> PageMask {
        big_pages(&context.faulted)
    }
}

/// `pages` grown to whole aligned 64 KiB.
pub(super) fn big_pages(pages: &PageMask) -> PageMask {
    (0..BLOCK_PAGES)
        .step_by(BIG_PAGE_PAGES as usize)
        .map(|start| start..start + BIG_PAGE_PAGES)
        .filter(|big_page| pages.count_in(big_page.clone()) > 0)
        .fold(PageMask::EMPTY, |grown, big_page| {
            grown.or(&PageMask::range(big_page))
        })
}
