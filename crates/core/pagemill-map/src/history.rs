//! Every event of some pages: of all, until there are too many events; then of ever fewer.

use std::ops::Range;

/// A change of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it began, in picoseconds.
    pub start_ps: u64,
    /// When it was done.
    pub done_ps: u64,
    /// First byte in the page.
    pub first: u32,
    /// Bytes of the page.
    pub bytes: u32,
    /// The number of its cause.
    pub cause: u8,
    /// The launch that it was part of, from 1; 0 is none.
    pub launch: u32,
    /// Where it came from.
    pub place: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Histories {
    events: Vec<(u64, Event)>,
    limit: usize,
    /// A page is kept if this many bits of its hash are zero.
    bits: u32,
    /// When events began to be left out though their pages are kept.
    full_ps: Option<u64>,
}

impl Histories {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            events: Vec::new(),
            limit,
            bits: 0,
            full_ps: None,
        }
    }

    /// One page of `2^bits` is kept.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    pub(crate) fn full_ps(&self) -> Option<u64> {
        self.full_ps
    }

    pub(crate) fn add(&mut self, page: u64, event: Event) {
        if self.full_ps.is_some() || !is_kept(page, self.bits) {
            return;
        }
        self.events.push((page, event));
        while self.events.len() > self.limit {
            let first = self.events[0].0;
            if self.events.iter().all(|(page, _)| *page == first) {
                self.full_ps = Some(event.start_ps);
                self.events.pop();
                return;
            }
            self.bits += 1;
            let bits = self.bits;
            self.events.retain(|(page, _)| is_kept(*page, bits));
        }
    }

    /// The events by page, those of a page in the order in which they were recorded.
    pub(crate) fn by_page(&self) -> Vec<(u64, Vec<Event>)> {
        let mut events = self.events.clone();
        events.sort_by_key(|(page, _)| *page);
        let of_page = |events: &[(u64, Event)]| {
            let own = events.iter().map(|(_, event)| *event);
            (events[0].0, own.collect())
        };
        events.chunk_by(|a, b| a.0 == b.0).map(of_page).collect()
    }
}

/// Whether the first `bits` bits of the page's hash are zero.
fn is_kept(page: u64, bits: u32) -> bool {
    bits == 0 || (bits < 64 && hash(page) >> (64 - bits) == 0)
}

/// A mix whose bits all depend on all of the page number's (splitmix64).
fn hash(page: u64) -> u64 {
    let mut mixed = page.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Event {
    /// The bytes of the page.
    pub fn range(&self) -> Range<u32> {
        self.first..self.first + self.bytes
    }
}
