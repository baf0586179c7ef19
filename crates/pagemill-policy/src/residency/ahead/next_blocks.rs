use super::{Ahead, AheadContext, AheadEntry};
use crate::residency::BLOCK_PAGES;

/// Blocks that come ahead. The publication speaks of several contiguous blocks; how many is our choice.
const BLOCKS: u32 = 4;

/// Prefetch beyond the block (Rhee et al., Journal of Systems Architecture 162, 2025, article 103389): locality goes on where a block of 2 MiB ends,
/// which the driver's tree cannot see. Once half of a block is there, the next blocks of its allocation come too. GPU memory that
/// holds only a few blocks is left to faults.
#[derive(Clone, Copy, Debug)]
pub struct NextBlocks;

impl NextBlocks {
    /// How machines and scenarios find this policy.
    pub const ENTRY: AheadEntry = AheadEntry {
        name: "next-blocks",
        summary: "the next 4 blocks of the allocation come once half of a block is there",
        build: || Some(Box::new(Self)),
    };
}

impl Ahead for NextBlocks {
    fn blocks(&self, context: &AheadContext<'_>, ahead: &mut Vec<u32>) {
        if 2 * context.resident_pages < BLOCK_PAGES || context.chunk_limit < 4 * BLOCKS {
            return;
        }
        let next = context.block + 1;
        let end = context.allocation.end.min(next.saturating_add(BLOCKS));
        ahead.extend((next..end).filter(|&block| !(context.holds_chunk)(block)));
    }
}
