//! What is known of a kernel and of each of its instructions, beyond what they compute.

use crate::ast::Type;
use std::sync::Arc;

/// What kind of hardware unit an instruction keeps busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstructionClass {
    /// Integer and logic operations, moves, comparisons.
    Integer,
    /// Integer multiplication and multiply-add.
    IntegerMultiply,
    /// Single and half precision arithmetic.
    Float32,
    /// Double precision arithmetic.
    Float64,
    /// Transcendental and reciprocal approximations, division, square root.
    Special,
    /// Conversions between number formats.
    Convert,
    /// Loads and stores of shared memory, shuffles.
    SharedMemory,
    /// Loads of constants and parameters.
    ConstMemory,
    /// Loads and stores of global and generic memory.
    GlobalMemory,
    /// Loads and stores of local memory.
    LocalMemory,
    /// Atomics and reductions, in any space.
    Atomic,
    /// Barriers and fences.
    Barrier,
    /// Branches, exits, calls of the system.
    Control,
}

/// The order in which a basic block's instructions issue. What they compute is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssueOrder {
    /// As the PTX text has them.
    #[default]
    AsWritten,
    /// As machine code has them: loads as soon as their addresses are known, as far as registers allow.
    LoadsEarly,
}

/// What is known of one PTX instruction after inlining.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionInfo {
    /// The unit it keeps busy.
    pub class: InstructionClass,
    /// Opcode as written, such as `ld.global.f32`.
    pub opcode: Arc<str>,
    /// Line of the PTX text.
    pub line: u32,
    /// Index into the module's files, and line, of the CUDA source.
    pub source: Option<(u32, u32)>,
    /// The same of where the function that `source` lies in was inlined, outermost.
    pub caller: Option<(u32, u32)>,
    /// Registers it reads, guard included; numbers have no meaning beyond their equality within the kernel.
    pub reads: Vec<u32>,
    /// Registers it writes.
    pub writes: Vec<u32>,
    /// Whether it does nothing: a copy of a register, or a result that is never read.
    pub is_erased: bool,
    /// Whether a basic block starts here.
    pub block_leader: bool,
    /// Scoreboard slot its result arrives under.
    pub slot: Option<u8>,
    /// Scoreboard slots that must be empty before it may execute.
    pub wait_mask: u64,
}

/// One kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name as written.
    pub name: String,
    /// Offset in the argument block in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Element type.
    pub ty: Type,
}

/// What a kernel says about the clusters that its blocks form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterNeeds {
    /// Blocks in each dimension, if it was compiled for one size (`.reqnctapercluster`, `__cluster_dims__`).
    pub required: Option<[u32; 3]>,
    /// Whether a launch has to say the size (`.explicitcluster`).
    pub is_explicit: bool,
    /// Most blocks of a cluster (`.maxclusterrank`).
    pub max_blocks: Option<u32>,
}

/// Costs summed over all instructions before one.
/// Compiled code knows its layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Prefix {
    pub issue: u64,
    pub latency: u64,
}
