//! A cache of translations with a clock: what it holds, when that came, and the fetches under way.

use std::ops::Range;

use pagemill_policy::translation::{AttCache, Lookup, Slot};
use pagemill_types::Picos;

use pagemill_pages::parts::entry_pool::EntryPool;

/// Which end of a transfer asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Send,
    Receive,
}

/// Lines that come some time after they were asked for.
#[derive(Debug)]
pub(crate) struct TimedCache {
    cache: AttCache,
    /// When the line of a slot is there; empty until the first fetch.
    ready_at: Vec<Picos>,
    /// Fetches under way for what is sent, and for what is received: each transfer is handled to its end as soon as it
    /// begins, so one pool would let later times of one hold up earlier ones of the other.
    send: EntryPool,
    receive: EntryPool,
}

/// Answer of a [`TimedCache`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// When the line is here.
    pub ready: Picos,
    pub is_miss: bool,
    /// Where it lies.
    pub slot: Slot,
}

impl TimedCache {
    /// An empty cache; `fetches` may be under way for each side.
    pub fn new(cache: AttCache, fetches: u32) -> Self {
        Self {
            cache,
            ready_at: Vec::new(),
            send: EntryPool::new(fetches),
            receive: EntryPool::new(fetches),
        }
    }

    pub fn line_of(&self, entry: u64) -> u64 {
        self.cache.line_of(entry)
    }

    /// The entries of `line`.
    pub fn entries(&self, line: u64) -> Range<u64> {
        let entries = u64::from(self.cache.organization().line_entries);
        line * entries..(line + 1) * entries
    }

    /// Asks for `line` at `at`. `fetch` says when a fetch that begins at a time is over; none takes longer than `longest`.
    #[inline]
    pub fn ask(
        &mut self,
        side: Side,
        at: Picos,
        line: u64,
        longest: Picos,
        fetch: impl FnOnce(Picos) -> Picos,
    ) -> Asked {
        match self.cache.lookup_line(line) {
            // A later part of another transfer may have asked for it: this look-up is earlier and does not wait for that.
            Lookup::Hit(slot) => Asked {
                ready: self.ready_at[slot.0 as usize].min(at + longest),
                is_miss: false,
                slot,
            },
            Lookup::Miss(slot) => {
                let fetches = match side {
                    Side::Send => &mut self.send,
                    Side::Receive => &mut self.receive,
                };
                let ready = fetch(fetches.admit(at));
                fetches.hold_until(ready);
                if self.ready_at.is_empty() {
                    self.ready_at = vec![Picos::ZERO; self.cache.slots() as usize];
                }
                self.ready_at[slot.0 as usize] = ready;
                Asked {
                    ready,
                    is_miss: true,
                    slot,
                }
            }
        }
    }

    /// Forgets the lines of the entries from `first` to `last`; how many there were.
    pub fn invalidate(&mut self, first: u64, last: u64) -> u32 {
        self.cache.invalidate(first, last)
    }

    /// Forgets the line of `entry`.
    pub fn forget(&mut self, entry: u64) -> bool {
        self.cache.forget(entry)
    }
}
