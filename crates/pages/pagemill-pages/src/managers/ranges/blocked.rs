//! Requests that find their migration buffer full and look their page up again when an entry is free: "when the buffer is
//! full, a new migration request blocks and waits for a free entry" (Zhang et al. 2019, section 3.3).

use super::{Asker, Ranges};
use crate::managers::host_link::HostLink;
use crate::managers::{AfterFullBuffer, MergeScope};
use crate::timeline::{TimelineEvent, TimelineKind};
use pagemill_policy::migration::GpuDecision;
use pagemill_types::{PageRange, Picos};

impl Ranges {
    /// When the buffer of `asker` has an entry again, for a request at `at` that needs one and looks up again. `None` where it
    /// has one, or the request keeps what it found.
    pub(super) fn full_until(
        &mut self,
        at: Picos,
        asker: Asker,
        host_link: &mut HostLink,
    ) -> Option<Picos> {
        if self.spec.after_full_buffer == AfterFullBuffer::Moves {
            return None;
        }
        // It needs a slot of the GPU and an entry of its buffer: the later of the two decides.
        let slot = self.slots.as_mut().map(|slots| slots.try_admit(at));
        let entry = self.buffers[asker.partition].try_admit(at);
        let free_at = [slot, Some(entry)]
            .into_iter()
            .flatten()
            .filter_map(Result::err)
            .max()?;
        // A refusal is counted where it happens, its wait only here: only the asker knows that it will wait so long.
        self.counts.buffer_stalled += free_at - at;
        let partition = asker.partition as u32;
        host_link.timeline.record(|| TimelineEvent {
            kind: TimelineKind::BufferFull { partition },
            start: at,
            end: free_at,
            bytes: 0,
        });
        Some(free_at)
    }

    /// The same for a request for `range`, where ranges become valid when a migration is decided.
    pub(super) fn blocked_at_request(
        &mut self,
        at: Picos,
        index: usize,
        range: PageRange,
        asker: Asker,
        host_link: &mut HostLink,
    ) -> Option<Picos> {
        let looks_again = self.spec.after_full_buffer == AfterFullBuffer::LooksUpAgain;
        let is_blocked = looks_again && self.needs_entry(at, index, range, asker);
        is_blocked.then(|| self.full_until(at, asker, host_link))?
    }

    /// Whether a request starts a migration, of its own bytes or once more of bytes on their way.
    fn needs_entry(&mut self, at: Picos, index: usize, range: PageRange, asker: Asker) -> bool {
        if self.plan(index, range) != GpuDecision::Local {
            return true;
        }
        if self.spec.merge == MergeScope::Gpu {
            return false;
        }
        let own = self.owner(asker);
        let own = own.and_then(|owner| self.own_flights.get(&(index, owner)));
        if own.is_some_and(|own| own.on_the_way(at, range).is_some()) {
            return false;
        }
        let first = self.flights[index].on_the_way(at, range);
        // What is being allocated is there for all: it never moves once more.
        first.is_some_and(|first| first.is_moved)
    }
}
