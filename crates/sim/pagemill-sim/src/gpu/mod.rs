//! A simulated GPU: kernels as streams of warp steps, streaming multiprocessors, the way to memory, page migration,
//! and the host's view of it all.

pub(crate) mod common;
mod error;
pub(crate) mod host;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod pages;
mod sm;
mod stats;
mod stream;

pub use common::ledger::{AllocationReport, LineAccount, LineReport, Traffic, managed_name};
pub use common::stall::StallScope;
pub use error::{GpuError, LaunchFailure};
pub use host::allocated::Allocated;
pub use host::built_in::Host;
pub use host::detail::Detail;
pub use host::device::{Buffer, DriverRun, Gpu, Limits, Options, TransferMode};
pub use host::program::{Arg, ExecutionMark, LaunchShape, Launched, ModuleId};
pub use host::report::{LaunchReport, Report, Sampling};
pub use host::runtime::Arrived;
pub use host::waiting::{LaunchEnd, WaitingLaunch};
pub use machine::{
    AfterFullBuffer, AtomicSpec, CpuReturn, GmmuSpec, GpuMachine, HostCopies, HostReads,
    InstructionTiming, InstructionTimings, InterconnectSpec, IssueOrder, L1Loads, MachineCode,
    Memory, MergeScope, PatternCosts, Placement, SmSpec, TlbScope, TransactionChain, Translation,
    Validity, WriteBursts,
};
pub use memory::partition_slice::Writer;
pub use memory::translation::TranslationSpec;
pub use pagemill_ptx::{DeviceFacts, Executor};
pub use pages::MigrationCounts;
pub use pages::driver::{DriverCosts, DriverMachine, FaultOrder, FaultSpec, HandlerCounts};
pub use sm::occupancy::{Limiter, Occupancy, occupancy};
pub use sm::outcome::RunError;
pub use stats::{ExecutionStats, LaunchStats, MemoryStats};
pub use stream::pattern::PatternGrid;
pub use stream::synthetic::{SyntheticGrid, WarpPlace};
pub use stream::{
    AccessKind, AccessSpace, GridShape, GridStream, MemoryAccess, Step, StepEnd, StepTotals,
};

/// Bytes of a coalesced memory request, and of a cache line.
pub const SEGMENT_BYTES: u64 = 1 << SEGMENT_SHIFT;
pub(crate) const SEGMENT_SHIFT: u32 = 7;
/// Log2 of the least that memory delivers of a segment.
pub(crate) const SECTOR_SHIFT: u32 = 5;
/// All sectors of a segment, a bit each.
pub(crate) const ALL_SECTORS: u8 = 0xf;
