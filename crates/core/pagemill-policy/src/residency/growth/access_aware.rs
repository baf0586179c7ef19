use std::collections::BTreeSet;

use super::density_tree::Trees;
use super::{Growth, GrowthContext, GrowthEntry};
use crate::residency::{BIG_PAGE_PAGES, BLOCK_PAGES, PageMask};
use crate::surroundings::Surroundings;

/// Faults of an allocation, of the newest that are known, from which on its order says something. Our choice.
const FAULTS_MIN: usize = 8;

/// Share of the variance that a line through the faults has to explain. Our choice; the publication fits a line too.
const LINEAR: f64 = 0.9;

/// Trees by the order in which an allocation is accessed, after Forest (Lin et al., ISCA 2025): allocations that are read
/// in order get the largest trees with large leaves, those of which little is used the smallest. The publication observes
/// accesses by a unit of the GPU and has trees of 512 KiB to 4 MiB; here the driver observes its own faults, and a tree ends with its
/// block of 2 MiB. A batch is served in the order of its blocks, which looks like a line: `validation/DEVIATIONS.md` says what that does.
#[derive(Clone, Copy, Debug)]
pub struct AccessAware {
    threshold_percent: u32,
}

impl AccessAware {
    /// How machines and scenarios find this policy.
    pub const ENTRY: GrowthEntry = GrowthEntry {
        name: "access-aware",
        summary: "density trees whose size and leaves follow the order of faults in the allocation",
        build: &|threshold_percent| Box::new(Self { threshold_percent }),
    };

    fn trees(&self, order: Order) -> Trees {
        // The published sizes, 4 MiB down to 512 KiB, ranked as published and cut to what a block of 2 MiB can hold:
        // where the largest tree is the block already, a linear order shows in its leaves.
        let (leaf_pages, largest_pages) = match order {
            Order::Linear => (4 * BIG_PAGE_PAGES, BLOCK_PAGES),
            Order::Unknown | Order::Intense => (BIG_PAGE_PAGES, BLOCK_PAGES),
            Order::Covering => (BIG_PAGE_PAGES, BLOCK_PAGES / 2),
            Order::Sparse => (BIG_PAGE_PAGES, BLOCK_PAGES / 4),
        };
        Trees {
            leaf_pages,
            largest_pages,
            threshold_percent: self.threshold_percent,
        }
    }
}

/// The order in which the blocks of an allocation fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Too few faults to tell.
    Unknown,
    /// On a line over time.
    Linear,
    /// In no order, over half of the allocation or more, each block again and again.
    Intense,
    /// The same, most blocks once.
    Covering,
    /// In no order, over less than half.
    Sparse,
}

impl Order {
    fn of(around: &dyn Surroundings) -> Self {
        let allocation = around.allocation();
        let recent = around.faults().recent();
        let blocks: Vec<u32> = recent.filter(|block| allocation.contains(block)).collect();
        if blocks.len() < FAULTS_MIN {
            return Self::Unknown;
        }
        let distinct = blocks.iter().collect::<BTreeSet<_>>().len();
        // One block has no order.
        if distinct > 1 && explained_by_a_line(&blocks) >= LINEAR {
            return Self::Linear;
        }
        // The history ends at 64 faults: of a large allocation it cannot show half of the blocks, but at most one a
        // fault.
        let seen_at_most = allocation.len().min(blocks.len());
        match (2 * distinct >= seen_at_most, blocks.len() >= 2 * distinct) {
            (true, true) => Self::Intense,
            (true, false) => Self::Covering,
            (false, _) => Self::Sparse,
        }
    }
}

/// The share of the variance of `blocks` that a line over their places explains.
fn explained_by_a_line(blocks: &[u32]) -> f64 {
    // The squared correlation of least squares. The newest fault stands first, so an ascending order is a falling
    // line; the square does not mind. `of_blocks` is 0 for a single block alone, which the caller leaves out.
    let count = blocks.len() as f64;
    let mean_place = (count - 1.0) / 2.0;
    let mean_block = blocks.iter().map(|&block| f64::from(block)).sum::<f64>() / count;
    let (mut of_places, mut of_blocks, mut of_both) = (0.0, 0.0, 0.0);
    for (place, &block) in blocks.iter().enumerate() {
        let (place, block) = (place as f64 - mean_place, f64::from(block) - mean_block);
        of_places += place * place;
        of_blocks += block * block;
        of_both += place * block;
    }
    of_both * of_both / (of_places * of_blocks)
}

impl Growth for AccessAware {
    fn grow(&self, context: &GrowthContext<'_>) -> PageMask {
        let trees = self.trees(Order::of(context.around));
        let leaves = (0..BLOCK_PAGES).step_by(trees.leaf_pages as usize);
        let leaves = leaves.map(|page| page..page + trees.leaf_pages);
        let faulted = leaves.filter(|leaf| context.faulted.count_in(leaf.clone()) > 0);
        trees.grow(context, faulted.flatten().collect())
    }

    fn tracks_faults(&self) -> bool {
        true
    }
}
