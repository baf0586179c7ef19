use super::{Eviction, EvictionEntry};
use crate::residency::ChunkList;

/// Takes the chunk that was used longest ago. Hardware that sees every access can do it; a driver that sees faults alone
/// cannot.
#[derive(Clone, Copy, Debug)]
pub struct LeastRecentlyUsed;

impl LeastRecentlyUsed {
    /// How machines and scenarios find this policy.
    pub const ENTRY: EvictionEntry = EvictionEntry {
        name: "least-recently-used",
        summary: "takes the chunk that was used longest ago, which only hardware that sees every access can tell",
        build: &|| Box::new(Self),
    };
}

impl Eviction for LeastRecentlyUsed {
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32> {
        chunks.oldest_first().find(|&block| block != keep)
    }

    fn brought(&mut self, chunks: &mut ChunkList, block: u32) {
        chunks.renew(block);
    }

    fn tracks_use(&self) -> bool {
        true
    }

    fn used(&mut self, chunks: &mut ChunkList, block: u32) {
        chunks.renew(block);
    }
}
