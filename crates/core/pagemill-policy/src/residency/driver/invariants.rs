//! Places, chunks and copies agree.

use pagemill_types::{Invariants, first_broken};

use super::{Driver, PageMask};

impl Driver {
    fn every_block(&self, holds: impl Fn(u32, &PageMask) -> bool) -> bool {
        (0..self.blocks()).all(|block| holds(block, self.places.resident(block)))
    }
}

impl Invariants for Driver {
    fn broken_invariant(&self) -> Option<String> {
        let is_within = |pages: &PageMask, all: &PageMask| pages.without(all).is_empty();
        first_broken([
            (
                self.every_block(|block, resident| {
                    self.chunks.contains(block) != resident.is_empty()
                }),
                "a block has pages in GPU memory and no chunk, or a chunk without a page",
            ),
            (
                self.every_block(|block, resident| is_within(resident, &self.extent(block))),
                "a page in GPU memory is beyond the end of its allocation",
            ),
            (
                self.every_block(|block, resident| {
                    resident.and(&self.untouched.get(block)).is_empty()
                }),
                "an untouched page is in GPU memory",
            ),
            (
                self.every_block(|block, resident| {
                    is_within(&self.duplicates.get(block), resident)
                }),
                "a page that both memories have is not in GPU memory",
            ),
        ])
        .or_else(|| self.places.broken_invariant())
        .or_else(|| self.chunks.broken_invariant())
    }
}

#[cfg(test)]
mod tests;
