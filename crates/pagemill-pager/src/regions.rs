use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use pagemill_linux::userfault::Paged;

use crate::{BLOCK_BYTES, UNIT_BYTES};

/// One piece of paged memory, and the numbers of its blocks.
#[derive(Debug)]
pub struct Region {
    pub memory: Paged,
    pub first_block: u64,
}

impl Region {
    pub fn blocks(&self) -> Range<u64> {
        let bytes = self.memory.range().end - self.memory.range().start;
        self.first_block..self.first_block + bytes.div_ceil(BLOCK_BYTES)
    }

    /// Number of the unit at `address`, counted through all blocks.
    pub fn unit_at(&self, address: u64) -> u64 {
        let within = address - self.memory.range().start;
        (self.first_block * BLOCK_BYTES + within) / UNIT_BYTES as u64
    }

    /// Where block `block` starts.
    pub fn address_of(&self, block: u64) -> u64 {
        self.memory.range().start + (block - self.first_block) * BLOCK_BYTES
    }
}

/// The paged memory of a process by address.
#[derive(Debug, Default)]
pub struct Regions {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    by_start: BTreeMap<u64, Arc<Region>>,
    /// Blocks that no region has, below `next_block`: first and count.
    free: BTreeMap<u64, u64>,
    next_block: u64,
}

impl Regions {
    /// Enters memory under block numbers of its own.
    pub fn insert(&self, memory: Paged) -> Arc<Region> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let range = memory.range();
        let blocks = (range.end - range.start).div_ceil(BLOCK_BYTES);
        let first_block = inner.take_blocks(blocks);
        let region = Arc::new(Region {
            memory,
            first_block,
        });
        inner.by_start.insert(range.start, Arc::clone(&region));
        region
    }

    /// Forgets the region: its addresses are nobody's.
    pub fn remove(&self, region: &Region) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.by_start.remove(&region.memory.range().start);
    }

    /// The numbers of a removed region may be used again.
    pub fn recycle(&self, blocks: Range<u64>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.free.insert(blocks.start, blocks.end - blocks.start);
    }

    /// The region that `address` lies in.
    pub fn find(&self, address: u64) -> Option<Arc<Region>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let (_, region) = inner.by_start.range(..=address).next_back()?;
        (region.memory.range().contains(&address)).then(|| Arc::clone(region))
    }

    pub fn all(&self) -> Vec<Arc<Region>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.by_start.values().map(Arc::clone).collect()
    }
}

impl Inner {
    fn take_blocks(&mut self, blocks: u64) -> u64 {
        let fitting = self.free.iter().find(|(_, count)| **count >= blocks);
        let Some((&first, &count)) = fitting else {
            let first = self.next_block;
            self.next_block += blocks;
            return first;
        };
        self.free.remove(&first);
        if count > blocks {
            self.free.insert(first + blocks, count - blocks);
        }
        first
    }
}
