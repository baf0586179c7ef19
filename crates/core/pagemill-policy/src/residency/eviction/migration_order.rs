use super::{Eviction, EvictionEntry};
use crate::residency::ChunkList;

/// Takes the chunk to which no page came for longest. Reads do not count (NVIDIA's driver: `block_mark_memory_used` moves
/// a chunk to the end of the list after each migration to it, `pick_root_chunk_to_evict` takes the first).
#[derive(Clone, Copy, Debug)]
pub struct MigrationOrder;

impl MigrationOrder {
    /// How machines and scenarios find this policy.
    pub const ENTRY: EvictionEntry = EvictionEntry {
        name: "migration-order",
        summary: "takes the chunk to which no page came for longest, as NVIDIA's driver does",
        build: &|| Box::new(Self),
    };
}

impl Eviction for MigrationOrder {
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32> {
        chunks.oldest_first().find(|&block| block != keep)
    }

    fn brought(&mut self, chunks: &mut ChunkList, block: u32) {
        chunks.renew(block);
    }
}
