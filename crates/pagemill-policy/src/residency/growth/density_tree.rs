use std::ops::Range;

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
        build: |threshold_percent| Box::new(Self { threshold_percent }),
    };
}

impl Growth for DensityTree {
    fn grow(&self, context: &GrowthContext) -> PageMask {
        let wanted = context.faulted.big_pages();
        let dense = context.resident.or(&wanted).without(&context.barred);
        self.dense_parts(0..BLOCK_PAGES, &wanted, &dense)
    }
}

impl DensityTree {
    /// From the root down: a tree that is dense enough moves whole, only sparse ones are looked into.
    fn dense_parts(&self, tree: Range<u32>, wanted: &PageMask, dense: &PageMask) -> PageMask {
        if wanted.count_in(tree.clone()) == 0 {
            return PageMask::EMPTY;
        }
        let pages = tree.end - tree.start;
        if pages <= BIG_PAGE_PAGES
            || dense.count_in(tree.clone()) * 100 > pages * self.threshold_percent
        {
            return PageMask::range(tree);
        }
        let middle = tree.start + pages / 2;
        let left = self.dense_parts(tree.start..middle, wanted, dense);
        left.or(&self.dense_parts(middle..tree.end, wanted, dense))
    }
}
