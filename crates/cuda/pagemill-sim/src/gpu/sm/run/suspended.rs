//! Warps that `mbarrier.try_wait` has suspended: they execute nothing until the phase is over, or until their time is.

use crate::gpu::stream::{BarrierPhase, GridStream};
use pagemill_pages::parts::event_heap::EventHeap;
use pagemill_types::Picos;

/// For how long a warp is suspended at most: PTX leaves that to the hardware. Few enough that a launch in which all warps wait
/// for ever is found out in the time that it can last.
const TIME_LIMIT: Picos = Picos(20_000_000);

/// When no suspended warp goes on by itself.
const NEVER: Picos = Picos(u64::MAX);

/// A warp that waits for a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspension {
    warp: u32,
    slot: u32,
    phase: BarrierPhase,
    since: Picos,
}

impl Suspension {
    /// `warp`, of the block in `slot`, waits for `phase` from `since` on.
    pub(super) fn new(warp: u32, slot: u32, phase: BarrierPhase, since: Picos) -> Self {
        Self {
            warp,
            slot,
            phase,
            since,
        }
    }
}

/// Suspended warps, none of which is due.
#[derive(Clone, Debug)]
pub(super) struct Suspended {
    /// By group of blocks, which are those that can end a phase.
    of_group: Vec<Vec<Suspension>>,
    count: usize,
    /// The time of none is over before.
    end_at: Picos,
}

impl Default for Suspended {
    fn default() -> Self {
        Self {
            of_group: Vec::new(),
            count: 0,
            end_at: NEVER,
        }
    }
}

impl Suspended {
    /// Room for `groups` groups of blocks.
    pub(super) fn restart(&mut self, groups: u32) {
        *self = Self {
            of_group: vec![Vec::new(); groups as usize],
            ..Self::default()
        };
    }

    #[inline]
    pub(super) fn has_some(&self) -> bool {
        self.count > 0
    }

    /// One more, of `group`.
    pub(super) fn add(&mut self, group: u32, suspension: Suspension) {
        self.of_group[group as usize].push(suspension);
        self.count += 1;
        self.end_at = self.end_at.min(suspension.since + TIME_LIMIT);
    }

    /// A warp of `group` has made a step, which is over at `at`: those of whose phase it was the last go on.
    #[cold]
    pub(super) fn wake<S: GridStream>(
        &mut self,
        group: u32,
        at: Picos,
        stream: &mut S,
        heap: &mut EventHeap,
    ) {
        let of_group = &mut self.of_group[group as usize];
        let before = of_group.len();
        of_group.retain(|suspension| {
            let is_over = stream.is_over(suspension.slot, suspension.phase);
            if is_over {
                heap.push(at.max(suspension.since), suspension.warp);
            }
            !is_over
        });
        self.count -= before - of_group.len();
        if self.count == 0 {
            self.end_at = NEVER;
        }
    }

    /// Those whose time is over first go on, if that is not after `until`; whether there are any.
    #[inline]
    pub(super) fn end_until(&mut self, until: Picos, heap: &mut EventHeap) -> bool {
        let is_time = self.count > 0 && self.end_at <= until;
        if is_time {
            self.end(heap);
        }
        is_time
    }

    /// Those whose time is over at `end_at` go on.
    #[cold]
    fn end(&mut self, heap: &mut EventHeap) {
        let now = std::mem::replace(&mut self.end_at, NEVER);
        for of_group in &mut self.of_group {
            of_group.retain(|suspension| {
                let end = suspension.since + TIME_LIMIT;
                match end <= now {
                    true => heap.push(end, suspension.warp),
                    false => self.end_at = self.end_at.min(end),
                }
                end > now
            });
        }
        self.count = self.of_group.iter().map(Vec::len).sum();
    }
}
