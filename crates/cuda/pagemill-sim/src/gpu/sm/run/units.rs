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

/// The load-store unit of an SM: one warp's memory instruction at a time, in the order they come.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadStore {
    pub(super) free_at: Picos,
    /// A warp has it or will have it when it is free.
    pub(super) reserved: bool,
    pub(super) waiting: VecDeque<u32>,
}
