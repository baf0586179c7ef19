use super::{Growth, GrowthContext, GrowthEntry};
use crate::residency::page_mask::BIG_PAGES;
use crate::residency::{BLOCK_PAGES, PageMask};

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
    /// Whatever a dense tree holds lies in every dense tree above it, so the largest are the union of all.
    fn grow(&self, context: &GrowthContext) -> PageMask {
        let wanted = context.faulted.big_pages();
        let dense = context.resident.or(&wanted).without(&context.barred);
        let mut grown = wanted;
        let mut wanted = wanted.big_page_counts();
        let mut dense = dense.big_page_counts();
        let mut trees = BIG_PAGES;
        while trees > 1 {
            trees /= 2;
            let pages = BLOCK_PAGES / trees as u32;
            for tree in 0..trees {
                wanted[tree] = wanted[2 * tree] + wanted[2 * tree + 1];
                dense[tree] = dense[2 * tree] + dense[2 * tree + 1];
                let is_dense = u32::from(dense[tree]) * 100 > pages * self.threshold_percent;
                if is_dense && wanted[tree] > 0 {
                    let start = tree as u32 * pages;
                    grown = grown.or(&PageMask::range(start..start + pages));
                }
            }
        }
        grown
    }
}
