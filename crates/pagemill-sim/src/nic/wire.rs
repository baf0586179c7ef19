//! One direction of a link or of a way to memory, shared by two kinds of traffic.

use pagemill_types::Picos;

use super::descriptor::Lane;
use crate::parts::ports::Port;

/// Messages are let in between segments of bulk data: they wait for one at most, and the bulk data that follows waits for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    message: Port,
    bulk: Port,
}

impl Lanes {
    /// When a segment of `lane` that is ready at `at` would start; `bulk_segment` is the time of a whole segment.
    #[inline]
    pub fn start(&self, at: Picos, lane: Lane, bulk_segment: Picos) -> Picos {
        let ready = at.max(self.message.free_at());
        let bulk_left = self.bulk.free_at().saturating_since(ready);
        match lane {
            Lane::Message => ready + Picos(bulk_left.0 % bulk_segment.0.max(1)),
            Lane::Bulk => ready + bulk_left,
        }
    }

    /// Books `busy` for a segment of `lane` at `at`; `bulk_segment` is the time of a whole segment. Returns when it starts.
    #[inline]
    pub fn book(&mut self, at: Picos, lane: Lane, busy: Picos, bulk_segment: Picos) -> Picos {
        let start = self.start(at, lane, bulk_segment);
        match lane {
            Lane::Message => {
                if self.bulk.free_at() > start {
                    self.bulk.stall_until(self.bulk.free_at() + busy);
                }
                self.message.book(start, busy)
            }
            Lane::Bulk => self.bulk.book(start, busy),
        }
    }

    /// When the last booking ends.
    pub fn free_at(&self) -> Picos {
        self.message.free_at().max(self.bulk.free_at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: Picos = Picos(100);

    #[test]
    fn lanes_alone_are_first_come_first_served() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.book(Picos(5), Lane::Bulk, SEGMENT, SEGMENT), Picos(5));
        assert_eq!(
            lanes.book(Picos(6), Lane::Bulk, SEGMENT, SEGMENT),
            Picos(105)
        );
        let mut lanes = Lanes::default();
        assert_eq!(
            lanes.book(Picos(5), Lane::Message, Picos(10), SEGMENT),
            Picos(5)
        );
        assert_eq!(
            lanes.book(Picos(5), Lane::Message, Picos(10), SEGMENT),
            Picos(15)
        );
    }

    #[test]
    fn a_message_waits_for_one_segment_and_delays_the_rest() {
        let mut lanes = Lanes::default();
        for _ in 0..10 {
            lanes.book(Picos(0), Lane::Bulk, SEGMENT, SEGMENT);
        }
        // At 250 the third segment is on the wire until 300.
        assert_eq!(
            lanes.book(Picos(250), Lane::Message, Picos(10), SEGMENT),
            Picos(300)
        );
        assert_eq!(
            lanes.book(Picos(250), Lane::Bulk, SEGMENT, SEGMENT),
            Picos(1010)
        );
    }
}
