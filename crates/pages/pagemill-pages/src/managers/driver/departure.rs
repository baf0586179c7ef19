//! Blocks that leave GPU memory to make room: what that costs, and when it is done.

use pagemill_policy::residency::{Effects, Evicted, PAGE_BYTES};
use pagemill_types::Picos;

use super::recording::{self, Moment, page_number};
use super::spec::{Copies, DriverCosts};
use crate::managers::events;
use crate::managers::host_link::HostLink;
use crate::parts::link::Direction;
use crate::timeline::{Timeline, TimelineEvent, TimelineKind};

/// For which block others leave, and in which batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) base: u64,
    pub(super) block: u32,
    pub(super) batch: u64,
}

impl Departure {
    /// What leaves `block` outside of batches.
    pub(super) fn to_host(base: u64, block: u32) -> Self {
        Self {
            base,
            block,
            batch: 0,
        }
    }

    /// Of the block for which others leave.
    pub(super) fn moment(self, start: Picos, done: Picos) -> Moment {
        Moment {
            page: page_number(self.base, self.block),
            start,
            done,
            batch: self.batch,
        }
    }
}

/// Starts the copies of evicted blocks; answers when the driver goes on, and when the last copy ends.
pub(super) fn send_back(
    effects: &Effects,
    costs: &DriverCosts,
    now: Picos,
    left: Departure,
    host_link: &mut HostLink,
) -> (Picos, Picos) {
    let (mut at, mut copied) = (now, now);
    for evicted in &effects.evictions {
        at += costs.eviction;
        let (start, mut done) = (at, at);
        let bytes = u64::from(evicted.copied.count()) * PAGE_BYTES;
        if bytes > 0 {
            let copies = Copies::of(&evicted.copied);
            at += costs.queueing(copies);
            let setup = costs.setup(copies);
            // The link serves a direction in order, so the last copy to begin is the last to end.
            copied = host_link.link.copy(at, Direction::ToCpu, bytes, setup).done;
            done = copied;
            // A chunk cannot be written before its old pages have left it: NVIDIA's driver waits in `pick_and_evict_root_chunk`.
            if costs.eviction_waits {
                at = copied;
            }
        }
        record_departure(evicted, left, (start, done), &mut host_link.timeline);
    }
    (at, copied)
}

/// Records in timeline and page map that a block left.
fn record_departure(
    evicted: &Evicted,
    left: Departure,
    (start, done): (Picos, Picos),
    timeline: &mut Timeline,
) {
    let page = page_number(left.base, evicted.block);
    let when = Moment {
        page,
        ..left.moment(start, done)
    };
    // The block itself leaves, by a call of the program: nothing made room for another block.
    if evicted.block == left.block {
        let pages = evicted.copied.or(&evicted.dropped);
        return recording::changed(timeline, events::SENT_BACK, &pages, when);
    }
    timeline.record(|| TimelineEvent {
        kind: TimelineKind::Eviction { page },
        start,
        end: done,
        bytes: u64::from(evicted.copied.count()) * PAGE_BYTES,
    });
    recording::changed(timeline, events::EVICTION, &evicted.copied, when);
    recording::changed(timeline, events::DROPPED, &evicted.dropped, when);
}
