use super::{Eviction, EvictionEntry};
use crate::residency::ChunkList;

/// Takes the chunk that was allocated last: what came first stays, which pays when a program reads its data over
/// and over in the same order.
#[derive(Clone, Copy, Debug)]
pub struct NewestFirst;

impl NewestFirst {
    /// How machines and scenarios find this policy.
    pub const ENTRY: EvictionEntry = EvictionEntry {
        name: "newest-first",
        summary: "takes the chunk that was allocated last, so that repeated passes find the first part in place",
        build: &|| Box::new(Self),
    };
}

impl Eviction for NewestFirst {
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32> {
        chunks.newest_first().find(|&block| block != keep)
    }
}
