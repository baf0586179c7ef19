//! How many blocks of a kernel an SM holds at once.

use crate::gpu::machine::SmSpec;
use crate::gpu::stream::GridShape;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Resource that bounds the resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limiter {
    /// Resident blocks.
    Blocks,
    /// Resident threads.
    Threads,
    /// Resident warps.
    Warps,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocks => "blocks",
            Self::Threads => "threads",
            Self::Warps => "warps",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
        })
    }
}

/// Blocks an SM holds, and why not more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Blocks resident at once; 0 if one does not fit.
    pub blocks_per_sm: u32,
    /// The resource that is used up first.
    pub limiter: Limiter,
}

/// Occupancy of a kernel of this shape.
pub fn occupancy(sm: &SmSpec, shape: &GridShape) -> Occupancy {
    let registers_per_thread = shape.registers_per_thread.min(sm.max_registers_per_thread);
    let warp_registers = (registers_per_thread * 32).next_multiple_of(sm.register_unit);
    let block_registers = warp_registers * shape.warps_per_block;
    let block_shared = shape
        .shared_bytes_per_block
        .next_multiple_of(sm.shared_unit);
    let threads = if shape.threads_per_block > sm.max_threads_per_block {
        0
    } else {
        sm.max_threads / shape.threads_per_block.max(1)
    };
    let fitting = [
        (Limiter::Blocks, sm.max_blocks),
        (Limiter::Threads, threads),
        (Limiter::Warps, sm.max_warps / shape.warps_per_block.max(1)),
        (
            Limiter::Registers,
            sm.registers
                .checked_div(block_registers)
                .unwrap_or(u32::MAX),
        ),
        (
            Limiter::SharedMemory,
            sm.shared_bytes
                .checked_div(block_shared)
                .unwrap_or(u32::MAX),
        ),
    ];
    let (limiter, blocks_per_sm) = fitting
        .into_iter()
        .min_by_key(|&(_, blocks)| blocks)
        .unwrap_or((Limiter::Blocks, 0));
    Occupancy {
        blocks_per_sm,
        limiter,
    }
}

#[cfg(test)]
mod tests;
