//! A simulated GPU: kernels as streams of warp steps, streaming multiprocessors, the way to memory, page migration,
//! and the host's view of it all.

mod allocated;
mod barrier_arrivals;
mod children;
mod clusters;
mod coalesce;
mod deferred;
mod detail;
mod device;
mod error;
mod gtx480;
mod host;
pub(crate) mod host_link;
mod issue_rate;
mod machine;
mod machine_check;
mod memory_path;
mod occupancy;
pub(crate) mod page_events;
pub(crate) mod pages;
mod partition;
mod partition_slice;
mod placing;
mod program;
mod report;
mod retries;
mod run;
mod runtime;
mod sampled;
mod sampling;
mod schedule;
mod stall;
mod stats;
mod stream;
mod timing_model;
mod touched;
pub(crate) mod translation;
mod translator;
mod waits;
mod warp;

pub use allocated::Allocated;
pub use detail::Detail;
pub use device::{Buffer, DriverRun, Gpu, Limits, Options, TransferMode};
pub use error::{GpuError, LaunchFailure};
pub use host::Host;
pub use machine::{
    AfterFullBuffer, CpuReturn, GmmuSpec, GpuMachine, HostCopies, HostReads, InstructionTiming,
    InstructionTimings, InterconnectSpec, Memory, MergeScope, PatternCosts, Placement, SmSpec,
    StallScope, TlbScope, TransactionChain, Translation, Validity, WriteBursts,
};
pub use occupancy::{Limiter, Occupancy, occupancy};
pub use pagemill_ptx::{DeviceFacts, Executor};
pub use pages::MigrationCounts;
pub use pages::driver::{DriverCosts, DriverMachine, FaultOrder, FaultSpec, HandlerCounts};
pub use pages::ledger::{AllocationReport, LineAccount, LineReport, Traffic};
pub use program::{Arg, ExecutionMark, LaunchShape, Launched, ModuleId};
pub use report::{LaunchReport, Report, Sampling};
pub use run::RunError;
pub use runtime::Arrived;
pub use stats::{ExecutionStats, LaunchStats, MemoryStats};
pub use stream::pattern::PatternGrid;
pub use stream::synthetic::{SyntheticGrid, WarpPlace};
pub use stream::{
    AccessKind, AccessSpace, GridShape, GridStream, MemoryAccess, Step, StepEnd, StepTotals,
};
pub use translation::TranslationSpec;

/// Bytes of a coalesced memory request, and of a cache line.
pub const SEGMENT_BYTES: u64 = 1 << SEGMENT_SHIFT;
pub(crate) const SEGMENT_SHIFT: u32 = 7;
/// Log2 of the least that memory delivers of a segment.
pub(crate) const SECTOR_SHIFT: u32 = 5;
/// All sectors of a segment, a bit each.
pub(crate) const ALL_SECTORS: u8 = 0xf;
