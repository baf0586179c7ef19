//! Faults on their way to the driver, and who waits for them.

#[cfg(test)]
mod access;
mod blocked;
mod invariants;
mod turns;

use std::collections::VecDeque;

use pagemill_policy::residency::BLOCK_PAGES;
use pagemill_types::{CheckSchedule, Invariants, Picos};

// An access that faults takes three steps, each of which can be full:
//
//   warp --> table of its uTLB --> buffer --> batch of the driver
//            (utlb_outstanding)   (order)    (batch_entries)
//     |           |
//     |           +- same page: joins the entry, costs no room
//     +- table full: blocked, until a replay makes room
//
// Which faults a batch gets decides everything behind it: neighbors that arrive in one batch are one copy, in two batches two.
use super::spec::{FaultOrder, FaultSpec};
use blocked::Blocked;
use turns::Turns;

/// An access that sleeps until its page is there.
pub trait Waiter: Copy {
    /// The first-level TLB of its SM.
    fn utlb(&self) -> u32;

    /// Its 4 KiB page.
    fn page(&self) -> u32;

    /// Whether it writes.
    fn writes(&self) -> bool;

    /// The instruction of its kernel.
    fn instruction(&self) -> u32 {
        0
    }

    /// Its warp, or what else makes several accesses at a time.
    fn warp(&self) -> u32;

    /// As how many accesses access counters count it.
    fn requests(&self) -> u32 {
        1
    }
}

/// A page that has to be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) page: u32,
    pub(super) writes: bool,
    /// The instruction of the first access.
    pub(super) instruction: u32,
}

impl Fault {
    /// Faults are served in order of their pages, then reads first, then by instruction.
    pub(super) fn order(&self) -> (u64, u32) {
        let page = u64::from(self.page) << 1 | u64::from(self.writes);
        (page, self.instruction)
    }
}

/// No entry.
const NONE: u32 = u32::MAX;

/// A page that the SMs of one first-level TLB have faulted on.
#[derive(Clone, Debug)]
struct Entry<W> {
    /// Counts entries up as they are made: the order of the buffer.
    number: u64,
    /// Its place in the table of its first-level TLB.
    slot: u32,
    /// The next entry of the same block, in no order.
    next_of_block: u32,
    /// Mostly the only one, so it lies here.
    first: W,
    more: Vec<W>,
    /// Whether any of them writes.
    writes: bool,
}

impl<W: Waiter> Entry<W> {
    fn page(&self) -> u32 {
        self.first.page()
    }
}

/// An entry in the order of the buffer, with what the driver asks of it.
#[derive(Clone, Copy, Debug)]
struct Ordered {
    /// `NONE` once it has ended.
    id: u32,
    page: u32,
    not_before: Picos,
}

/// What the SMs of a first-level TLB have faulted on, and accesses that found the table full.
#[derive(Clone, Debug)]
struct Table<W> {
    pages: Vec<u32>,
    /// The entry of each of `pages`.
    entries: Vec<u32>,
    blocked: Blocked<W>,
}

impl<W: Waiter> Table<W> {
    fn new(utlb: u32) -> Self {
        Self {
            pages: Vec::new(),
            entries: Vec::new(),
            blocked: Blocked::new(u64::from(utlb)),
        }
    }

    /// The entry of `page`. Most pages have none, which a look at all of them finds fastest.
    #[inline]
    fn find(&self, page: u32) -> Option<u32> {
        // Without an early end, so that the compiler compares many pages at a time: tables hold some tens, and mostly miss.
        let found = self
            .pages
            .iter()
            .fold(false, |found, &held| found | (held == page));
        if !found {
            return None;
        }
        let place = self.pages.iter().position(|&held| held == page)?;
        Some(self.entries[place])
    }

    /// Takes the entry at `slot` out; answers which one is there now, if any is.
    fn remove(&mut self, slot: u32) -> Option<u32> {
        self.pages.swap_remove(slot as usize);
        self.entries.swap_remove(slot as usize);
        self.entries.get(slot as usize).copied()
    }
}

/// The fault buffer. Faults that a flush drops come back in the order that the machine names, so they simply stay.
#[derive(Clone, Debug)]
pub(super) struct FaultBuffer<W> {
    entries: Vec<Entry<W>>,
    free: Vec<u32>,
    /// The entries by number, those first that were made first. The first of them has not ended.
    order: VecDeque<Ordered>,
    /// The number of the first of `order`.
    first_number: u64,
    /// An entry of each block, if it has one.
    of_block: Vec<u32>,
    tables: Vec<Table<W>>,
    order_of_faults: FaultOrder,
    turns: Turns,
    limit: usize,
    /// Entries that a replay ends, with their numbers. Reused.
    ended: Vec<(u64, u32)>,
    /// Accesses that faulted, merged or not.
    pub(super) faults: u64,
    /// Entries made.
    pub(super) made: u64,
    checks: CheckSchedule,
}

impl<W: Waiter> FaultBuffer<W> {
    pub(super) fn new(utlbs: u32, spec: &FaultSpec) -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            order: VecDeque::new(),
            first_number: 0,
            of_block: Vec::new(),
            tables: (0..utlbs).map(Table::new).collect(),
            order_of_faults: spec.order,
            turns: Turns::new(utlbs),
            limit: spec.utlb_outstanding as usize,
            ended: Vec::new(),
            faults: 0,
            made: 0,
            checks: CheckSchedule::default(),
        }
    }

    /// An access faults: it joins the entry of its page, makes one, or waits for the table.
    #[inline]
    pub(super) fn fault(&mut self, waiter: W) {
        self.faults += 1;
        let table = &mut self.tables[waiter.utlb() as usize];
        if let Some(entry) = table.find(waiter.page()) {
            let entry = &mut self.entries[entry as usize];
            // One write among them makes the page one that is to be written: it must not come to be read alone.
            entry.writes |= waiter.writes();
            entry.more.push(waiter);
        } else if table.pages.len() >= self.limit {
            table.blocked.push(waiter);
        } else {
            self.enter(waiter);
        }
    }

    fn enter(&mut self, waiter: W) {
        let page = waiter.page();
        let of_block = &mut self.of_block[(page / BLOCK_PAGES) as usize];
        let entry = Entry {
            number: self.made,
            slot: self.tables[waiter.utlb() as usize].pages.len() as u32,
            next_of_block: *of_block,
            first: waiter,
            more: Vec::new(),
            writes: waiter.writes(),
        };
        let id = self.free.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(id as usize) {
            Some(freed) => {
                // Its list keeps its memory for the next page that several accesses fault on.
                let more = std::mem::take(&mut freed.more);
                *freed = Entry { more, ..entry };
            }
            None => self.entries.push(entry),
        }
        *of_block = id;
        self.order.push_back(Ordered {
            id,
            page,
            not_before: Picos::ZERO,
        });
        let table = &mut self.tables[waiter.utlb() as usize];
        table.pages.push(page);
        table.entries.push(id);
        self.made += 1;
    }

    /// The entries in the order of the buffer.
    fn in_order(&self) -> impl Iterator<Item = &Ordered> {
        self.order.iter().filter(|entry| entry.id != NONE)
    }

    /// The pages of at most `limit` entries that may be served at `now`, in the machine's order.
    pub(super) fn fetch(&mut self, now: Picos, limit: u32, faults: &mut Vec<Fault>) {
        faults.clear();
        let entries = &self.entries;
        let in_order = self.order.iter().filter(|entry| entry.id != NONE);
        let due = in_order.filter(|entry| entry.not_before <= now);
        let fault_of = |id: u32| {
            let entry = &entries[id as usize];
            Fault {
                page: entry.page(),
                writes: entry.writes,
                instruction: entry.first.instruction(),
            }
        };
        let limit = limit as usize;
        match self.order_of_faults {
            FaultOrder::Arrival => faults.extend(due.take(limit).map(|entry| fault_of(entry.id))),
            // GPUs drain the tables round robin: a batch has entries of all SMs, not of the one that faulted first.
            FaultOrder::Turns => {
                let due = due.map(|entry| (entry.id, entries[entry.id as usize].first.utlb()));
                faults.extend(self.turns.choose(due, limit).map(fault_of));
            }
        }
    }

    /// When the first entry may be served, if there is one.
    pub(super) fn next_due(&self) -> Option<Picos> {
        let mut first = None;
        for entry in self.in_order() {
            if entry.not_before == Picos::ZERO {
                return Some(Picos::ZERO);
            }
            first =
                Some(first.map_or(entry.not_before, |first: Picos| first.min(entry.not_before)));
        }
        first
    }

    /// Whether accesses wait for room although nothing is in the buffer whose replay would make it.
    pub(super) fn waits_for_nothing(&self) -> bool {
        self.order.is_empty() && self.tables.iter().any(|table| !table.blocked.is_empty())
    }

    /// Room for `blocks` blocks of pages.
    pub(super) fn grow(&mut self, blocks: u32) {
        let blocks = self.of_block.len().max(blocks as usize);
        self.of_block.resize(blocks, NONE);
    }

    /// Leaves the entries of `page` alone until `until`.
    pub(super) fn put_off(&mut self, page: u32, until: Picos) {
        let mut at = self.of_block[(page / BLOCK_PAGES) as usize];
        while let Some(entry) = self.entries.get(at as usize) {
            // Each first-level TLB that faulted on the page has an entry of its own.
            if entry.page() == page {
                let place = (entry.number - self.first_number) as usize;
                self.order[place].not_before = until;
            }
            at = entry.next_of_block;
        }
    }

    /// Replay: takes the accesses out whose page `is_there` now, which only pages of the `changed` blocks can be.
    /// Those that were blocked by a full table of their first-level TLB come along when it has room, and may fault anew.
    pub(super) fn replay(
        &mut self,
        changed: &[u32],
        is_there: impl Fn(u32, bool) -> bool,
        awake: &mut Vec<W>,
    ) {
        let mut ended = std::mem::take(&mut self.ended);
        for &block in changed {
            self.take_ended(block, &is_there, &mut ended);
        }
        // In the order in which they were made, not that of blocks: warps must not wake in an order that depends on addresses.
        ended.sort_unstable_by_key(|&(number, _)| number);
        for (number, id) in ended.drain(..) {
            self.order[(number - self.first_number) as usize].id = NONE;
            let entry = &mut self.entries[id as usize];
            awake.push(entry.first);
            awake.append(&mut entry.more);
            let slot = entry.slot;
            if let Some(moved) = self.tables[entry.first.utlb() as usize].remove(slot) {
                self.entries[moved as usize].slot = slot;
            }
            self.free.push(id);
        }
        self.ended = ended;
        while self.order.front().is_some_and(|first| first.id == NONE) {
            self.order.pop_front();
            self.first_number += 1;
        }
        // Room is given away once for each replay, as the hardware drops and repeats blocked accesses only then.
        for table in &mut self.tables {
            let room = self.limit - table.pages.len();
            match self.order_of_faults {
                FaultOrder::Arrival => table.blocked.release_oldest(room, awake),
                FaultOrder::Turns => table.blocked.release_by_warp(room, awake),
            }
        }
        if self.checks.is_due() {
            self.debug_check();
        }
    }

    /// Moves the entries of `block` whose page is there from its list to `ended`.
    fn take_ended(
        &mut self,
        block: u32,
        is_there: impl Fn(u32, bool) -> bool,
        ended: &mut Vec<(u64, u32)>,
    ) {
        let mut kept = NONE;
        let mut at = self.of_block[block as usize];
        while let Some(entry) = self.entries.get_mut(at as usize) {
            let next = entry.next_of_block;
            if is_there(entry.page(), entry.writes) {
                ended.push((entry.number, at));
            } else {
                entry.next_of_block = kept;
                kept = at;
            }
            at = next;
        }
        self.of_block[block as usize] = kept;
    }
}
