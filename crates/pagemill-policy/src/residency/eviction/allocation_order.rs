use super::{Eviction, EvictionEntry};
use crate::residency::ChunkList;

/// Takes the chunk that was allocated longest ago, whether it is in use or not (`pick_root_chunk_to_evict` of
/// NVIDIA's driver: accesses do not move a chunk in the list).
#[derive(Clone, Copy, Debug)]
pub struct AllocationOrder;

impl AllocationOrder {
    /// How machines and scenarios find this policy.
    pub const ENTRY: EvictionEntry = EvictionEntry {
        name: "allocation-order",
        summary: "takes the chunk that was allocated longest ago, as NVIDIA's driver does",
        build: || Box::new(Self),
    };
}

impl Eviction for AllocationOrder {
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32> {
        chunks.oldest_first().find(|&block| block != keep)
    }
}
