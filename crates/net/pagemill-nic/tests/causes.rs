//! What transfers spend their time on.

use pagemill_nic::{Cause, Moment, Moments, NicMachine, Packet, Rank, Receive, Send, Step, Traced};
use pagemill_types::Picos;
use proptest::prelude::*;

/// Two ranks over plain times, and the same two over traced ones.
struct Twins {
    plain: [Rank; 2],
    traced: [Rank<Traced>; 2],
}

/// A call that leads to steps.
trait Call {
    fn of<M: Moment>(&self, rank: &mut Rank<M>, steps: &mut Vec<Step>);
}

struct Sends(Picos, Send);
struct Receives(Picos, Receive);
struct Arrives(Packet);

impl Call for Sends {
    fn of<M: Moment>(&self, rank: &mut Rank<M>, steps: &mut Vec<Step>) {
        rank.send(self.0, &self.1, steps);
    }
}

impl Call for Receives {
    fn of<M: Moment>(&self, rank: &mut Rank<M>, steps: &mut Vec<Step>) {
        rank.receive(self.0, &self.1, steps);
    }
}

impl Call for Arrives {
    fn of<M: Moment>(&self, rank: &mut Rank<M>, steps: &mut Vec<Step>) {
        rank.arrive(&self.0, steps);
    }
}

fn total(way: &Traced) -> Picos {
    let spans = Cause::ALL.map(|cause| way.span(cause).0);
    Picos(spans.iter().sum())
}

/// Every way goes from its start to its end.
fn check(moments: &Moments<Traced>, steps: &[Step]) {
    let sent = moments.sent.as_ref();
    let ways = (sent.iter()).flat_map(|sent| [sent.last, sent.over]);
    for way in moments.arrived.into_iter().chain(ways) {
        assert_eq!(way.from() + total(&way), way.at());
        let others = [Cause::Partner, Cause::Software].map(|cause| way.span(cause));
        assert_eq!(others, [Picos::ZERO; 2], "an interface knows of neither");
    }
    for step in steps {
        if let (Step::Transmit(packet), Some(sent)) = (step, sent) {
            assert_eq!(sent.last.from(), sent.rung);
            assert_eq!(sent.last.at(), packet.flight.departure.last);
        }
    }
}

impl Twins {
    fn new(machine: &NicMachine) -> Self {
        Self {
            plain: [0, 1].map(|id| Rank::new(machine, id).unwrap()),
            traced: [0, 1].map(|id| Rank::traced(machine, id).unwrap()),
        }
    }

    /// Makes a call of both twins.
    fn call(&mut self, rank: usize, call: &impl Call) -> Vec<Step> {
        let (mut plain, mut traced) = (Vec::new(), Vec::new());
        call.of(&mut self.plain[rank], &mut plain);
        call.of(&mut self.traced[rank], &mut traced);
        assert_eq!(plain, traced);
        check(self.traced[rank].moments(), &traced);
        traced
    }

    /// Makes calls in the order of time, and lets packets arrive in between.
    fn run(&mut self, calls: Vec<(u64, usize, bool, u64)>) {
        let mut packets: Vec<Packet> = Vec::new();
        let mut calls = calls.into_iter().peekable();
        loop {
            packets.sort_by_key(|packet| std::cmp::Reverse(packet.key()));
            let next = packets.last().map(|packet| packet.key().0.0);
            let call = calls.next_if(|call| next.is_none_or(|next| call.0 < next));
            let steps = match (call, packets.pop()) {
                (Some((at, rank, sends, bytes)), packet) => {
                    packets.extend(packet);
                    let address = (rank as u64 + 1) << 30 | bytes << 12;
                    let receive = Receive {
                        source: None,
                        tag: 0,
                        ignore: 0,
                        bytes: 1 << 20,
                        address,
                    };
                    let send = Send {
                        dest: 1 - rank as u32,
                        tag: 0,
                        bytes,
                        address,
                    };
                    match sends {
                        true => self.call(rank, &Sends(Picos(at), send)),
                        false => self.call(rank, &Receives(Picos(at), receive)),
                    }
                }
                (None, Some(packet)) => self.call(packet.dest as usize, &Arrives(packet)),
                (None, None) => return,
            };
            packets.extend(steps.into_iter().filter_map(|step| match step {
                Step::Transmit(packet) => Some(packet),
                _ => None,
            }));
        }
    }
}

proptest! {
    #[test]
    fn traced_times_are_the_plain_ones_and_causes_add_up(
        calls in proptest::collection::vec((0_u64..3_000_000, 0_usize..2, any::<bool>(), 0_u64..200_000), 1..40),
        translates_ahead: bool,
        prefetch_groups in 0_u32..3,
    ) {
        let mut machine = NicMachine::pni();
        machine.engine.translate_ahead = translates_ahead;
        machine.att.prefetch_groups = prefetch_groups;
        let mut at = 0;
        let calls = calls.into_iter().map(|(gap, rank, sends, bytes)| {
            at += gap;
            (at, rank, sends, if bytes % 3 == 0 { bytes % 500 } else { bytes })
        });
        Twins::new(&machine).run(calls.collect());
    }
}

/// What a message of one page spends on its way out and in, for a sender that is idle.
fn one_page(rank: &mut [Rank<Traced>; 2], at: Picos) -> [Traced; 2] {
    let bytes = 4096;
    let mut steps = Vec::new();
    let receive = Receive {
        source: Some(0),
        tag: 0,
        ignore: 0,
        bytes,
        address: 2 << 30,
    };
    rank[1].receive(at, &receive, &mut steps);
    let send = Send {
        dest: 1,
        tag: 0,
        bytes,
        address: 1 << 30,
    };
    rank[0].send(at, &send, &mut steps);
    let mut ways = None;
    while let Some(step) = steps.pop() {
        if let Step::Transmit(packet) = step {
            let out = rank[packet.source as usize].moments().sent.unwrap().last;
            let dest = &mut rank[packet.dest as usize];
            dest.arrive(&packet, &mut steps);
            ways = Some([out, dest.moments().arrived.unwrap()]);
        }
    }
    ways.unwrap()
}

#[test]
fn a_miss_makes_a_transfer_longer_by_what_it_is_said_to_wait_for_the_table() {
    let mut machine = NicMachine::pni();
    machine.messages.eager_bytes = 0;
    machine.messages.short_bytes = 0;
    machine.engine.segment_bytes = 4096;
    let mut ranks = [0, 1].map(|id| Rank::traced(&machine, id).unwrap());
    let cold = one_page(&mut ranks, Picos(0));
    let warm = one_page(&mut ranks, Picos(1_000_000_000));
    for (cold, warm) in cold.iter().zip(&warm) {
        assert_eq!(warm.span(Cause::Table), Picos::ZERO);
        assert_eq!(total(cold) - total(warm), cold.span(Cause::Table));
        assert_eq!(warm.span(Cause::Busy), Picos::ZERO);
    }
    assert!(cold[0].span(Cause::Table) > Picos::ZERO);
    // One segment: its head flies, and its bits come one after the other.
    let busy = (machine.wire.bandwidth).time_for(machine.wire.wire_bytes(4096));
    assert_eq!(warm[0].span(Cause::Wire), machine.wire.flight());
    assert_eq!(warm[1].span(Cause::Wire), busy);
}

#[test]
fn a_transfer_behind_another_one_waits_for_it() {
    let machine = NicMachine::pni();
    let mut rank = Rank::traced(&machine, 0).unwrap();
    let mut way = |at| {
        let send = Send {
            dest: 1,
            tag: 0,
            bytes: 0,
            address: 0,
        };
        rank.send(at, &send, &mut Vec::new());
        rank.moments().sent.unwrap().last
    };
    let (first, second) = (way(Picos(0)), way(Picos(0)));
    assert_eq!(first.span(Cause::Busy), Picos::ZERO);
    assert_eq!(second.span(Cause::Busy), machine.engine.mp_gap);
    assert_eq!(second.span(Cause::Wire), machine.wire.flight());
}
