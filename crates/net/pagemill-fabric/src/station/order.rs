//! Keeping the order of time among processes that run when they like.
//!
//! A station may go on to a time once no message can come any more that arrives before it. The others' `base` on
//! the board says how early they can still send; what they send arrives the lookahead later.

use std::time::{Duration, Instant};

use pagemill_map::Limits;
use pagemill_types::Picos;

use crate::board::{NEVER, Seen};
use crate::counters::Counter;

use super::{IDLE_POLLS, PacketKey, Station};

/// Tries to see all rings empty before a look at the others' times is put off.
const DRAIN_TRIES: u32 = 8;

/// How a station is set up.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Real time without any progress of the others after which their order is given up.
    pub patience: Duration,
    /// Whether a start line follows: until then, messages are taken as they come.
    pub has_start_line: bool,
    /// Events that are kept for a timeline; 0 for none.
    pub events_max: usize,
    /// Bounds of the map of its translation table, where one is recorded.
    pub table_map: Option<Limits>,
}

impl Station {
    /// Records the use of its translation table, if that is wished. Nothing is in the interface's cache yet.
    pub(super) fn record_table(&mut self) {
        if let Some(limits) = self.settings.table_map {
            self.rank.record_table(limits);
        }
    }

    /// Ends that record: the bytes of a page map.
    pub fn take_table_map(&mut self) -> Option<Vec<u8>> {
        self.rank.take_table_map(Picos(self.clock_ps))
    }

    /// Crosses the start line: waits until all stations are here, and sets all clocks to the latest of them.
    pub fn start(&mut self) {
        if self.is_started {
            return;
        }
        self.board.start(self.index, self.clock_ps);
        let patience = Patience::new(self.settings.patience);
        loop {
            let seen = self.board.news(self.index);
            self.pump();
            if let Some(latest) = self.board.started() {
                self.pass_until(latest, Counter::StartPs);
                break;
            }
            if patience.is_out() {
                self.counters.add(Counter::ForcedSteps, 1);
                break;
            }
            self.board.wait_for_news(self.index, Seen::news(seen));
        }
        if self.node.is_shared() {
            // Until here, each copy went its own way. The machine was checked when the rank was made.
            let _ = self.rank.restart_interface();
            self.record_table();
            self.asked_last = (0, 0);
        }
        self.is_started = true;
        self.idle_polls = 0;
        self.horizon_ps = 0;
        self.synchronize(self.clock_ps);
    }

    /// Sends what is on its way out, and leaves the board.
    pub fn leave(&mut self) {
        let patience = Patience::new(self.settings.patience);
        while !self.rings.is_flushed() && !patience.is_out() {
            let seen = self.board.news(self.index);
            self.pump();
            self.board.wait_for_news(self.index, Seen::news(seen));
        }
        self.publish();
        self.board.leave(self.index);
    }

    /// The program waits for something outside of the network, as after many polls without an event.
    pub fn step_aside(&mut self) {
        if self.is_started {
            self.catch_up();
            self.idle_polls = IDLE_POLLS;
            self.wait_for_next(false);
        }
    }

    /// Before the program does something: all that happened until now has happened.
    pub(super) fn act(&mut self) {
        self.stop_idling();
        self.is_looking = false;
        self.catch_up();
    }

    /// The program does something else than wait.
    pub(super) fn stop_idling(&mut self) {
        if self.idle_polls >= IDLE_POLLS && self.base_ps > self.clock_ps {
            // It had promised to send nothing before `base_ps`.
            self.counters.add(Counter::LateSteps, 1);
        }
        self.idle_polls = 0;
    }

    /// Before the program looks: the same, unless it has looked already.
    pub(super) fn look(&mut self) {
        if self.idle_polls == 0 {
            self.catch_up();
        } else {
            self.pump();
            self.process_until(self.clock_ps);
        }
    }

    /// Waits until no message can come any more that arrives up to now, and processes those that did.
    fn catch_up(&mut self) {
        self.pump();
        let is_open = self.is_started && self.is_open();
        let mut are_in_time = !is_open || self.wait_for_others();
        self.process_until(self.clock_ps);
        // What was answered just now may bring another message before the program acts.
        while are_in_time && self.is_started && self.horizon_ps <= self.acting_ps() {
            are_in_time = self.wait_for_others();
            self.process_until(self.clock_ps);
        }
    }

    /// Whether a message that is not known yet may arrive before the program acts.
    fn is_open(&self) -> bool {
        self.horizon_ps.min(self.rings.earliest_partial()) <= self.acting_ps()
    }

    /// Waits until no message can come any more that arrives before the program acts; returns whether the others went on in time.
    fn wait_for_others(&mut self) -> bool {
        let mut patience = Patience::new(self.settings.patience);
        loop {
            let (seen, before) = (self.board.news(self.index), self.horizon_ps);
            let acting_ps = self.acting_ps();
            self.synchronize(acting_ps);
            if !self.is_open() {
                return true;
            }
            // What is known to be first can be done, and the others may wait for its effects.
            self.process_until(self.clock_ps);
            if self.horizon_ps > before {
                patience = Patience::new(self.settings.patience);
            } else if patience.is_out() {
                self.counters.add(Counter::ForcedSteps, 1);
                self.horizon_ps = acting_ps + 1;
                return false;
            }
            self.board.wait_for_news(self.index, self.seen(seen));
        }
    }

    /// Moves on to the next event of the program if it is certain which one that is; for one that `looks_for_messages`,
    /// every packet may be one.
    pub(super) fn wait_for_next(&mut self, looks_for_messages: bool) {
        loop {
            let next = self.next_arrival().min(self.next_ready());
            if self.is_started {
                self.synchronize(next.max(self.acting_ps()));
            }
            // Something earlier may have come to light.
            let (arrival, ready) = (self.next_arrival(), self.next_ready());
            let next = arrival.min(ready);
            let is_certain = !self.is_started || next < self.horizon_ps;
            if next == NEVER || !is_certain || self.rings.earliest_partial() <= next {
                return;
            }
            if ready < arrival {
                self.wait_for_ready(ready);
                return self.publish();
            }
            self.process_first();
            if looks_for_messages {
                // The program may find it when it looks again: it does not wait until it has.
                self.idle_polls = 0;
                return;
            }
        }
    }

    /// Moves the clock on to the first completion, which is seen at `ready_ps`.
    fn wait_for_ready(&mut self, ready_ps: u64) {
        let first = self.ready.first_key_value().map(|(_, ready)| *ready);
        if let Some(first) = first {
            self.wait_until(ready_ps, first.done.kind.wait(), &first.trail);
        }
    }

    /// Gives the interface what arrived up to `until_ps`.
    pub(super) fn process_until(&mut self, until_ps: u64) {
        loop {
            let next = self.next_arrival();
            let is_certain = !self.is_started || next < self.horizon_ps;
            if next > until_ps
                || next == NEVER
                || !is_certain
                || self.rings.earliest_partial() <= next
            {
                return;
            }
            self.process_first();
        }
    }

    fn process_first(&mut self) {
        let Some((key, mut frame)) = self.inbox.pop_first() else {
            return;
        };
        let late_ps = self.asked_ps.saturating_sub(key.0);
        if late_ps > 0 {
            self.counters.add(Counter::LateSteps, 1);
            let departure = &mut frame.packet.flight.departure;
            departure.first.0 += late_ps;
            departure.last.0 += late_ps;
        }
        self.asked_ps = self.asked_ps.max(key.0);
        self.repeat_until(self.asked_ps);
        self.take_frame(frame);
    }

    fn next_arrival(&self) -> u64 {
        self.inbox
            .first_key_value()
            .map_or(NEVER, |(key, _): (&PacketKey, _)| key.0)
    }

    fn next_ready(&self) -> u64 {
        self.ready.first_key_value().map_or(NEVER, |(key, _)| key.0)
    }

    fn pump(&mut self) {
        let (inbox, repeats) = (&mut self.inbox, &mut self.repeats);
        self.rings
            .pump(&mut |frame| Self::sort_in(inbox, repeats, frame));
    }

    /// Publishes that this station does nothing before `next_ps` but answer what is in its inbox, and learns how far they are.
    pub(super) fn synchronize(&mut self, next_ps: u64) {
        for _ in 0..DRAIN_TRIES {
            self.pump();
            let held = self.board.lock();
            if !self.rings.is_drained() {
                continue;
            }
            // What is not in a ring yet counts as not sent yet.
            let unsent = self.rings.earliest_unsent();
            let known = self.next_arrival().min(self.rings.earliest_partial());
            let base = next_ps
                .min(known)
                .min(unsent.saturating_sub(self.lookahead_ps));
            // Who gets it can answer, but does not know of it yet.
            let bases = (self.board).set_base(&held, self.index, base, self.lookahead_ps);
            drop(held);
            self.board.notify_each(bases.can_go_on);
            self.base_ps = base;
            self.others_ps = bases.others_ps;
            let others = bases.others_ps.min(unsent);
            let mates_ps = bases.mates_ps.min(self.earliest_unsent_to_mates());
            self.horizon_ps = others.saturating_add(self.lookahead_ps).min(mates_ps);
            // Nothing else can come before it.
            self.repeat_before((base.min(mates_ps), 0));
            return;
        }
    }
}

/// How much real time is left.
pub(super) struct Patience {
    until: Instant,
}

impl Patience {
    pub(super) fn new(span: Duration) -> Self {
        Self {
            until: Instant::now() + span,
        }
    }

    pub(super) fn is_out(&self) -> bool {
        Instant::now() >= self.until
    }
}

#[cfg(test)]
mod tests;
