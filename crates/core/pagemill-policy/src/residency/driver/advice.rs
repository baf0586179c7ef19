//! What a program says about its memory, and what the driver makes of it at once.

use super::{Driver, Effects};
use crate::residency::{Action, PageMask, Side};

/// What the program said about the pages of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Advice {
    pub(super) prefers_cpu: PageMask,
    pub(super) prefers_gpu: PageMask,
    pub(super) accessed_by_gpu: PageMask,
    pub(super) read_mostly: PageMask,
    pub(super) prefetched_to_cpu: PageMask,
    pub(super) prefetched_to_gpu: PageMask,
}

static NO_ADVICE: Advice = Advice {
    prefers_cpu: PageMask::EMPTY,
    prefers_gpu: PageMask::EMPTY,
    accessed_by_gpu: PageMask::EMPTY,
    read_mostly: PageMask::EMPTY,
    prefetched_to_cpu: PageMask::EMPTY,
    prefetched_to_gpu: PageMask::EMPTY,
};

/// Advice about one page, in the terms of `cudaMemRangeGetAttribute`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageAdvice {
    /// `cudaMemRangeAttributeReadMostly`.
    pub read_mostly: bool,
    /// `cudaMemRangeAttributePreferredLocation`.
    pub preferred: Option<Side>,
    /// `cudaMemRangeAttributeAccessedBy`, of the GPU.
    pub accessed_by_gpu: bool,
    /// `cudaMemRangeAttributeLastPrefetchLocation`.
    pub prefetched: Option<Side>,
}

impl Driver {
    pub(super) fn advice_of(&self, block: u32) -> &Advice {
        self.advice.get(block as usize).unwrap_or(&NO_ADVICE)
    }

    /// The pages of `block` that the GPU has mapped wherever they are.
    pub(super) fn always_mapped(&self, block: u32) -> PageMask {
        match self.walks_host_tables() {
            true => PageMask::FULL,
            false => self.advice_of(block).accessed_by_gpu,
        }
    }

    /// The pages of `block` that may be in both memories.
    pub(super) fn duplicable(&self, block: u32) -> PageMask {
        match self.walks_host_tables() {
            true => PageMask::EMPTY,
            false => self.advice_of(block).read_mostly,
        }
    }

    /// What was said about page `page` of `block`.
    pub fn page_advice(&self, block: u32, page: u32) -> PageAdvice {
        let advice = self.advice_of(block);
        let side = |cpu: &PageMask, gpu: &PageMask| match (cpu.contains(page), gpu.contains(page)) {
            (true, _) => Some(Side::Cpu),
            (_, true) => Some(Side::Gpu),
            _ => None,
        };
        PageAdvice {
            read_mostly: advice.read_mostly.contains(page),
            preferred: side(&advice.prefers_cpu, &advice.prefers_gpu),
            accessed_by_gpu: advice.accessed_by_gpu.contains(page),
            prefetched: side(&advice.prefetched_to_cpu, &advice.prefetched_to_gpu),
        }
    }

    pub(super) fn call_block(
        &mut self,
        block: u32,
        pages: &PageMask,
        action: Action,
        effects: &mut Effects,
    ) {
        let blocks = self.blocks() as usize;
        if self.advice.len() < blocks {
            self.advice.resize(blocks, Advice::default());
        }
        let is_heeded = self.heeds(action);
        let advice = &mut self.advice[block as usize];
        // A page has one preferred location: a new one, or none, replaces the other.
        let prefer = |advice: &mut Advice, cpu: &PageMask, gpu: &PageMask| {
            advice.prefers_cpu = advice.prefers_cpu.without(pages).or(cpu);
            advice.prefers_gpu = advice.prefers_gpu.without(pages).or(gpu);
        };
        match action {
            Action::PreferredLocation(Side::Cpu) => prefer(advice, pages, &PageMask::EMPTY),
            Action::PreferredLocation(Side::Gpu) => prefer(advice, &PageMask::EMPTY, pages),
            Action::NoPreferredLocation => prefer(advice, &PageMask::EMPTY, &PageMask::EMPTY),
            Action::ReadMostly => advice.read_mostly = advice.read_mostly.or(pages),
            Action::NotReadMostly => {
                advice.read_mostly = advice.read_mostly.without(pages);
                self.give_up_copies(block, pages, effects);
            }
            Action::AccessedByGpu => {
                advice.accessed_by_gpu = advice.accessed_by_gpu.or(pages);
                // An untouched page is mapped once it has a place.
                effects.mapped = pages
                    .without(self.places.resident(block))
                    .without(&self.untouched.get(block));
                self.places.map(block, &effects.mapped);
            }
            Action::NotAccessedByGpu => {
                advice.accessed_by_gpu = advice.accessed_by_gpu.without(pages);
                let unmapped = self.without_pinned(block, pages);
                let unmapped = unmapped.without(&self.always_mapped(block));
                self.places.unmap(block, &unmapped);
            }
            Action::Prefetch(side) => self.prefetch(block, pages, side, effects),
            Action::Discard if is_heeded => {
                effects.discarded = pages.and(self.places.resident(block));
                self.discard(block, pages);
            }
            Action::Discard => {}
        }
    }

    fn prefetch(&mut self, block: u32, pages: &PageMask, side: Side, effects: &mut Effects) {
        let advice = &mut self.advice[block as usize];
        advice.prefetched_to_cpu = advice.prefetched_to_cpu.without(pages);
        advice.prefetched_to_gpu = advice.prefetched_to_gpu.without(pages);
        match side {
            Side::Gpu => {
                advice.prefetched_to_gpu = advice.prefetched_to_gpu.or(pages);
                // A prefetch is not grown: the program named its pages. It evicts as a fault does.
                let missing = pages.without(self.places.resident(block));
                let fetched = self.fitting(&missing, &missing);
                if !fetched.is_empty() {
                    self.bring(block, &fetched, &PageMask::EMPTY, effects);
                }
            }
            Side::Cpu => {
                advice.prefetched_to_cpu = advice.prefetched_to_cpu.or(pages);
                self.untouched.remove(block, pages);
                let leaving = pages.and(self.places.resident(block));
                let mapped = pages.without(&leaving).and(&self.always_mapped(block));
                self.places.map(block, &mapped);
                if !leaving.is_empty() {
                    let evicted = self.send_back(block, &leaving);
                    effects.evictions.push(evicted);
                }
            }
        }
    }

    /// Pages are in one memory again: where the program prefers them, or else in CPU memory.
    fn give_up_copies(&mut self, block: u32, pages: &PageMask, effects: &mut Effects) {
        let copies = pages.and(&self.duplicates.get(block));
        // One copy of each page is given up. That of the CPU where the program prefers the GPU, else that of the GPU: the CPU's needs
        // no transfer to be valid.
        let stay = copies.and(&self.advice_of(block).prefers_gpu);
        self.collapse(block, &stay, effects);
        let leaving = copies.without(&stay);
        if !leaving.is_empty() {
            let evicted = self.send_back(block, &leaving);
            effects.evictions.push(evicted);
        }
    }

    /// The contents of `pages` are no longer needed: wherever they are, nothing of them moves again.
    pub(super) fn discard(&mut self, block: u32, pages: &PageMask) {
        self.duplicates.remove(block, pages);
        let leaving = pages.and(self.places.resident(block));
        if !leaving.is_empty() && self.places.send_back(block, &leaving) {
            self.give_chunk_back(block);
        }
        self.places.unmap(block, pages);
        // As if it was never touched: the next touch gives it memory on the side that touches, and copies nothing.
        self.places.unmap_host(block, pages);
        self.untouched.add(block, pages);
    }
}
