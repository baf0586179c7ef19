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
    AtomicSpec, GmmuSpec, GpuMachine, HostCopies, HostReads, InstructionTiming, InstructionTimings,
    InterconnectSpec, IssueOrder, L1Loads, MachineCode, Memory, PatternCosts, Placement, SmSpec,
    StoreWay, TlbScope, Translation, WriteBursts,
};
pub use memory::l2::Writer;
pub use pagemill_pages::managers::ledger::{
    AllocationReport, LineAccount, LineReport, Traffic, managed_name,
};
pub use pagemill_pages::managers::{
    AfterFullBuffer, CpuReturn, DriverCosts, DriverMachine, FaultOrder, FaultSpec, HandlerCounts,
    MergeScope, MigrationCounts, TransactionChain, Validity,
};
pub use pagemill_pages::parts::translation::TranslationSpec;
pub use pagemill_pages::{MemoryStats, SEGMENT_BYTES};
pub use pagemill_ptx::{DeviceFacts, Executor};
pub use sm::occupancy::{Limiter, Occupancy, occupancy};
pub use sm::outcome::RunError;
pub use stats::{ExecutionStats, LaunchStats};
pub use stream::pattern::PatternGrid;
pub use stream::synthetic::{SyntheticGrid, WarpPlace};
pub use stream::{
    AccessKind, AccessSpace, GridShape, GridStream, MemoryAccess, Step, StepEnd, StepTotals,
};

pub(crate) use pagemill_pages::{SECTOR_SHIFT, SEGMENT_SHIFT};
/// All sectors of a segment, a bit each.
pub(crate) const ALL_SECTORS: u8 = 0xf;
