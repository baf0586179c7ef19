//! An interface that several stations share: each has a copy, and repeats what the others ask of theirs, in one order.
//!
//! A station asks at a time only when no other of its node can ask before, and has repeated all that they asked before. So the copies
//! stay the same without a process that owns the interface (`docs/adr/0008-fabric.md`).

use pagemill_nic::{NicCall, Packet};

use crate::board::NEVER;
use crate::counters::Counter;

use super::Station;
use super::frame::Frame;
use super::trail::Trail;

impl Station {
    /// Takes what came in over a wire.
    pub(super) fn sort_in(
        inbox: &mut std::collections::BTreeMap<super::PacketKey, Frame>,
        repeats: &mut std::collections::BTreeMap<super::PacketKey, NicCall>,
        frame: Frame,
    ) {
        let packet = &frame.packet;
        let call = NicCall::unpack(packet.source, &packet.flight, &packet.body);
        match (frame.asked_ps(), call) {
            (Some(asked_ps), Some(call)) => {
                repeats.insert((asked_ps, packet.source, packet.sequence), call);
            }
            _ => {
                inbox.insert(super::key_of(&frame.packet), frame);
            }
        }
    }

    /// Repeats what others asked of the interface before this station asks it something at `asked_ps`.
    pub(super) fn repeat_until(&mut self, asked_ps: u64) {
        self.repeat_before((asked_ps, self.index));
    }

    /// Repeats what others asked of the interface up to there, in the order of time and station.
    pub(super) fn repeat_before(&mut self, end: (u64, u32)) {
        while let Some(first) = self.repeats.first_entry() {
            let (at_ps, source, _) = *first.key();
            if (at_ps, source) >= end || !self.is_started {
                return;
            }
            let call = first.remove();
            self.has_asked((at_ps, source));
            self.rank.repeat(&call);
        }
    }

    /// Notes the place of a call in the order of all calls of the interface.
    pub(super) fn has_asked(&mut self, place: (u64, u32)) {
        if place < self.asked_last {
            self.counters.add(Counter::LateSteps, 1);
        }
        self.asked_last = self.asked_last.max(place);
    }

    /// The earliest time at which this station may ask the interface for its program. Only where others share it does it matter that
    /// this can be later than the clock: what arrived was handed to the interface in advance.
    pub(super) fn acting_ps(&self) -> u64 {
        match self.node.is_shared() {
            true => self.clock_ps.max(self.asked_ps),
            false => self.clock_ps,
        }
    }

    /// The earliest arrival at another station of the node that does not know of it yet. It may ask the interface then.
    pub(super) fn earliest_unsent_to_mates(&self) -> u64 {
        match self.node.is_shared() {
            true => self.rings.earliest_unsent_to(&self.node.mates(self.index)),
            false => NEVER,
        }
    }

    /// Lets the others repeat what this station asked of the interface at `asked_ps`.
    pub(super) fn share_calls(&mut self, asked_ps: u64) {
        if !self.node.is_shared() {
            return;
        }
        let calls = self.rank.take_calls();
        if !calls.is_empty() {
            self.has_asked((asked_ps, self.index));
        }
        if !self.is_started {
            // From the start line on, the interface is another one.
            return;
        }
        for call in calls {
            let (flight, body) = call.pack(pagemill_types::Picos(asked_ps));
            self.calls_shared += 1;
            let mates = self
                .node
                .mates(self.index)
                .filter(|mate| *mate != self.index);
            for dest in mates.filter(|mate| *mate < self.board.stations()) {
                if !self.board.is_joined(dest) {
                    continue;
                }
                let packet = Packet {
                    source: self.index,
                    dest,
                    sequence: self.calls_shared,
                    flight,
                    body,
                };
                self.rings.send(Frame {
                    packet,
                    data: None,
                    payload: Vec::new(),
                    trail: Trail::new(flight.departure.last.0),
                });
            }
        }
    }
}
