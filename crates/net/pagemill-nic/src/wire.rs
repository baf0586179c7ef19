//! One direction of a link or of a way to memory, shared by two kinds of traffic.

use pagemill_types::Picos;

use super::descriptor::Lane;
use pagemill_pages::parts::ports::Port;

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
mod tests;
