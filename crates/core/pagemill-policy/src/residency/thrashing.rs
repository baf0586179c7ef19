use std::collections::{BTreeMap, VecDeque};

use pagemill_types::Picos;

use super::PageMask;

/// When pages count as thrashing and what is done about it (`uvm_perf_thrashing.c` of NVIDIA's driver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrashingSpec {
    /// Two migrations of a page at most this far apart are one event.
    pub lapse: Picos,
    /// Events in a row after which the page thrashes.
    pub threshold: u32,
    /// How long a fault on a thrashing page is put off.
    pub nap: Picos,
    /// Throttles after which the page is pinned.
    pub pin_threshold: u32,
    /// How long a pinned page stays in CPU memory, mapped for the GPU.
    pub pin: Picos,
    /// A page without an event for this long thrashes no more.
    pub epoch: Picos,
}

impl Default for ThrashingSpec {
    /// The defaults of NVIDIA's driver 595.45.04.
    fn default() -> Self {
        let lapse = Picos::from_nanos(500_000);
        Self {
            lapse,
            threshold: 3,
            nap: lapse,
            pin_threshold: 10,
            pin: Picos(lapse.0 * 300),
            epoch: Picos(lapse.0 * 2000),
        }
    }
}

/// What to do with a faulting page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrashingHint {
    /// Nothing special.
    None,
    /// Leave the fault alone until this time.
    Throttle(Picos),
    /// Leave the page in CPU memory and map it for the GPU until this time.
    Pin(Picos),
}

#[derive(Clone, Copy, Debug, Default)]
struct PageHistory {
    events: u32,
    last_event: Picos,
    throttles: u32,
    throttled_until: Picos,
    pinned_until: Option<Picos>,
}

/// Pages of a block that moved to the GPU.
#[derive(Clone, Copy, Debug)]
struct Move {
    at: Picos,
    block: u32,
    pages: PageMask,
}

/// Which pages thrash. Remembers only migrations of the last lapse and pages that had an event.
#[derive(Clone, Debug)]
pub(super) struct Thrashing {
    spec: ThrashingSpec,
    /// The migrations of the last lapse, in order of time.
    recent: VecDeque<Move>,
    /// When each block was last migrated; most were not lately, and then `recent` need not be searched.
    last_moves: Vec<Option<Picos>>,
    pages: BTreeMap<u64, PageHistory>,
    pins: BTreeMap<(Picos, u64), ()>,
}

impl Thrashing {
    pub(super) fn new(spec: ThrashingSpec) -> Self {
        Self {
            spec,
            recent: VecDeque::new(),
            last_moves: Vec::new(),
            pages: BTreeMap::new(),
            pins: BTreeMap::new(),
        }
    }

    /// Room for `blocks` blocks.
    pub(super) fn grow(&mut self, blocks: u32) {
        let blocks = self.last_moves.len().max(blocks as usize);
        self.last_moves.resize(blocks, None);
    }

    /// The pages `moved` of `block` move to the GPU at `now`.
    pub(super) fn migrated(&mut self, block: u32, moved: &PageMask, now: Picos) {
        let lapse = self.spec.lapse;
        let is_recent = |at: Picos| now.saturating_since(at) <= lapse;
        while self
            .recent
            .front()
            .is_some_and(|oldest| !is_recent(oldest.at))
        {
            self.recent.pop_front();
        }
        let before = self.last_moves[block as usize].replace(now);
        // A page moved again if an earlier move of its block within the lapse had it. The driver keeps the last time
        // of each page; masks of blocks say the same, and a program that never thrashes pays for one time a block.
        let mut again = PageMask::EMPTY;
        if before.is_some_and(is_recent) {
            let of_block = self.recent.iter().filter(|earlier| earlier.block == block);
            again = of_block
                .fold(again, |pages, earlier| pages.or(&earlier.pages))
                .and(moved);
        }
        self.recent.push_back(Move {
            at: now,
            block,
            pages: *moved,
        });
        for page in again.pages() {
            let history = self.pages.entry(page_number(block, page)).or_default();
            // Only events in a row count: three returns an hour apart are three uses, not thrashing.
            if now.saturating_since(history.last_event) > lapse {
                history.events = 0;
            }
            history.events += 1;
            history.last_event = now;
        }
    }

    /// Whether no page has thrashed lately.
    pub(super) fn is_quiet(&self) -> bool {
        self.pages.is_empty()
    }

    /// What to do with a fault on page `page` of `block`.
    pub(super) fn hint(&mut self, block: u32, page: u32, now: Picos) -> ThrashingHint {
        let number = page_number(block, page);
        let Some(history) = self.pages.get_mut(&number) else {
            return ThrashingHint::None;
        };
        // Looked at when the page faults, not by a timer: a page that faults no more needs no end.
        if now.saturating_since(history.last_event) > self.spec.epoch {
            self.pages.remove(&number);
            return ThrashingHint::None;
        }
        if history.events < self.spec.threshold {
            return ThrashingHint::None;
        }
        if now < history.throttled_until {
            return ThrashingHint::Throttle(history.throttled_until);
        }
        if history.throttles >= self.spec.pin_threshold {
            let until = now + self.spec.pin;
            // The counts start anew. Until the pin ends, `pinned_until` alone keeps growth and prefetch from taking
            // the page along.
            *history = PageHistory {
                last_event: now,
                pinned_until: Some(until),
                ..PageHistory::default()
            };
            self.pins.insert((until, number), ());
            return ThrashingHint::Pin(until);
        }
        // Every second fault goes through: a nap is no stop.
        if history.throttled_until > Picos::ZERO && history.last_event <= history.throttled_until {
            return ThrashingHint::None;
        }
        history.throttles += 1;
        history.throttled_until = now + self.spec.nap;
        ThrashingHint::Throttle(history.throttled_until)
    }

    /// Whether the page is held in CPU memory.
    pub(super) fn pinned(&self, block: u32, page: u32) -> bool {
        let history = self.pages.get(&page_number(block, page));
        history.is_some_and(|history| history.pinned_until.is_some())
    }

    /// When the next pin ends.
    pub(super) fn next_release(&self) -> Option<Picos> {
        self.pins.keys().next().map(|&(until, _)| until)
    }

    /// A page whose pin has ended by `now`, as block and page.
    pub(super) fn release(&mut self, now: Picos) -> Option<(u32, u32)> {
        let (&(until, number), ()) = self.pins.first_key_value()?;
        if until > now {
            return None;
        }
        self.pins.pop_first();
        self.pages.remove(&number);
        Some((
            (number / u64::from(super::BLOCK_PAGES)) as u32,
            (number % u64::from(super::BLOCK_PAGES)) as u32,
        ))
    }
}

fn page_number(block: u32, page: u32) -> u64 {
    u64::from(block) * u64::from(super::BLOCK_PAGES) + u64::from(page)
}

#[cfg(test)]
mod tests;
