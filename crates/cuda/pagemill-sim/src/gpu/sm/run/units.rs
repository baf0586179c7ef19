//! Where warps live, and what those of an SM share.

use crate::gpu::machine::GpuMachine;
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

/// Segments whose places in the simulated caches are asked for ahead of the one that is sent.
pub(super) const WARM_SEGMENTS: usize = 4;

/// What the load-store unit of an SM takes to send a segment, by the sectors that are asked for, a bit each.
pub(super) fn segment_busy(machine: &GpuMachine, is_wide: bool) -> [Picos; 16] {
    let cycles = |count: u32| machine.core_clock.cycles(count.into());
    let least = cycles(machine.sm.segment_cycles);
    let rate = machine.sm.wide_sectors_per_cycle.filter(|_| is_wide);
    std::array::from_fn(|sectors| {
        rate.map_or(least, |rate| {
            let moved = cycles(sectors.count_ones());
            least.max(Picos(moved.0 / u64::from(rate.max(1))))
        })
    })
}
