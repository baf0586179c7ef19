//! What lies around a page when a policy is asked about it, and which faults came before.

use std::fmt;
use std::ops::Range;

/// Newest faults that a [`FaultHistory`] lists in their order.
pub const RECENT_FAULTS: usize = 64;

/// What a policy may look at beside the page that is asked about. Pages have the number and the size of the policy's question:
/// those of the transfer mode for a migration policy, blocks of 2 MiB for a policy of the driver.
///
/// The page manager that asks lends it for the time of the question. Every answer is found when it is asked for, so that a policy which looks
/// at nothing costs nothing.
pub trait Surroundings: fmt::Debug {
    /// The page that is asked about, counted from the start of managed memory.
    fn page(&self) -> u32;

    /// The pages of its allocation. A pager of programs knows no allocations: the neighboring pages that hold memory.
    fn allocation(&self) -> Range<u32>;

    /// Bytes of any page that are in GPU memory, or decided to come. 0 for a page that does not exist.
    fn valid_bytes(&self, page: u32) -> u64;

    /// Pages that GPU memory can hold; `None` where it is not limited.
    fn frames(&self) -> Option<u64>;

    /// Those of the frames that hold no page; `None` where GPU memory is not limited.
    fn free_frames(&self) -> Option<u64>;

    /// The faults before this one. Empty unless the policy says that it tracks faults.
    fn faults(&self) -> &FaultHistory;
}

/// A page with nothing around it: page 0 of one, in a memory without limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Surroundings for Alone {
    fn page(&self) -> u32 {
        0
    }

    fn allocation(&self) -> Range<u32> {
        0..1
    }

    fn valid_bytes(&self, _: u32) -> u64 {
        0
    }

    fn frames(&self) -> Option<u64> {
        None
    }

    fn free_frames(&self) -> Option<u64> {
        None
    }

    fn faults(&self) -> &FaultHistory {
        FaultHistory::none()
    }
}

/// The faults on one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageFaults {
    /// How many there were.
    pub count: u32,
    /// The number of the last one among the faults of all pages, from 1 on; 0 for none.
    pub last: u64,
}

/// Which pages faulted, how often and in which order. 16 bytes a page, and the newest [`RECENT_FAULTS`] in order.
#[derive(Clone, Debug)]
pub struct FaultHistory {
    total: u64,
    pages: Vec<PageFaults>,
    /// The pages of the newest faults; fault `n` is at place `n` modulo the length.
    recent: [u32; RECENT_FAULTS],
}

static NO_FAULTS: FaultHistory = FaultHistory::new();

impl FaultHistory {
    /// No fault.
    pub const fn new() -> Self {
        Self {
            total: 0,
            pages: Vec::new(),
            recent: [0; RECENT_FAULTS],
        }
    }

    /// The history of those who keep none.
    pub fn none() -> &'static Self {
        &NO_FAULTS
    }

    /// `page` faults.
    pub fn note(&mut self, page: u32) {
        let index = page as usize;
        if index >= self.pages.len() {
            self.pages.resize(index + 1, PageFaults::default());
        }
        // Counted first: the faults have numbers from 1 on, and 0 stays free for a page without one.
        self.total += 1;
        let faults = &mut self.pages[index];
        faults.count = faults.count.saturating_add(1);
        faults.last = self.total;
        self.recent[(self.total % RECENT_FAULTS as u64) as usize] = page;
    }

    /// Faults of all pages: time as a policy counts it.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The faults on `page`.
    pub fn of(&self, page: u32) -> PageFaults {
        let faults = self.pages.get(page as usize);
        faults.copied().unwrap_or_default()
    }

    /// The pages of the newest faults, the newest first.
    pub fn recent(&self) -> impl Iterator<Item = u32> + '_ {
        let known = self.total.min(RECENT_FAULTS as u64);
        let place = |back: u64| ((self.total - back) % RECENT_FAULTS as u64) as usize;
        (0..known).map(move |back| self.recent[place(back)])
    }
}

impl Default for FaultHistory {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_history_is_that_of_a_plain_list(pages in prop::collection::vec(0u32..20, 0..200)) {
            let mut history = FaultHistory::new();
            pages.iter().for_each(|&page| history.note(page));
            prop_assert_eq!(history.total(), pages.len() as u64);
            for page in 0..25 {
                let last = pages.iter().rposition(|&faulted| faulted == page);
                let expected = PageFaults {
                    count: pages.iter().filter(|&&faulted| faulted == page).count() as u32,
                    last: last.map_or(0, |place| place as u64 + 1),
                };
                prop_assert_eq!(history.of(page), expected);
            }
            let newest: Vec<u32> = pages.iter().rev().take(RECENT_FAULTS).copied().collect();
            prop_assert_eq!(history.recent().collect::<Vec<_>>(), newest);
        }
    }
}
