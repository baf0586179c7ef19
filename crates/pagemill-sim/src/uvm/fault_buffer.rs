//! Faults on their way to the driver, and who waits for them.

use std::collections::VecDeque;

use pagemill_types::Picos;

use super::piece::Piece;

/// An access that sleeps until its page is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub actor: u32,
    pub utlb: u32,
    pub piece: Piece,
}

/// A page that the SMs of one first-level TLB have faulted on.
#[derive(Clone, Debug)]
struct Entry {
    page: u32,
    utlb: u32,
    not_before: Picos,
    waiters: Vec<Waiter>,
}

/// The fault buffer. Faults that a flush drops come back in the order they had, so they simply stay.
#[derive(Clone, Debug)]
pub(super) struct FaultBuffer {
    entries: Vec<Entry>,
    free: Vec<u32>,
    queue: VecDeque<u32>,
    /// For each first-level TLB its entries in the queue, and accesses that found its table full.
    outstanding: Vec<Vec<u32>>,
    blocked: Vec<VecDeque<Waiter>>,
    limit: usize,
    /// Accesses that faulted, merged or not.
    pub faults: u64,
    /// Entries made.
    pub made: u64,
}

impl FaultBuffer {
    pub(super) fn new(utlbs: u32, limit: u32) -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            queue: VecDeque::new(),
            outstanding: vec![Vec::new(); utlbs as usize],
            blocked: vec![VecDeque::new(); utlbs as usize],
            limit: limit as usize,
            faults: 0,
            made: 0,
        }
    }

    /// An access faults: it joins the entry of its page, makes one, or waits for the table.
    pub(super) fn fault(&mut self, waiter: Waiter) {
        self.faults += 1;
        self.enter(waiter);
    }

    fn enter(&mut self, waiter: Waiter) {
        let outstanding = &mut self.outstanding[waiter.utlb as usize];
        let page = waiter.piece.page;
        let same = outstanding
            .iter()
            .find(|&&entry| self.entries[entry as usize].page == page);
        if let Some(&entry) = same {
            self.entries[entry as usize].waiters.push(waiter);
        } else if outstanding.len() >= self.limit {
            self.blocked[waiter.utlb as usize].push_back(waiter);
        } else {
            let id = self.free.pop().unwrap_or_else(|| {
                self.entries.push(Entry {
                    page,
                    utlb: 0,
                    not_before: Picos::ZERO,
                    waiters: Vec::new(),
                });
                self.entries.len() as u32 - 1
            });
            let entry = &mut self.entries[id as usize];
            entry.page = page;
            entry.utlb = waiter.utlb;
            entry.not_before = Picos::ZERO;
            entry.waiters.push(waiter);
            outstanding.push(id);
            self.queue.push_back(id);
            self.made += 1;
        }
    }

    /// The pages of the first `limit` entries that may be served at `now`, in the order of the buffer.
    pub(super) fn fetch(&self, now: Picos, limit: u32, pages: &mut Vec<u32>) {
        pages.clear();
        let due = self
            .queue
            .iter()
            .map(|&id| &self.entries[id as usize])
            .filter(|entry| entry.not_before <= now);
        pages.extend(due.take(limit as usize).map(|entry| entry.page));
    }

    /// When the first entry may be served, if there is one.
    pub(super) fn next_due(&self) -> Option<Picos> {
        let due = self.queue.iter();
        due.map(|&id| self.entries[id as usize].not_before).min()
    }

    /// Leaves the entries of `page` alone until `until`.
    pub(super) fn put_off(&mut self, page: u32, until: Picos) {
        for &id in &self.queue {
            let entry = &mut self.entries[id as usize];
            if entry.page == page {
                entry.not_before = until;
            }
        }
    }

    /// Replay: takes the accesses out whose page `is_there` now. Those that were blocked by a full table of their
    /// first-level TLB come along when it has room, and may fault anew.
    pub(super) fn replay(&mut self, is_there: impl Fn(u32) -> bool, awake: &mut Vec<Waiter>) {
        let mut kept = VecDeque::with_capacity(self.queue.len());
        while let Some(id) = self.queue.pop_front() {
            let entry = &mut self.entries[id as usize];
            if !is_there(entry.page) {
                kept.push_back(id);
                continue;
            }
            awake.append(&mut entry.waiters);
            let utlb = entry.utlb as usize;
            self.outstanding[utlb].retain(|&other| other != id);
            self.free.push(id);
        }
        self.queue = kept;
        for (utlb, blocked) in self.blocked.iter_mut().enumerate() {
            let room = self.limit - self.outstanding[utlb].len();
            awake.extend(blocked.drain(..room.min(blocked.len())));
        }
    }
}
