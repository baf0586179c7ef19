use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use pagemill_linux::userfault::Paged;

use crate::file::MappedFile;
use crate::{BLOCK_BYTES, UNIT_BYTES};

/// One piece of paged memory, and the numbers of its blocks.
#[derive(Debug)]
pub struct Region {
    pub memory: Paged,
    pub first_block: u64,
    /// Where the bytes are that no store keeps. Without a file, they are zeros.
    pub file: Option<MappedFile>,
}

impl Region {
    pub fn blocks(&self) -> Range<u64> {
        let bytes = self.memory.range().end - self.memory.range().start;
        self.first_block..self.first_block + bytes.div_ceil(BLOCK_BYTES)
    }

    /// The file that gets the changes.
    pub fn written_file(&self) -> Option<&MappedFile> {
        self.file.as_ref().filter(|file| file.is_written())
    }

    /// Whether a child of `fork` has it.
    pub fn is_inherited(&self) -> bool {
        self.file.is_none() && !self.memory.is_kept_back()
    }

    /// Number of the unit at `address`, counted through all blocks.
    pub fn unit_at(&self, address: u64) -> u64 {
        let within = address - self.memory.range().start;
        (self.first_block * BLOCK_BYTES + within) / UNIT_BYTES as u64
    }

    /// The addresses of the block with `address`.
    pub fn block_around(&self, address: u64) -> Range<u64> {
        let Range { start, end } = self.memory.range();
        let first = start + (address - start) / BLOCK_BYTES * BLOCK_BYTES;
        first..end.min(first + BLOCK_BYTES)
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
    /// Parts that are still a region's, by start: end and region. Another region may lie where a program has unmapped a part.
    parts: BTreeMap<u64, (u64, Arc<Region>)>,
    /// Blocks that no region has, below `next_block`: first and count.
    free: BTreeMap<u64, u64>,
    next_block: u64,
}

/// Addresses of a region.
pub type Part = (Range<u64>, Arc<Region>);

impl Regions {
    /// Enters memory under block numbers of its own.
    pub fn insert(&self, memory: Paged, file: Option<MappedFile>) -> Arc<Region> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let range = memory.range();
        let blocks = (range.end - range.start).div_ceil(BLOCK_BYTES);
        let first_block = inner.take_blocks(blocks);
        let region = Arc::new(Region {
            memory,
            first_block,
            file,
        });
        inner
            .parts
            .insert(range.start, (range.end, Arc::clone(&region)));
        region
    }

    /// Forgets `range`: its addresses belong to no region.
    pub fn remove(&self, range: &Range<u64>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        for (part, region) in inner.touched(range) {
            inner.parts.remove(&part.start);
            if part.start < range.start {
                let rest = (range.start, Arc::clone(&region));
                inner.parts.insert(part.start, rest);
            }
            if range.end < part.end {
                inner.parts.insert(range.end, (part.end, region));
            }
        }
    }

    /// The numbers of a removed region may be used again.
    pub fn recycle(&self, blocks: Range<u64>) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.free.insert(blocks.start, blocks.end - blocks.start);
    }

    /// The region that `address` lies in.
    pub fn find(&self, address: u64) -> Option<Arc<Region>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let (_, (end, region)) = inner.parts.range(..=address).next_back()?;
        (address < *end).then(|| Arc::clone(region))
    }

    /// What of `range` lies in regions.
    pub fn touched(&self, range: &Range<u64>) -> Vec<Part> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let parts = inner.touched(range).into_iter();
        parts
            .map(|(part, region)| (part.start.max(range.start)..part.end.min(range.end), region))
            .collect()
    }

    /// All regions that have an address left.
    pub fn all(&self) -> Vec<Arc<Region>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Arc<Region>> = Vec::new();
        for (_, region) in inner.parts.values() {
            if !all.iter().any(|known| Arc::ptr_eq(known, region)) {
                all.push(Arc::clone(region));
            }
        }
        all
    }
}

impl Inner {
    /// Whole parts with an address in `range`.
    fn touched(&self, range: &Range<u64>) -> Vec<Part> {
        let below_end = self.parts.range(..range.end).rev();
        below_end
            .take_while(|(_, (end, _))| *end > range.start)
            .map(|(&start, (end, region))| (start..*end, Arc::clone(region)))
            .collect()
    }

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
