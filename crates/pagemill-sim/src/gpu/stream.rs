//! What a kernel launch looks like to the timing model: a grid of blocks whose warps advance step by step.

pub mod synthetic;

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
}

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    #[default]
    Load,
    /// Writes.
    Store,
    /// Reads, changes and writes, and gives the old value.
    Atomic,
    /// Reads, changes and writes, and gives nothing.
    Reduction,
}

/// Which memory an instruction touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessSpace {
    /// Memory of the whole program.
    #[default]
    Global,
    /// Memory of a thread, always on the GPU.
    Local,
}

/// The memory instruction that a step ended at.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryAccess {
    /// What it does.
    pub kind: AccessKind,
    /// Which memory it touches.
    pub space: AccessSpace,
    /// Bytes of each lane's access.
    pub lane_bytes: u32,
    /// Active lanes.
    pub mask: u32,
    /// Address of each active lane, aligned to `lane_bytes`.
    pub addresses: [u64; 32],
    /// Scoreboard slot that a later [`StepEnd::Wait`] names.
    pub slot: Option<u8>,
}

/// Why a warp's step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepEnd {
    /// The next instruction is the memory access in [`Step::access`].
    Memory,
    /// The next instruction needs the results of these scoreboard slots.
    Wait {
        /// One bit for each slot.
        slots: u64,
    },
    /// The warp is at a barrier.
    Barrier {
        /// The warps (one bit each) that may go on; none until the last one has arrived.
        released: u32,
    },
    /// All threads of the warp have ended.
    #[default]
    Exit,
    /// The step's instruction budget is used up; the warp goes on in its next step.
    Budget,
}

/// Costs and counts of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTotals {
    /// Warp instructions.
    pub instructions: u64,
    /// Instructions times the lanes that execute them.
    pub thread_instructions: u64,
    /// Cycles the warp's scheduler is occupied.
    pub issue_cycles: u64,
    /// Cycles from the step's first issue to the moment the next step can issue, without contention.
    pub latency_cycles: u64,
    /// Further passes of shared-memory accesses with bank conflicts.
    pub shared_replays: u64,
}

/// One step of one warp.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    /// What it cost.
    pub totals: StepTotals,
    /// Why it ended.
    pub end: StepEnd,
    /// The memory access, when `end` is [`StepEnd::Memory`].
    pub access: MemoryAccess,
}

/// A kernel launch as the timing model sees it.
///
/// Blocks live in numbered slots, which are re-used. A warp's memory access takes effect in the `advance` after the
/// one that announced it.
pub trait GridStream {
    /// Why a warp cannot go on.
    type Error;

    /// Size and resource needs.
    fn shape(&self) -> GridShape;

    /// Makes room for `slots` blocks at once.
    fn prepare(&mut self, slots: u32);

    /// Starts block number `block` in `slot`, whose earlier block has ended.
    fn start_block(&mut self, slot: u32, block: u64);

    /// Advances warp `warp` of the block in `slot` to the end of its next step.
    ///
    /// # Errors
    /// Whatever makes the program fail at this point.
    fn advance(&mut self, slot: u32, warp: u32, step: &mut Step) -> Result<(), Self::Error>;
}
