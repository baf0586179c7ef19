//! What a run counts.

use crate::gpu::sm::occupancy::Occupancy;
use pagemill_pages::MemoryStats;
use pagemill_types::Picos;
use serde::{Deserialize, Serialize};

/// What warps did in one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionStats {
    /// Blocks run.
    pub blocks: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Instructions times the lanes that executed them.
    pub thread_instructions: u64,
    /// Warp-wide global and local memory instructions.
    pub memory_instructions: u64,
    /// 128-byte segments they touched, summed.
    pub segments: u64,
}

pagemill_pages::fieldwise!(ExecutionStats {
    blocks,
    warp_instructions,
    thread_instructions,
    memory_instructions,
    segments
});

/// One launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchStats {
    /// When the host launched.
    pub start: Picos,
    /// When the last block had ended and the last store was taken.
    pub end: Picos,
    /// What warps did.
    pub execution: ExecutionStats,
    /// What the memory side did.
    pub memory: MemoryStats,
    /// Blocks that an SM held at once; `None` without time.
    pub occupancy: Option<Occupancy>,
}
