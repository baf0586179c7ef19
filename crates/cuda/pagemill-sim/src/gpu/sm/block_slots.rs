//! Places for blocks on an SM, and when a block starts there.

use crate::gpu::machine::SmSpec;
use pagemill_pages::parts::ports::Port;
use pagemill_types::{Clock, Picos};

/// A place for a block, and the block that has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockSlot {
    pub(super) block: u64,
    pub(super) live_warps: u32,
    pub(super) end: Picos,
}

/// The one place that gives out the blocks of a grid, and what a start costs.
#[derive(Clone, Debug)]
pub(super) struct BlockStarts {
    latency: Picos,
    interval: Picos,
    dealer: Port,
}

impl BlockStarts {
    pub(super) fn new(spec: &SmSpec, clock: Clock) -> Self {
        Self {
            latency: clock.cycles(u64::from(spec.block_start_cycles)),
            interval: spec.block_interval,
            dealer: Port::default(),
        }
    }

    /// Another grid begins.
    pub(super) fn restart(&mut self) {
        self.dealer = Port::default();
    }

    /// When a block can take the place of one that ended.
    pub(super) fn after(&self, end: Picos) -> Picos {
        end + self.latency
    }

    /// When `blocks` that could start at `at` do.
    pub(super) fn admit(&mut self, at: Picos, blocks: u32) -> Picos {
        match self.interval {
            Picos::ZERO => at,
            // One place deals out the blocks of all SMs: with next to no work in them, its rate is that of the launch.
            interval => self.dealer.book(at, Picos(interval.0 * u64::from(blocks))),
        }
    }
}
