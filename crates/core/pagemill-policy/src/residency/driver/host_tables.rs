//! What is different where the GPU walks the host's page tables (address translation services).
//!
//! Every page that has memory is mapped for both sides, so nothing faults but the first touch of a page. That allocates
//! whole pages of the host on the side that touched, in CPU memory if GPU memory is full: the driver asks the kernel for
//! pages of the GPU's node and of no other, and leaves a page where it is if there are none. So nothing is ever evicted
//! for another page, and no access waits for one that moves. Pages move because access counters report them, because the
//! program prefetches them, or because GPU memory shrinks.

use super::{Driver, Effects};
use crate::residency::{Action, PageMask, PageTables};

impl Driver {
    /// Whether the GPU walks the host's page tables.
    pub fn walks_host_tables(&self) -> bool {
        self.policy.page_tables == PageTables::Host
    }

    /// Whether a call of the program changes anything, now or later. Where the GPU walks the host's page tables, pages are
    /// mapped for both sides anyhow, and never in both memories.
    pub fn heeds(&self, action: Action) -> bool {
        match action {
            Action::PreferredLocation(_) | Action::NoPreferredLocation | Action::Prefetch(_) => {
                true
            }
            Action::ReadMostly
            | Action::NotReadMostly
            | Action::AccessedByGpu
            | Action::NotAccessedByGpu
            | Action::Discard => !self.walks_host_tables(),
        }
    }

    /// Whether a block has to leave before another can come.
    pub(super) fn is_full(&self) -> bool {
        // Pages of the host are counted one by one, before they come.
        !self.walks_host_tables() && self.chunks.len() >= self.chunk_limit
    }

    /// Whether GPU memory holds more than it may.
    pub(super) fn is_too_full(&self) -> bool {
        match self.policy.page_tables {
            PageTables::Gpu => self.chunks.len() > self.chunk_limit,
            PageTables::Host => self.places.resident_pages() > self.page_limit,
        }
    }

    /// Those of the pages `wanted` that there is room for without moving others out: all of them if possible, and else
    /// some of `first`. Where blocks are evicted, there is room for all.
    pub(super) fn fitting(&self, wanted: &PageMask, first: &PageMask) -> PageMask {
        if !self.walks_host_tables() {
            return *wanted;
        }
        let free = self.page_limit.saturating_sub(self.places.resident_pages());
        if u64::from(wanted.count()) <= free {
            return *wanted;
        }
        let host_page = u64::from(self.policy.host_page.pages());
        // Pages that faulted come before pages that would come along, and a page of the host comes whole or not at all.
        let whole = (free / host_page * host_page) as usize;
        wanted.and(first).pages().take(whole).collect()
    }

    /// The whole region of `block` that the program prefers on the GPU, if it prefers some of `moving` there: the driver
    /// takes it at once.
    pub(super) fn preferred_region(&self, block: u32, moving: &PageMask) -> Option<PageMask> {
        let preferred = self.advice_of(block).prefers_gpu;
        if !self.walks_host_tables() || !preferred.overlaps(moving) {
            return None;
        }
        let grown = preferred.or(moving);
        Some(grown.without(self.places.resident(block)))
    }

    /// The pages `pages` of `block`, which the GPU touched first, get CPU memory.
    pub(super) fn stay_with_host(&mut self, block: u32, pages: &PageMask, effects: &mut Effects) {
        effects.mapped = effects.mapped.or(pages);
        self.untouched.remove(block, pages);
        self.places.map(block, pages);
    }

    /// The CPU reads or writes the pages `pages` of `block` where they are; those without memory get it on its side.
    pub(super) fn use_in_place(&mut self, block: u32, pages: &PageMask, effects: &mut Effects) {
        effects.in_place = pages.and(self.places.resident(block));
        self.places.map_host(block, &effects.in_place);
        self.first_touch_by_host(block, pages);
    }

    /// The CPU touches the pages `pages` of `block`; those without memory get it on its side.
    pub(super) fn first_touch_by_host(&mut self, block: u32, pages: &PageMask) {
        let touched = match self.walks_host_tables() {
            true => self.host_pages(pages),
            false => *pages,
        };
        let first = touched.and(&self.untouched.get(block));
        self.untouched.remove(block, &first);
        self.places.map_host(block, &first);
        let mapped = first.and(&self.always_mapped(block));
        self.places.map(block, &mapped);
    }

    /// The pages that a call about `pages` of `block` means: whole pages of the host where they are in its page tables.
    pub(super) fn called_pages(&self, block: u32, pages: &PageMask) -> PageMask {
        let pages = match self.walks_host_tables() {
            true => self.host_pages(pages),
            false => *pages,
        };
        pages.and(&self.extent(block))
    }

    /// Nothing moved for the report of `accessed`: the driver does not clear the counters of such a region.
    pub(super) fn report_no_more(&mut self, block: u32, accessed: &PageMask) {
        if let Some(counters) = &mut self.counters
            && self.policy.page_tables == PageTables::Host
        {
            counters.silence(block, accessed);
        }
    }

    /// Pages of `block` moved: its regions are reported again.
    pub(super) fn report_again(&mut self, block: u32) {
        if let Some(counters) = &mut self.counters
            && self.policy.page_tables == PageTables::Host
        {
            counters.rearm(block);
        }
    }
}
