use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pagemill_types::Picos;

use super::super::packet::Packet;

/// A part whose head is at a link. Ordered by time, then by sender, message and part: the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub at: Picos,
    source: u32,
    sequence: u64,
    part: u32,
    /// The link's place in the route.
    pub hop: u32,
    /// The part's place among those under way.
    pub place: u32,
}

impl Event {
    /// Part `part` of `packet` at its first link.
    pub fn new(at: Picos, packet: &Packet, part: u32, place: u32) -> Self {
        Self {
            at,
            source: packet.source,
            sequence: packet.sequence,
            part,
            hop: 0,
            place,
        }
    }

    pub fn at_next_hop(self, at: Picos) -> Self {
        Self {
            at,
            hop: self.hop + 1,
            ..self
        }
    }
}

/// What happens next on the links.
#[derive(Debug, Default)]
pub(super) struct Events(BinaryHeap<Reverse<Event>>);

impl Events {
    pub fn push(&mut self, event: Event) {
        self.0.push(Reverse(event));
    }

    pub fn pop(&mut self) -> Option<Event> {
        self.0.pop().map(|Reverse(event)| event)
    }

    pub fn first(&self) -> Option<Picos> {
        self.0.peek().map(|Reverse(event)| event.at)
    }
}
