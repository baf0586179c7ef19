use super::{Ahead, AheadEntry};
use crate::residency::BLOCK_BYTES;
use crate::surroundings::Surroundings;

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
        build: &|| Some(Box::new(Self)),
    };
}

impl Ahead for NextBlocks {
    fn blocks(&self, around: &dyn Surroundings, ahead: &mut Vec<u32>) {
        // Below 16 blocks of memory, four that come unasked would push out what the kernel is reading. Our choice.
        let holds_few = |frames: u64| frames < u64::from(4 * BLOCKS);
        if 2 * around.valid_bytes(around.page()) < BLOCK_BYTES
            || around.frames().is_some_and(holds_few)
        {
            return;
        }
        let next = around.page() + 1;
        let end = around.allocation().end.min(next.saturating_add(BLOCKS));
        ahead.extend((next..end).filter(|&block| around.valid_bytes(block) == 0));
    }
}
