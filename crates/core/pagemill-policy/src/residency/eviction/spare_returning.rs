use std::collections::BTreeMap;

use super::{Eviction, EvictionEntry};
use crate::residency::ChunkList;

/// How many of the oldest chunks are compared.
const CANDIDATES: usize = 16;

/// Thrashing-aware: of the oldest chunks it takes the one that came back least often after it had left. The idea is that of refault
/// counting (`mm/workingset.c` of Linux): what returns belongs to the working set, what does not was read once.
#[derive(Clone, Debug, Default)]
pub struct SpareReturning {
    /// How often each block came that had come before.
    returns: BTreeMap<u32, u32>,
}

impl SpareReturning {
    /// How machines and scenarios find this policy.
    pub const ENTRY: EvictionEntry = EvictionEntry {
        name: "spare-returning",
        summary: "takes, of the 16 oldest chunks, the one that came back least often",
        build: &|| Box::<Self>::default(),
    };
}

impl Eviction for SpareReturning {
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32> {
        let others = chunks.oldest_first().filter(|&block| block != keep);
        let returns = |block: &u32| self.returns.get(block).copied().unwrap_or(0);
        // `min_by_key` takes the first of equals, so chunks that never returned leave in the order of age.
        others.take(CANDIDATES).min_by_key(returns)
    }

    fn came(&mut self, block: u32) {
        let times = self.returns.entry(block).and_modify(|times| *times += 1);
        times.or_insert(0);
    }

    fn brought(&mut self, chunks: &mut ChunkList, block: u32) {
        chunks.renew(block);
    }
}
