use std::sync::Mutex;
use std::sync::atomic::Ordering;

use pagemill_nic::{NicMachine, NodeSpec};
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
        table_map: None,
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
