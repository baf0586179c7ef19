//! Keeping the order of time among processes that run when they like.
//!
//! A station may go on to a time once no message can come any more that arrives before it. The others' `base` on
//! the board says how early they can still send; what they send arrives the lookahead later.

use std::time::{Duration, Instant};

use crate::board::{NEVER, Seen};
use crate::counters::Counter;

use super::{IDLE_POLLS, PacketKey, Station};

/// Tries to see all rings empty before a look at the others' times is put off.
const DRAIN_TRIES: u32 = 8;

impl Station {
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
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::Ordering;

    use pagemill_sim::nic::{NicMachine, NodeSpec};
    use pagemill_types::{Invariants, Picos};

    use crate::board::Board;
    use crate::board::segment::private;
    use crate::memory::{Buffer, Memory};
    use crate::station::{Settings, Ticket};

    use super::*;

    struct NoMemory;

    impl Memory for NoMemory {
        fn load(&self, _: u64, bytes: usize, to: &mut Vec<u8>) {
            to.resize(to.len() + bytes, 0);
        }

        fn store(&mut self, _: u64, _: &[u8]) {}
    }

    fn pair() -> [Station; 2] {
        let board = private("").expect("memory");
        [0, 1].map(|index| station(board, index, 2))
    }

    fn station(board: Board, index: u32, stations: u32) -> Station {
        board.join(Some(index), Some(stations)).expect("room");
        let settings = Settings {
            patience: Duration::from_secs(10),
            has_start_line: false,
            events_max: 0,
        };
        let machine = NicMachine::pni();
        Station::new(board, index, &machine, settings, Box::new(NoMemory)).expect("sound")
    }

    /// A board whose stations are one node.
    fn node(ranks: u32) -> Board {
        let board = private("").expect("memory");
        board.set_node(NodeSpec {
            ranks,
            latency: Picos::from_nanos(220),
        });
        board
    }

    const TAG: u64 = 7;

    /// Polls until the station waits.
    fn idle(station: &mut Station) {
        for _ in 0..2 * IDLE_POLLS {
            station.poll();
        }
    }

    #[test]
    fn a_program_that_looks_for_messages_does_not_wait_past_one_that_it_may_find() {
        let [mut sender, mut looking] = pair();
        assert!(looking.peek(None, TAG, 0).is_none());
        idle(&mut looking);
        sender.send(1, TAG, None, &Buffer::new(0, 0), Ticket(0));
        idle(&mut sender);
        while looking.asked_ps == 0 {
            assert!(looking.poll().is_none());
        }
        let arrival_ps = looking.asked_ps;
        for _ in 1..IDLE_POLLS {
            assert!(looking.poll().is_none());
            assert!(looking.base_ps <= arrival_ps, "{}", looking.base_ps);
        }
        assert!(looking.peek(None, TAG, 0).is_some());
        assert_eq!(looking.clock_ps, arrival_ps);
    }

    #[test]
    fn polls_that_are_only_counted_bring_what_polls_bring() {
        let arrival_ps = |counts: bool| {
            let [mut sender, mut receiver] = pair();
            receiver.receive(None, TAG, 0, Buffer::new(0, 0), Ticket(1));
            idle(&mut receiver);
            sender.send(1, TAG, None, &Buffer::new(0, 0), Ticket(0));
            idle(&mut sender);
            receiver.stop_idling();
            let mut polls = 0;
            while receiver.poll().is_none() {
                let ahead = if counts {
                    receiver.idle_polls_ahead()
                } else {
                    0
                };
                receiver.count_idle_polls(ahead);
                polls += 1 + ahead;
            }
            assert_eq!(receiver.idle_polls_ahead(), 0);
            (polls, receiver.clock_ps)
        };
        assert_eq!(arrival_ps(true), arrival_ps(false));
        assert_eq!(arrival_ps(true).0, IDLE_POLLS - 1);
    }

    #[test]
    fn a_message_that_answers_what_arrived_just_now_is_not_late() {
        let [mut sender, mut receiver] = pair();
        let large = || Buffer::new(0, 1 << 20);
        receiver.receive(None, TAG, 0, large(), Ticket(1));
        receiver.compute(1_000_000_000);
        // It says how far it is.
        receiver.synchronize(receiver.clock_ps);
        sender.send(1, TAG, None, &large(), Ticket(0));
        idle(&mut sender);
        let sends = std::thread::spawn(move || {
            while sender.poll().is_none() {}
            sender.leave();
        });
        // The announcement arrived while the receiver computed. The data, for which it asks now, arrives before it acts.
        receiver.send(0, TAG + 1, None, &Buffer::new(0, 0), Ticket(2));
        while receiver.requests.find(Ticket(1)).is_some() {
            receiver.poll();
        }
        sends.join().expect("a sender");
        for counter in [Counter::LateSteps, Counter::ForcedSteps] {
            for index in [0, 1] {
                let count = receiver.board.counter(index, counter as usize);
                assert_eq!(count.load(Ordering::Relaxed), 0, "{counter:?} of {index}");
            }
        }
    }

    #[test]
    fn a_mate_may_act_on_a_message_that_it_does_not_know_of_yet() {
        let board = node(2);
        let mut sender = station(board, 1, 2);
        board.join(Some(0), Some(2)).expect("room");
        let waits = || board.set_base(&board.lock(), 0, NEVER, 0);
        waits();
        for ticket in [0, 1] {
            // A ring is too small for the first one already.
            sender.send(0, TAG, None, &Buffer::new(0, 300_000), Ticket(ticket));
        }
        let arrival_ps = sender.rings.earliest_unsent();
        assert!(arrival_ps < NEVER);
        // It has taken the first, and waits.
        waits();
        sender.synchronize(sender.clock_ps);
        assert!(sender.horizon_ps <= arrival_ps);
    }

    #[test]
    fn a_request_that_the_rank_has_forgotten_is_noticed() {
        let [mut station, _] = pair();
        station.receive(None, TAG, 0, Buffer::new(0, 0), Ticket(1));
        assert_eq!(station.broken_invariant(), None);
        let request = station.requests.find(Ticket(1)).expect("it is open");
        station.rank.cancel(Picos::ZERO, request, &mut Vec::new());
        let broken = station.broken_invariant().expect("noticed");
        assert!(broken.contains("the rank does not work on it"), "{broken}");
    }

    #[test]
    fn ranks_take_turns_at_one_time_by_number() {
        let board = node(3);
        let stations = [2, 0, 1].map(|index| station(board, index, 3));
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for mut station in stations {
                let order = &order;
                scope.spawn(move || {
                    for _ in 0..3 {
                        station.lock();
                        station.has_locked();
                        order.lock().expect("no panic").push(station.index);
                    }
                    station.leave();
                });
            }
        });
        let order = order.into_inner().expect("no panic");
        assert_eq!(order, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
    }
}
