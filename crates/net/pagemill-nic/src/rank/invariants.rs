//! What waits, and what it waits for, agree.

use pagemill_types::{Invariants, first_broken};

use super::{Pending, Rank};
use crate::moment::Moment;

impl<M: Moment> Invariants for Rank<M> {
    fn broken_invariant(&self) -> Option<String> {
        let is_sound = |pending: &Pending| match pending {
            Pending::Send(announced) => announced.sends_at_most_its_message(),
            Pending::Receive(_) | Pending::Write(_) | Pending::Read(_) => true,
        };
        let mut posted = self.matching.posted();
        let counts = self.counts();
        first_broken([
            (
                posted.all(|request| !self.pending.contains_key(&request)),
                "a receive waits for a message and for data",
            ),
            (
                (self.matching.posted().chain(self.pending.keys().copied()))
                    .all(|request| request.0 < self.next_request),
                "the number of an open operation will be used again",
            ),
            (
                self.pending.values().all(is_sound),
                "more of a message was sent than it has",
            ),
            (
                self.node.is_shared() || self.calls.is_empty(),
                "calls of an interface that is not shared are kept to be repeated",
            ),
            (
                counts.translation.misses <= counts.translation.lookups,
                "more lookups missed than there were",
            ),
        ])
        .or_else(|| self.matching.broken_invariant())
    }
}

#[cfg(test)]
mod tests;
