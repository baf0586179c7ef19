//! A translation look-aside buffer: set-associative or fully associative, with ports, hits under misses, and merged misses.

use super::ports::PortGroup;
use pagemill_types::{Clock, Picos};

/// What a TLB is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbSpec {
    /// Translations held.
    pub entries: u32,
    /// Entries of a set; equal to `entries` for a fully associative TLB.
    pub ways: u32,
    /// Lookups that can start in the same cycle.
    pub ports: u32,
    /// Cycles from a lookup to its translation.
    pub hit_latency_cycles: u32,
    /// Cycles after which a request that waits looks up again, which only counts; 0 for never.
    pub retry_cycles: u32,
}

/// Answer to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// The translation was there; it is known at this time.
    Hit(Picos),
    /// A walk for the same page is on the way and ends at this time.
    Merged(Picos),
    /// The page was not asked for lately: a walk must start at this time, and [`Tlb::fill`] must follow.
    Miss(TlbMiss),
}

/// An entry that a miss reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbMiss {
    slot: u32,
    /// When the miss is known and its entry can be had.
    pub start: Picos,
}

/// Counts of one TLB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlbCounts {
    /// Lookups.
    pub lookups: u64,
    /// Lookups that had to start a walk.
    pub misses: u64,
    /// Lookups that found a walk for their page on the way.
    pub merged: u64,
}

const EMPTY: u32 = u32::MAX;
const HINTS: usize = 64;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    known_at: Picos,
    last_use: u64,
}

/// The state of one TLB. Pages are numbered from the start of the simulated address space.
#[derive(Clone, Debug)]
pub struct Tlb {
    pages: Vec<u32>,
    entries: Vec<Entry>,
    /// Where a page was last seen; only a guess, checked against `pages`. The page is held as well, so that a wrong
    /// guess costs no look at `pages`, which need not be in a cache.
    hints: [(u32, u32); HINTS],
    sets: usize,
    ways: usize,
    ports: PortGroup,
    hit_latency: Picos,
    uses: u64,
    counts: TlbCounts,
}

impl Tlb {
    /// An empty TLB whose cycles are `clock`'s.
    pub fn new(spec: &TlbSpec, clock: Clock) -> Self {
        let ways = spec.ways.clamp(1, spec.entries.max(1)) as usize;
        let sets = (spec.entries as usize / ways).max(1);
        Self {
            pages: vec![EMPTY; sets * ways],
            entries: vec![Entry::default(); sets * ways],
            hints: [(EMPTY, 0); HINTS],
            sets,
            ways,
            ports: PortGroup::new(spec.ports, clock.cycles(1)),
            hit_latency: clock.cycles(u64::from(spec.hit_latency_cycles)),
            uses: 0,
            counts: TlbCounts::default(),
        }
    }

    /// Looks `page` up at `at`, on the next free port.
    #[inline]
    pub fn lookup(&mut self, at: Picos, page: u32) -> Translation {
        let start = self.ports.book(at);
        self.probe(start, page)
    }

    /// Looks `page` up at `at`, on a port that the caller has booked.
    #[inline]
    pub fn probe(&mut self, at: Picos, page: u32) -> Translation {
        self.counts.lookups += 1;
        let looked_up = at + self.hit_latency;
        match self.find(page) {
            Some(slot) => {
                self.uses += 1;
                let entry = &mut self.entries[slot];
                entry.last_use = self.uses;
                if entry.known_at <= looked_up {
                    return Translation::Hit(looked_up);
                }
                self.counts.merged += 1;
                Translation::Merged(entry.known_at)
            }
            None => {
                self.counts.misses += 1;
                Translation::Miss(self.reserve(looked_up, page))
            }
        }
    }

    /// Says when the translation of a missed page is known.
    pub fn fill(&mut self, miss: TlbMiss, known_at: Picos) {
        self.entries[miss.slot as usize].known_at = known_at;
    }

    /// Forgets the translation of `page`.
    pub fn invalidate(&mut self, page: u32) {
        if let Some(slot) = self.find(page) {
            self.pages[slot] = EMPTY;
            self.entries[slot] = Entry::default();
        }
    }

    /// What was counted.
    pub fn counts(&self) -> TlbCounts {
        self.counts
    }

    #[inline]
    fn find(&mut self, page: u32) -> Option<usize> {
        let hint = &mut self.hints[page as usize % HINTS];
        let (hinted, slot) = (hint.0, hint.1 as usize);
        if hinted == page && self.pages[slot] == page {
            return Some(slot);
        }
        let first = (page as usize % self.sets) * self.ways;
        let set = &self.pages[first..first + self.ways];
        // Most searches past the hint find nothing; a look at the whole set without a branch says so fastest.
        if !set
            .iter()
            .fold(false, |found, &held| found | (held == page))
        {
            return None;
        }
        let way = set.iter().position(|&held| held == page)?;
        *hint = (page, (first + way) as u32);
        Some(first + way)
    }

    fn reserve(&mut self, at: Picos, page: u32) -> TlbMiss {
        let first = (page as usize % self.sets) * self.ways;
        let (way, known_at) = victim(&self.entries[first..first + self.ways], at);
        let slot = first + way;
        self.uses += 1;
        self.pages[slot] = page;
        self.entries[slot] = Entry {
            known_at,
            last_use: self.uses,
        };
        self.hints[page as usize % HINTS] = (page, slot as u32);
        TlbMiss {
            slot: slot as u32,
            start: known_at,
        }
    }
}

/// Which entry of a set is replaced at `at`, and when it can be had: the least recently used of those without a walk
/// under way, else the one whose walk ends first.
fn victim(set: &[Entry], at: Picos) -> (usize, Picos) {
    let mut way = 0;
    let mut oldest = u64::MAX;
    for (index, entry) in set.iter().enumerate() {
        let last_use = if entry.known_at <= at {
            entry.last_use
        } else {
            u64::MAX
        };
        way = if last_use < oldest { index } else { way };
        oldest = oldest.min(last_use);
    }
    if oldest < u64::MAX {
        return (way, at);
    }
    let waiting = set.iter().enumerate();
    let first = waiting.min_by_key(|(_, entry)| (entry.known_at, entry.last_use));
    first.map_or((0, at), |(way, entry)| (way, entry.known_at))
}

#[cfg(test)]
mod tests;
