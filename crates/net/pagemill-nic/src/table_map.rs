//! Which entries of a translation table were in the cache when, and when transfers needed them: a page map.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pagemill_map::{Cause, Change, Effect, Legend, Limits, Recorder};
use pagemill_policy::translation::{Slot, TableLayout};
use pagemill_types::Picos;

/// What happens to an entry, by its number in the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A transfer needed it.
    Used,
    /// A transfer needed it, and it was not in the cache.
    Missed,
    /// It came ahead of the transfer that is going to need it.
    Ahead,
    /// Another line took its place.
    Displaced,
    /// Its memory was given back or unmapped.
    Invalidated,
    /// Its page was not mapped, and the host mapped it.
    Faulted,
}

fn legend() -> Legend {
    Legend {
        absent: "not yet in the cache".to_owned(),
        partial: "partly in the cache".to_owned(),
        present: "in the cache".to_owned(),
        departed: "no longer in the cache".to_owned(),
        marked: "used".to_owned(),
        place: String::new(),
        causes: vec![
            Cause::new("used", Effect::Mark),
            Cause::new("miss", Effect::Arrive),
            Cause::new("fetched ahead", Effect::Arrive),
            Cause::new("displaced", Effect::Leave),
            Cause::new("invalidated", Effect::Leave),
            Cause::new("page fault", Effect::Mark),
        ],
    }
}

/// Pages that the first rows stand for.
const FIRST_PAGES: u64 = 64;

/// The map of one table. Addresses are those of the memory that its entries translate, so a page of the map is an entry.
#[derive(Debug)]
pub(crate) struct TableMap {
    recorder: Recorder,
    layout: TableLayout,
    /// The number of its first entry.
    first: u64,
    /// Pages from 0 on that have rows.
    covered: u64,
    /// The entries of each line of the table in the cache.
    held: BTreeMap<Slot, Range<u64>>,
    /// The first entries of lines that were in the cache.
    was_held: BTreeSet<u64>,
    latest: Picos,
}

impl TableMap {
    /// Of the table whose first entry has the number `first`, and nothing of it in the cache.
    pub fn new(layout: TableLayout, first: u64, limits: Limits) -> Self {
        Self {
            recorder: Recorder::new(layout.page.bytes(), legend(), limits),
            layout,
            first,
            covered: 0,
            held: BTreeMap::new(),
            was_held: BTreeSet::new(),
            latest: Picos::ZERO,
        }
    }

    /// Notes what happened to `entry` from `start` to `done`.
    pub fn note(&mut self, event: Event, entry: u64, (start, done): (Picos, Picos)) {
        for page in self.pages_of(&(entry..entry + 1)) {
            self.change(event, page, (start, done));
        }
    }

    /// Notes that `entries` came into `slot` of the cache.
    pub fn fetched(
        &mut self,
        event: Event,
        slot: Slot,
        entries: Range<u64>,
        (start, done): (Picos, Picos),
    ) {
        if let Some(old) = self.held.remove(&slot) {
            old.for_each(|entry| self.note(Event::Displaced, entry, (start, start)));
        }
        let pages = self.pages_of(&entries);
        if pages.is_empty() {
            return;
        }
        let is_again = !self.was_held.insert(entries.start);
        for page in pages {
            self.change(event, page, (start, done));
            if is_again {
                let all = 0..self.page_bytes();
                self.recorder.moved_again(page, all, done.0);
            }
        }
        self.held.insert(slot, entries);
    }

    /// Notes that every line with an entry from `first` to `last` left the cache.
    pub fn forgot(&mut self, first: u64, last: u64) {
        let is_there = |entries: &Range<u64>| entries.start <= last && first < entries.end;
        let slots: Vec<Slot> = (self.held.iter())
            .filter(|(_, entries)| is_there(entries))
            .map(|(slot, _)| *slot)
            .collect();
        for entries in slots
            .iter()
            .filter_map(|slot| self.held.remove(slot))
            .collect::<Vec<_>>()
        {
            let now = (self.latest, self.latest);
            entries.for_each(|entry| self.note(Event::Invalidated, entry, now));
        }
    }

    /// The bytes of the map until `end`.
    pub fn finish(self, end: Picos) -> Vec<u8> {
        self.recorder.finish("", end.0, 0).encode()
    }

    /// The pages that `entries` translate, all of one size; none if they are of another table.
    fn pages_of(&self, entries: &Range<u64>) -> Range<u64> {
        let Some(within) = entries.start.checked_sub(self.first) else {
            return 0..0;
        };
        let page_bytes = self.layout.page.bytes();
        let (number, pages_each) = match self.layout.large {
            Some(large) if within >= TableLayout::LARGE => {
                (within - TableLayout::LARGE, large.page.bytes() / page_bytes)
            }
            _ => (within, 1),
        };
        let page = number * pages_each;
        let pages = (entries.end - entries.start) * pages_each;
        let is_own = within < 2 * TableLayout::LARGE && page < u64::MAX / 4 / page_bytes;
        if is_own { page..page + pages } else { 0..0 }
    }

    fn page_bytes(&self) -> u32 {
        // Pages are of at most 1 GiB.
        self.layout.page.bytes() as u32
    }

    fn change(&mut self, event: Event, page: u64, (start, done): (Picos, Picos)) {
        self.cover(page);
        self.latest = self.latest.max(start);
        self.recorder.changed(&Change {
            cause: event as u8,
            page,
            range: 0..self.page_bytes(),
            start_ps: start.0,
            done_ps: done.0,
            place: 0,
        });
    }

    /// Makes rows for `page`, twice as many pages each time.
    fn cover(&mut self, page: u64) {
        while page >= self.covered {
            let (first, pages) = (self.covered, self.covered.max(FIRST_PAGES));
            let name = format!("entries {first} to {}", first + pages - 1);
            let bytes = self.layout.page.bytes();
            self.recorder.allocated(&name, first * bytes, pages * bytes);
            self.covered += pages;
        }
    }
}

#[cfg(test)]
mod tests;
