use super::{Eviction, EvictionEntry};
use crate::residency::ChunkList;

/// Takes the chunk that was allocated longest ago, whether pages came to it since or not.
#[derive(Clone, Copy, Debug)]
pub struct AllocationOrder;

impl AllocationOrder {
    /// How machines and scenarios find this policy.
    pub const ENTRY: EvictionEntry = EvictionEntry {
        name: "allocation-order",
        summary: "takes the chunk that was allocated longest ago",
        build: &|| Box::new(Self),
    };
}

impl Eviction for AllocationOrder {
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32> {
        chunks.oldest_first().find(|&block| block != keep)
    }
}
