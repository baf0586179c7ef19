//! Locks that ranks share in memory: each rank takes, asks for and gives back one when it is its turn in virtual time.

use std::thread::{self, ThreadId};

use crate::board::{NEVER, Seen};
use crate::counters::Counter;

use super::Station;
use super::order::Patience;
use super::requests::Done;
use super::trail::Trail;

/// What a look at a lock that another rank holds costs: about a pass of the MPI library through its progress engine.
const LOOK_PS: u64 = 100_000;

/// From then on a look takes this part of what was waited for, as of a lock that backs off.
const BACK_OFF: u64 = 16;

/// A thread that waits for a lock.
pub(super) struct Locking {
    thread: ThreadId,
    waited_ps: u64,
}

impl Station {
    /// The program takes a lock in shared memory. Until [`Station::has_locked`], each of its polls is a look at the lock.
    pub fn lock(&mut self) {
        if !self.takes_turns() {
            return;
        }
        self.take_turn();
        self.locking = Some(Locking {
            thread: thread::current().id(),
            waited_ps: 0,
        });
    }

    /// It has the lock.
    pub fn has_locked(&mut self) {
        self.locking = None;
    }

    /// The program gives a lock in shared memory back.
    pub fn unlock(&mut self) {
        if self.takes_turns() {
            self.take_turn();
        }
    }

    fn takes_turns(&self) -> bool {
        self.is_started
    }

    /// If the program waits for a lock: lets time pass for a look at it, and returns what else happened until then.
    pub(super) fn poll_in_lock(&mut self) -> Option<Option<Done>> {
        let is_own = |locking: &&Locking| locking.thread == thread::current().id();
        let waited_ps = self.locking.as_ref().filter(is_own)?.waited_ps;
        let seen = self.board.news(self.index);
        // Where all others wait for ever, none gives the lock back in virtual time.
        if self.take_turn() >= NEVER - self.lookahead_ps {
            self.wait = Some(seen);
            return Some(self.take_ready());
        }
        let span_ps = LOOK_PS.max(waited_ps / BACK_OFF);
        let begin = Trail::new(self.clock_ps);
        self.wait_until(self.clock_ps + span_ps, Counter::ProbeWaitPs, &begin);
        if let Some(locking) = &mut self.locking {
            locking.waited_ps += span_ps;
        }
        self.take_turn();
        Some(self.take_ready())
    }

    /// Waits until no other rank acts before this one. Of ranks at the same time, that with the lowest number is the first. Returns
    /// before when none acts but for this one.
    fn take_turn(&mut self) -> u64 {
        self.act();
        let mut patience = Patience::new(self.settings.patience);
        let mut before_ps = 0;
        loop {
            let seen = self.board.news(self.index);
            self.synchronize(self.acting_ps());
            let turn_ps = self.turn_ps();
            if turn_ps > self.acting_ps() {
                return turn_ps;
            }
            self.process_until(self.clock_ps);
            if turn_ps > before_ps {
                patience = Patience::new(self.settings.patience);
            } else if patience.is_out() {
                self.counters.add(Counter::ForcedSteps, 1);
                return turn_ps;
            }
            before_ps = turn_ps;
            let seen = Seen {
                others_ps: self.others_ps,
                ..self.seen(seen)
            };
            self.board.wait_for_news(self.index, seen);
        }
    }

    /// No other rank acts before this time, nor on a message that it does not know of yet.
    fn turn_ps(&self) -> u64 {
        let held = self.board.lock();
        let turn_ps = self.board.turn(&held, self.index);
        turn_ps.min(self.rings.earliest_unsent())
    }
}
