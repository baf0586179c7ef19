//! What the program asked for, what the rank works on, and what arrived agree.

use pagemill_types::{Invariants, first_broken};

use super::{Station, key_of};

impl Invariants for Station {
    fn broken_invariant(&self) -> Option<String> {
        let (posted, unexpected, pending) = self.rank.waiting();
        let is_in_place = |(key, frame): (&super::PacketKey, &super::Frame)| {
            *key == key_of(&frame.packet) && frame.packet.dest == self.index
        };
        first_broken([
            (
                self.requests.len() == posted + pending,
                "a request of the program is open, and the rank does not work on it",
            ),
            (
                self.payloads.len() >= unexpected,
                "a message that waits for its receive has no bytes",
            ),
            (
                self.inbox.iter().all(is_in_place),
                "a packet of the inbox is another station's, or not in the order of arrival",
            ),
            (
                self.node.is_shared() || self.repeats.is_empty(),
                "calls of others are kept for an interface that is not shared",
            ),
            (
                self.read_ps.is_none_or(|read_ps| read_ps <= self.clock_ps),
                "the program read a time later than its clock",
            ),
            (
                self.steps.is_empty(),
                "steps of the interface were not carried out",
            ),
        ])
        .or_else(|| self.rank.broken_invariant())
    }
}
