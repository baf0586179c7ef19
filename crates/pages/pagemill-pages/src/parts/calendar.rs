//! Servers that are booked ahead, by requests that do not come in the order of their times.

use std::collections::VecDeque;

use pagemill_types::Picos;

/// Some servers of one service time. Time is cut into slots as long as a service, and a slot takes one request of each
/// server; a request starts within its slot, so that a few more than there are servers can be under way for a moment. Over
/// any longer time the rate is that of the servers, and a request far ahead leaves the time before it to others.
#[derive(Clone, Debug)]
pub struct Calendar {
    slot: Picos,
    servers: u32,
    /// Requests of each slot, from slot number `first` on.
    booked: VecDeque<u32>,
    first: u64,
    /// Slots from `first` on that are full, at least.
    full: usize,
}

impl Calendar {
    /// `servers` (at least one) that each need `busy` (at least a picosecond) for a request.
    pub fn new(servers: u32, busy: Picos) -> Self {
        Self {
            slot: busy.max(Picos(1)),
            servers: servers.max(1),
            booked: VecDeque::new(),
            first: 0,
            full: 0,
        }
    }

    /// Books a server from the first moment at or after `at` that has one, and returns that moment. No later request is for a
    /// time before `now`.
    #[inline]
    pub fn book(&mut self, now: Picos, at: Picos) -> Picos {
        self.forget_before(now.0 / self.slot.0);
        let wanted = (at.0 / self.slot.0).saturating_sub(self.first) as usize;
        let mut slot = wanted.max(self.full);
        while self.requests(slot) == self.servers {
            slot += 1;
        }
        self.booked[slot] += 1;
        while self.booked.get(self.full) == Some(&self.servers) {
            self.full += 1;
        }
        // Within its slot a request starts when it comes: only one that found slots full waits for the start of another.
        at.max(Picos((self.first + slot as u64) * self.slot.0))
    }

    fn requests(&mut self, slot: usize) -> u32 {
        if slot >= self.booked.len() {
            self.booked.resize(slot + 1, 0);
        }
        self.booked[slot]
    }

    fn forget_before(&mut self, slot: u64) {
        let past = slot.saturating_sub(self.first);
        if past == 0 {
            return;
        }
        let held = self.booked.len().min(past as usize);
        self.booked.drain(..held);
        self.full = self.full.saturating_sub(held);
        self.first = slot;
    }
}

#[cfg(test)]
mod tests;
