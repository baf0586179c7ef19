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
        if let Some(warp) = self.warp
            && warp_at(self.next) == Some(warp)
        {
            return (self.next, warp);
        }
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
mod tests {
    use super::super::access::Access;
    use super::*;

    fn blocked(warps: u32, accesses: u32) -> Blocked<Access> {
        let mut blocked = Blocked::new(7);
        for warp in 0..warps {
            (0..accesses).for_each(|number| blocked.push(Access(32 * warp + number)));
        }
        blocked
    }

    #[test]
    fn the_oldest_go_first() {
        let (mut blocked, mut awake) = (blocked(2, 3), Vec::new());
        blocked.release_oldest(4, &mut awake);
        assert_eq!(awake, [0, 1, 2, 32].map(Access));
        blocked.release_oldest(4, &mut awake);
        assert!(blocked.is_empty());
        assert_eq!(awake.len(), 6);
    }

    #[test]
    fn a_warp_s_accesses_go_in_a_row_however_little_room_there_is() {
        for room in 1..9 {
            let (mut blocked, mut awake) = (blocked(16, 4), Vec::new());
            while !blocked.is_empty() {
                blocked.release_by_warp(room, &mut awake);
            }
            let mut warps: Vec<u32> = Vec::new();
            for of_warp in awake.chunks(4) {
                let first = of_warp[0].page();
                assert!((first..first + 4).map(Access).eq(of_warp.iter().copied()));
                warps.push(of_warp[0].warp());
            }
            assert!(!warps.is_sorted(), "room {room}: {warps:?}");
            warps.sort_unstable();
            assert!(warps.into_iter().eq(0..16), "each once");
        }
    }
}
