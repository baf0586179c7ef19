//! What the CPU does to managed memory, and what leaves outside of kernels.

use std::ops::Range;

use super::{Driver, Effects, blocks_of, chunk_limit};
use crate::residency::{PAGE_BYTES, PageMask};

impl Driver {
    /// The CPU reads or writes the bytes `bytes`, all at once; `each` sees what that changes, block by block. Pages that
    /// only GPU memory has come back: they are among the evictions. A page that is read mostly stays on the GPU as well
    /// while the CPU only reads it. Where both sides walk the same page tables, no page moves.
    pub fn host_touch(
        &mut self,
        bytes: Range<u64>,
        writes: bool,
        effects: &mut Effects,
        mut each: impl FnMut(u32, &Effects),
    ) {
        for (block, pages) in blocks_of(bytes, self.blocks()) {
            effects.clear();
            let pages = pages.and(&self.extent(block));
            self.host_touch_block(block, &pages, writes, effects);
            each(block, effects);
        }
    }

    fn host_touch_block(
        &mut self,
        block: u32,
        pages: &PageMask,
        writes: bool,
        effects: &mut Effects,
    ) {
        if self.walks_host_tables() {
            return self.use_in_place(block, pages, effects);
        }
        let first = pages.and(&self.untouched.get(block));
        self.untouched.remove(block, &first);
        let on_gpu = pages.and(self.places.resident(block));
        let duplicates = on_gpu.and(&self.duplicates.get(block));
        // A CPU that writes makes the GPU's copy void, so all pages leave. One that reads takes what only the GPU has, and leaves a
        // copy there if the program said that the page is read mostly.
        let (leaving, kept) = match writes {
            true => (on_gpu, PageMask::EMPTY),
            false => {
                let only_on_gpu = on_gpu.without(&duplicates);
                let kept = only_on_gpu.and(&self.duplicable(block));
                (only_on_gpu.without(&kept), kept)
            }
        };
        if !leaving.is_empty() {
            let evicted = self.send_back(block, &leaving);
            effects.evictions.push(evicted);
        }
        if !kept.is_empty() {
            self.duplicates.add(block, &kept);
            self.traffic.pages_out += u64::from(kept.count());
            effects.duplicated = kept;
        }
        self.places.map_host(block, pages);
        let mapped = pages
            .and(&self.always_mapped(block))
            .without(self.places.resident(block));
        self.places.map(block, &mapped);
    }

    /// The CPU has touched those of the bytes that were untouched.
    pub fn first_touched_by_host(&mut self, bytes: Range<u64>) {
        for (block, pages) in blocks_of(bytes, self.blocks()) {
            self.first_touch_by_host(block, &pages);
        }
    }

    /// The bytes are freed: nothing moves.
    pub fn free(&mut self, bytes: Range<u64>) {
        self.free_each(bytes, |_, _| {});
    }

    /// As [`Driver::free`]; `each` sees the pages of each block that GPU memory held.
    pub fn free_each(&mut self, bytes: Range<u64>, mut each: impl FnMut(u32, &PageMask)) {
        for (block, pages) in blocks_of(bytes, self.blocks()) {
            let pages = pages.and(&self.extent(block));
            each(block, &pages.and(self.places.resident(block)));
            self.discard(block, &pages);
            if let Some(advice) = self.advice.get_mut(block as usize) {
                // All of the block's: allocations begin at multiples of 2 MiB, so no other one has advised it.
                *advice = super::Advice::default();
            }
        }
    }

    /// GPU memory for managed pages is `gpu_bytes` from now on, at least a block. Answers with the next block that has to
    /// leave for it, as if it was evicted; to be asked until nothing has.
    pub fn shrink(&mut self, gpu_bytes: u64, effects: &mut Effects) -> bool {
        effects.clear();
        self.chunk_limit = chunk_limit(gpu_bytes);
        self.page_limit = gpu_bytes / PAGE_BYTES;
        if !self.is_too_full() {
            return false;
        }
        // No block asks for the room, so none is kept.
        let Some(victim) = self.eviction.victim(&self.chunks, u32::MAX) else {
            return false;
        };
        let leaving = *self.places.resident(victim);
        let evicted = self.send_back(victim, &leaving);
        effects.evictions.push(evicted);
        true
    }

    /// The pages of `block` that only GPU memory has.
    pub fn only_on_gpu(&self, block: u32) -> PageMask {
        self.places
            .resident(block)
            .without(&self.duplicates.get(block))
    }

    /// The untouched pages of `block`.
    pub fn untouched(&self, block: u32) -> PageMask {
        self.untouched.get(block)
    }
}
