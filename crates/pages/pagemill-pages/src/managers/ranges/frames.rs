//! Which pages have a frame in a GPU memory of limited size, and from when on the frame is empty.

use pagemill_policy::residency::{ChunkList, Eviction, EvictionEntry};
use pagemill_types::{Invariants, Picos};

/// Frames of a page each, given by an eviction policy.
#[derive(Debug)]
pub(super) struct Frames {
    limit: u32,
    /// Pages that leave with the last victim.
    along: Vec<u32>,
    held: ChunkList,
    eviction: Box<dyn Eviction>,
    tracks_use: bool,
    /// For each page, when the bytes of its frame's last holder had left.
    free_at: Vec<Picos>,
}

/// No page is kept: the one that asks holds no frame yet.
const KEEP_NONE: u32 = u32::MAX;

impl Frames {
    /// `limit` free frames, at least one.
    pub(super) fn new(limit: u64, eviction: &EvictionEntry) -> Self {
        let eviction = (eviction.build)();
        Self {
            limit: frames(limit),
            along: Vec::new(),
            held: ChunkList::new(0),
            tracks_use: eviction.tracks_use(),
            eviction,
            free_at: Vec::new(),
        }
    }

    /// Makes room for `pages` pages.
    pub(super) fn grow(&mut self, pages: usize) {
        self.held.extend_to(pages as u32);
        self.free_at.resize(pages, Picos::ZERO);
    }

    pub(super) fn holds(&self, page: usize) -> bool {
        self.held.contains(page as u32)
    }

    /// How many frames there are.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Frames that hold no page.
    pub(super) fn free(&self) -> u32 {
        self.limit.saturating_sub(self.held.len())
    }

    /// The page is used now.
    #[inline]
    pub(super) fn touch(&mut self, page: usize) {
        let page = page as u32;
        // Requests to one page follow each other: the newest one is in its place already.
        if self.tracks_use && self.held.newest() != Some(page) && self.held.contains(page) {
            self.eviction.used(&mut self.held, page);
        }
    }

    /// Gives an absent page a frame; returns the page that has to leave, if any.
    pub(super) fn admit(&mut self, page: usize) -> Option<usize> {
        let victim = match self.held.len() >= self.limit {
            true => self.take_victim(page as u32),
            false => None,
        };
        self.held.push(page as u32);
        self.eviction.came(page as u32);
        self.free_at[page] = Picos::ZERO;
        victim
    }

    /// The page's frame is empty from then on.
    pub(super) fn set_free_at(&mut self, page: usize, at: Picos) {
        self.free_at[page] = at;
    }

    /// When the page's frame is empty.
    pub(super) fn free_at(&self, page: usize) -> Picos {
        self.free_at[page]
    }

    /// Sets how many frames there are, at least one. While more are used, returns a page that had to leave.
    pub(super) fn shrink(&mut self, limit: u64) -> Option<usize> {
        self.limit = frames(limit);
        match self.held.len() > self.limit {
            true => self.take_victim(KEEP_NONE),
            false => None,
        }
    }

    /// The page gives its frame back, if it has one.
    pub(super) fn release(&mut self, page: usize) {
        if self.holds(page) {
            self.give_back(page as u32);
        }
    }

    fn give_back(&mut self, page: u32) {
        self.held.remove(page);
        self.eviction.left(page);
    }

    /// The next page that leaves with the last victim.
    pub(super) fn next_along(&mut self) -> Option<usize> {
        let page = self.along.pop()?;
        self.give_back(page);
        Some(page as usize)
    }

    fn take_victim(&mut self, keep: u32) -> Option<usize> {
        let victim = self.eviction.victim(&self.held, KEEP_NONE)?;
        (self.eviction).along(&self.held, victim, keep, &mut self.along);
        self.give_back(victim);
        Some(victim as usize)
    }
}

impl Invariants for Frames {
    fn broken_invariant(&self) -> Option<String> {
        self.held.broken_invariant()
    }
}

fn frames(limit: u64) -> u32 {
    limit.clamp(1, u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests;
