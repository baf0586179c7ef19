//! The translation unit: the ATT cache with a clock.

use pagemill_policy::translation::{AttCache, AttSpec, Lookup, lines_ahead};
use pagemill_types::{Picos, VirtAddr};

use super::counts::TranslationCounts;
use super::descriptor::PortId;
use super::machine::{TablePlace, TableSpec};
use super::moment::{Cause, Moment};
use crate::SpecError;
use crate::parts::entry_pool::EntryPool;

/// Translates addresses, reads the table where it has to.
#[derive(Debug)]
pub(crate) struct TranslationUnit {
    spec: AttSpec,
    table: TableSpec,
    /// Time of one read of the table.
    fetch_latency: Picos,
    cache: AttCache,
    /// When the line of a slot is there; empty until the first look-up.
    ready_at: Vec<Picos>,
    /// Reads of the table under way for what is sent, and for what is received: each transfer is handled to its end as soon as it
    /// begins, so one pool would let later times of one hold up earlier ones of the other.
    send_fetches: EntryPool,
    receive_fetches: EntryPool,
    pub counts: TranslationCounts,
}

/// Which end of a transfer translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Send,
    Receive,
}

/// What one transfer remembers between its segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    port: PortId,
    side: Side,
    last_line: u64,
    /// The entry in the engine's register, and the line whose successors were prefetched.
    entry: Option<u64>,
    line: Option<u64>,
}

impl TranslationUnit {
    pub fn new(spec: &AttSpec, table: &TableSpec, fetch_latency: Picos) -> Result<Self, SpecError> {
        let cache = spec.build().map_err(|error| {
            SpecError::new(format!("att.{}", error.key), error.value, error.allowed)
        })?;
        Ok(Self {
            spec: *spec,
            table: *table,
            fetch_latency,
            cache,
            ready_at: Vec::new(),
            send_fetches: EntryPool::new(table.fetches_in_flight),
            receive_fetches: EntryPool::new(table.fetches_in_flight),
            counts: TranslationCounts::default(),
        })
    }

    /// Number of the entry for `address` of `port`. Tables of different ports lie apart and start a page of entries further on each.
    fn entry_of(&self, port: PortId, address: u64) -> u64 {
        const NUMBER_BITS: u32 = 44;
        let within = self.spec.layout.entry_of(VirtAddr(address)) & ((1 << NUMBER_BITS) - 1);
        let page_of_entries =
            self.spec.layout.page.bytes() / u64::from(self.spec.layout.entry_bytes);
        (u64::from(port.0) << NUMBER_BITS) + u64::from(port.0) * page_of_entries + within
    }

    /// Starts a transfer of `bytes` at `address` of `port`.
    pub fn walk(&self, side: Side, port: PortId, address: u64, bytes: u64) -> Walk {
        let last = address.saturating_add(bytes.saturating_sub(1));
        Walk {
            port,
            side,
            last_line: self.cache.line_of(self.entry_of(port, last)),
            entry: None,
            line: None,
        }
    }

    /// Translates `address` for `walk`; returns when the physical address is known.
    #[inline]
    pub fn translate<M: Moment>(&mut self, at: M, walk: &mut Walk, address: u64) -> M {
        let entry = self.entry_of(walk.port, address);
        if walk.entry == Some(entry) {
            return at;
        }
        walk.entry = Some(entry);
        self.counts.lookups += 1;
        let looked = at.after(self.table.lookup_latency, Cause::Interface);
        if self.table.place == TablePlace::OwnMemory {
            return looked;
        }
        let line = self.cache.line_of(entry);
        let ready = match self.cache.lookup_line(line) {
            // A later part of another transfer may have asked for it: this look-up is earlier and does not wait for that.
            Lookup::Hit(slot) => {
                self.ready_at[slot.0 as usize].min(looked.at() + self.fetch_latency)
            }
            Lookup::Miss(slot) => {
                self.counts.misses += 1;
                self.fetch(walk.side, looked.at(), slot.0)
            }
        };
        if walk.line != Some(line) {
            walk.line = Some(line);
            for ahead in lines_ahead(line, walk.last_line, self.spec.prefetch_groups) {
                if let Lookup::Miss(slot) = self.cache.lookup_line(ahead) {
                    self.counts.prefetches += 1;
                    self.fetch(walk.side, looked.at(), slot.0);
                }
            }
        }
        let known = looked.until(ready.max(looked.at()), Cause::Table);
        self.counts.waited += known.at() - at.at();
        known
    }

    fn fetch(&mut self, side: Side, at: Picos, slot: u32) -> Picos {
        if self.ready_at.is_empty() {
            self.ready_at = vec![Picos::ZERO; self.cache.slots() as usize];
        }
        let fetches = match side {
            Side::Send => &mut self.send_fetches,
            Side::Receive => &mut self.receive_fetches,
        };
        let done = fetches.admit(at) + self.fetch_latency;
        fetches.hold_until(done);
        self.ready_at[slot as usize] = done;
        done
    }

    /// Forgets the entries of `bytes` bytes at `address` of `port`.
    pub fn invalidate(&mut self, port: PortId, address: u64, bytes: u64) {
        let last = address.saturating_add(bytes.saturating_sub(1));
        let (first, last) = (self.entry_of(port, address), self.entry_of(port, last));
        self.counts.invalidated += u64::from(self.cache.invalidate(first, last));
    }
}
