//! Where warps live, and what those of an SM share.

use pagemill_types::Picos;
use std::collections::VecDeque;

/// Where a resident warp lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) sm: u32,
    pub(super) slot: u32,
    pub(super) warp: u32,
    pub(super) scheduler: u32,
}

/// The load-store unit of an SM: one warp's memory instruction at a time, in the order in which warps came to them.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadStore {
    pub(super) free_at: Picos,
    /// A warp has it or will have it when it is free.
    pub(super) reserved: bool,
    waiting: VecDeque<(Picos, u32)>,
}

impl LoadStore {
    /// `warp`, which came at `at`, waits for the unit.
    pub(super) fn wait(&mut self, at: Picos, warp: u32) {
        let place = self.waiting.partition_point(|&(came, _)| came <= at);
        self.waiting.insert(place, (at, warp));
    }

    /// The warp that has it next.
    pub(super) fn next(&mut self) -> Option<u32> {
        self.waiting.pop_front().map(|(_, warp)| warp)
    }
}
