//! What a kernel launch looks like to the timing model: a grid of blocks whose warps advance step by step.

pub mod pattern;
pub mod ptx;
pub mod synthetic;

pub use pagemill_ptx::{
    AccessKind, AccessSpace, BarrierPhase, MemoryAccess, Step, StepEnd, StepTotals,
};

use pagemill_ptx::Trap;
use std::convert::Infallible;

/// Size and resource needs of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridShape {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Warps of a block, at most 32.
    pub warps_per_block: u32,
    /// 32-bit registers of a thread.
    pub registers_per_thread: u32,
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes_per_block: u32,
    /// Blocks of a cluster, which are resident together; 1 without clusters.
    pub cluster_blocks: u32,
}

/// What a program did wrong, whatever kind of stream it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamFailure {
    /// A PTX kernel did something wrong.
    Trap(Box<Trap>),
    /// Another kind of stream failed.
    Other(String),
}

impl From<Box<Trap>> for StreamFailure {
    fn from(trap: Box<Trap>) -> Self {
        Self::Trap(trap)
    }
}

impl From<String> for StreamFailure {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

impl From<Infallible> for StreamFailure {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// A kernel launch as the timing model sees it.
///
/// Blocks live in numbered slots, which are re-used. A warp's memory access takes effect in the `advance` after the
/// one that announced it.
pub trait GridStream {
    /// Why a warp cannot go on.
    type Error: Into<StreamFailure>;

    /// Size and resource needs.
    fn shape(&self) -> GridShape;

    /// Makes room for `slots` blocks at once.
    fn prepare(&mut self, slots: u32);

    /// Starts block number `block` in `slot`, whose earlier block has ended.
    fn start_block(&mut self, slot: u32, block: u64);

    /// The number in the grid of block `rank` of a cluster.
    fn block_of_cluster(&self, cluster: u64, rank: u32) -> u64 {
        cluster * u64::from(self.shape().cluster_blocks) + u64::from(rank)
    }

    /// Advances warp `warp` of the block in `slot` to the end of its next step.
    ///
    /// # Errors
    /// Whatever makes the program fail at this point.
    fn advance(&mut self, slot: u32, warp: u32, step: &mut Step) -> Result<(), Self::Error>;

    /// Asks the host's caches for what the next step of a warp needs, by its number among those of all slots.
    fn warm(&self, _warp: u32) {}

    /// Instructions that accesses may name; 0 if their lines are not known.
    fn instructions(&self) -> usize {
        0
    }

    /// File and line of an instruction.
    fn source_of(&self, _instruction: u32) -> Option<(String, u32)> {
        None
    }

    /// Whether nothing in the block in `slot` gets on unless something outside of it changes memory.
    fn stands_still(&mut self, _slot: u32) -> bool {
        false
    }

    /// Whether `phase` of a barrier object, as a warp of the block in `slot` sees it, is over.
    fn is_over(&mut self, _slot: u32, _phase: BarrierPhase) -> bool {
        true
    }

    /// The block in `slot` has ended.
    fn end_block(&mut self, _slot: u32) {}
}
