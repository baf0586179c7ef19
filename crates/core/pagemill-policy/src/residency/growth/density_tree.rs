use super::{Growth, GrowthContext, GrowthEntry};
use crate::residency::{BIG_PAGE_PAGES, BLOCK_PAGES, PageMask};

/// Grows faults to 64 KiB, and from there to the largest aligned power of two that is dense enough: more than the
/// threshold of its pages are in GPU memory or come there now (`uvm_perf_prefetch.c` of NVIDIA's driver).
#[derive(Clone, Copy, Debug)]
pub struct DensityTree {
    threshold_percent: u32,
}

impl DensityTree {
    /// How machines and scenarios find this policy.
    pub const ENTRY: GrowthEntry = GrowthEntry {
        name: "density-tree",
        summary: "moves the largest aligned part of the 2 MiB block that is denser than the threshold",
        build: &|threshold_percent| Box::new(Self { threshold_percent }),
    };
}

impl Growth for DensityTree {
    fn grow(&self, context: &GrowthContext<'_>) -> PageMask {
        let wanted = context.faulted.big_pages();
        let trees = Trees {
            leaf_pages: BIG_PAGE_PAGES,
            largest_pages: BLOCK_PAGES,
            threshold_percent: self.threshold_percent,
        };
        trees.grow(context, wanted)
    }
}

/// Aligned powers of two over leaves of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trees {
    pub(super) leaf_pages: u32,
    pub(super) largest_pages: u32,
    pub(super) threshold_percent: u32,
}

impl Trees {
    /// The largest dense tree above each of the `wanted` leaves; what it covers needs no look of its own.
    pub(super) fn grow(&self, context: &GrowthContext<'_>, wanted: PageMask) -> PageMask {
        let dense = context.resident.or(&wanted).without(&context.barred);
        // Strictly more than the threshold, in whole numbers, as the driver compares; a quotient would round at the
        // border.
        let is_dense = |count: u32, pages: u32| count * 100 > pages * self.threshold_percent;
        let count = dense.count();
        let smallest_pages = 2 * self.leaf_pages;
        // Most blocks that are read at random hold too little for the smallest of trees.
        if !is_dense(count, smallest_pages) {
            return wanted;
        }
        let mut grown = wanted;
        let mut rest = wanted;
        while let Some(page) = rest.first() {
            let mut largest = page..page + self.leaf_pages;
            let mut pages = smallest_pages;
            // A sparse size does not end the climb: a larger one may be dense by what lies beside. It ends where the
            // whole block has too few pages.
            while pages <= self.largest_pages && is_dense(count, pages) {
                let start = page / pages * pages;
                if is_dense(dense.count_in(start..start + pages), pages) {
                    largest = start..start + pages;
                }
                pages *= 2;
            }
            let largest = PageMask::range(largest);
            grown = grown.or(&largest);
            rest = rest.without(&largest);
        }
        grown
    }
}
