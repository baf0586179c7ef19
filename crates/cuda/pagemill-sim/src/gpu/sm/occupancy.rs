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

/// First compute capability, times ten, whose blocks share their memory with the system.
const RESERVES_SHARED: u32 = 80;
/// What the system takes of it, in bytes: CUDA C++ Programming Guide, compute capability 8.0 and later.
const RESERVED_SHARED_BYTES: u32 = 1 << 10;
/// Bytes of shared memory that a kernel may have without asking for more, on every GPU.
const PLAIN_SHARED_BYTES: u32 = 48 << 10;

impl SmSpec {
    /// Shared memory in bytes that each resident block takes beside its own.
    pub fn reserved_shared_bytes(&self) -> u32 {
        match self.compute_capability >= RESERVES_SHARED {
            true => RESERVED_SHARED_BYTES.min(self.shared_bytes),
            false => 0,
        }
    }

    /// Most shared memory in bytes of a block whose kernel has asked for it.
    pub fn shared_bytes_per_block_max(&self) -> u32 {
        self.shared_bytes - self.reserved_shared_bytes()
    }

    /// Most shared memory in bytes of a block whose kernel has not asked for more.
    pub fn shared_bytes_per_block(&self) -> u32 {
        PLAIN_SHARED_BYTES.min(self.shared_bytes_per_block_max())
    }

    // 70 registers of a warp are 2,240, rounded to 2,304. A scheduler of an H100 has 16,384: seven warps, 28 of an SM.
    /// Warps of a kernel with so many registers a thread that the registers hold: each scheduler has its own share of
    /// them.
    fn warps_by_registers(&self, registers_per_thread: u32) -> u32 {
        let registers = registers_per_thread.min(self.max_registers_per_thread);
        // Rounded for a warp and not for a block, and divided for each scheduler: so the runtime of
        // an H100 counts (`occupancy/h100.txt`).
        let of_warp = (registers * 32).next_multiple_of(self.register_unit);
        let schedulers = self.schedulers.max(1);
        (self.registers / schedulers)
            .checked_div(of_warp)
            .map_or(u32::MAX, |warps| warps.saturating_mul(schedulers))
    }

    /// Most threads of a block that the registers hold, in whole warps.
    pub fn threads_by_registers(&self, registers_per_thread: u32) -> u32 {
        let warps = self.warps_by_registers(registers_per_thread);
        warps.saturating_mul(32).min(self.max_threads_per_block)
    }
}

/// Occupancy of a kernel of this shape.
pub fn occupancy(sm: &SmSpec, shape: &GridShape) -> Occupancy {
    let warps_by_registers = sm.warps_by_registers(shape.registers_per_thread);
    let block_shared = shape
        .shared_bytes_per_block
        .saturating_add(sm.reserved_shared_bytes())
        .checked_next_multiple_of(sm.shared_unit)
        // More than a number holds fits nowhere: the division below gives no block.
        .unwrap_or(u32::MAX);
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
            warps_by_registers / shape.warps_per_block.max(1),
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
        // Of equal bounds the first in this order is named.
        .min_by_key(|&(_, blocks)| blocks)
        .unwrap_or((Limiter::Blocks, 0));
    Occupancy {
        blocks_per_sm,
        limiter,
    }
}

#[cfg(test)]
mod tests;
