//! What lies around a page, for migration policies.

use std::collections::BTreeMap;
use std::ops::Range;

use pagemill_policy::migration::Page;
use pagemill_policy::surroundings::{FaultHistory, Surroundings};

use super::frames::Frames;

/// The pages of each allocation: the first, and the end.
#[derive(Clone, Debug, Default)]
pub(super) struct Allocations(BTreeMap<u32, u32>);

impl Allocations {
    pub(super) fn add(&mut self, pages: Range<u32>) {
        self.0.insert(pages.start, pages.end);
    }

    pub(super) fn remove(&mut self, pages: Range<u32>) {
        self.0.retain(|&start, _| !pages.contains(&start));
    }

    fn of(&self, page: u32) -> Range<u32> {
        let before = self.0.range(..=page).next_back();
        let allocation = before.map(|(&start, &end)| start..end);
        let holds_page = allocation.filter(|pages| pages.contains(&page));
        // A page of no allocation stands alone, so a policy that keeps to allocations takes none of its neighbors along.
        holds_page.unwrap_or(page..page + 1)
    }
}

/// A page, and references to all that a policy may ask about.
#[derive(Debug)]
pub(super) struct Around<'a> {
    pub(super) index: usize,
    pub(super) pages: &'a [Page],
    pub(super) allocations: &'a Allocations,
    pub(super) frames: Option<&'a Frames>,
    pub(super) faults: &'a FaultHistory,
}

impl Surroundings for Around<'_> {
    fn page(&self) -> u32 {
        self.index as u32
    }

    fn allocation(&self) -> Range<u32> {
        self.allocations.of(self.page())
    }

    fn valid_bytes(&self, page: u32) -> u64 {
        let page = self.pages.get(page as usize);
        page.map_or(0, |page| page.valid().covered_bytes())
    }

    fn frames(&self) -> Option<u64> {
        self.frames.map(|frames| u64::from(frames.limit()))
    }

    fn free_frames(&self) -> Option<u64> {
        self.frames.map(|frames| u64::from(frames.free()))
    }

    fn faults(&self) -> &FaultHistory {
        self.faults
    }
}
