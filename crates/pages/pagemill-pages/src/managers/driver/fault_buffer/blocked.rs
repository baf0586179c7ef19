//! Accesses that wait for room in the table of their first-level TLB.

use std::collections::VecDeque;

use super::Waiter;
use crate::parts::random::Random;

/// Accesses that found the table full, those first that came first.
#[derive(Clone, Debug)]
pub(super) struct Blocked<W> {
    waiters: VecDeque<W>,
    /// Where the rest of the warp's accesses begin that had its turn last.
    next: usize,
    warp: Option<u32>,
    chance: Random,
}

impl<W: Waiter> Blocked<W> {
    /// None yet. Equal seeds make equal choices.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            waiters: VecDeque::new(),
            next: 0,
            warp: None,
            chance: Random::new(seed),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(super) fn push(&mut self, waiter: W) {
        self.waiters.push_back(waiter);
    }

    /// Adds the first `room` of them to `awake`.
    pub(super) fn release_oldest(&mut self, room: usize, awake: &mut Vec<W>) {
        let most = room.min(self.waiters.len());
        awake.extend(self.waiters.drain(..most));
    }

    /// Adds `room` of them to `awake`: one warp's accesses after another's, and chance says which warp is next.
    pub(super) fn release_by_warp(&mut self, room: usize, awake: &mut Vec<W>) {
        let mut room = room.min(self.waiters.len());
        while room > 0 {
            let (start, warp) = self.next_run();
            let rest = self.waiters.range(start..);
            let of_warp = rest.take_while(|waiter| waiter.warp() == warp);
            let count = of_warp.take(room).count();
            awake.extend(self.waiters.drain(start..start + count));
            room -= count;
        }
    }

    /// Where the accesses begin that go next, and their warp. There is at least one waiter.
    fn next_run(&mut self) -> (usize, u32) {
        let warp_at = |place: usize| self.waiters.get(place).map(Waiter::warp);
        // A warp whose accesses were cut by a full table goes on where it was: the hardware repeats an instruction, not a lane.
        if let Some(warp) = self.warp
            && warp_at(self.next) == Some(warp)
        {
            return (self.next, warp);
        }
        // Which warp of an SM comes next is not documented. A fixed order would favor low addresses in every batch, so it is drawn.
        let mut start = self.chance.below(self.waiters.len() as u64) as usize;
        let warp = self.waiters[start].warp();
        while start > 0 && self.waiters[start - 1].warp() == warp {
            start -= 1;
        }
        (self.next, self.warp) = (start, Some(warp));
        (start, warp)
    }
}

#[cfg(test)]
mod tests;
