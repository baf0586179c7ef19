//! Which further blocks come once a fault was served: one file for each policy.

mod next_blocks;
mod none;

use std::fmt;
use std::ops::Range;

use pagemill_types::{Registry, named};

/// What a policy may look at.
pub struct AheadContext<'a> {
    /// The block whose faults were served.
    pub block: u32,
    /// The blocks of its allocation.
    pub allocation: Range<u32>,
    /// Pages of the block that are in GPU memory now, of 512.
    pub resident_pages: u32,
    /// Blocks that GPU memory can hold.
    pub chunk_limit: u32,
    /// Whether a block holds GPU memory.
    pub holds_chunk: &'a dyn Fn(u32) -> bool,
}

impl fmt::Debug for AheadContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AheadContext({} of {:?})", self.block, self.allocation)
    }
}

/// Decides which blocks come whole after a served one, without a fault of their own.
pub trait Ahead: Send + Sync + fmt::Debug {
    /// Appends blocks of the allocation that hold no GPU memory.
    fn blocks(&self, context: &AheadContext<'_>, ahead: &mut Vec<u32>);
}

/// Every policy, in the order of listings. A new policy is one file and one line here.
#[rustfmt::skip]
pub static AHEADS: Registry<AheadEntry> = Registry::new("prefetch policy", &[
    none::ENTRY,
    next_blocks::NextBlocks::ENTRY,
]);

/// A policy by name.
#[derive(Clone, Copy)]
pub struct AheadEntry {
    /// The name that machine and scenario files use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Makes the policy; `None` if it never prefetches.
    pub build: fn() -> Option<Box<dyn Ahead>>,
}

named!(AheadEntry);
