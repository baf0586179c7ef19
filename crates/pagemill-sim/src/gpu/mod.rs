//! A simulated GPU: kernels as streams of warp steps, streaming multiprocessors, the way to memory, page migration,
//! and the host's view of it all.

mod clockwork;
mod coalesce;
mod deferred;
mod error;
pub(crate) mod event_heap;
pub(crate) mod flights;
mod gmmu;
#[cfg(test)]
mod gmmu_tests;
mod gtx480;
mod host;
mod machine;
mod machine_check;
mod memory_path;
mod occupancy;
mod page_events;
mod partition;
mod partition_slice;
mod program;
mod remote;
mod report;
mod residents;
mod run;
mod runtime;
mod schedule;
pub(crate) mod serial;
mod stall;
mod stats;
mod stream;
mod timeline;
mod touched;
mod warp;

pub use error::{GpuError, LaunchFailure};
pub use gmmu::MigrationCounts;
pub use host::{Buffer, Gpu, Limits, Options, TransferMode};
pub use machine::{
    CpuReturn, GmmuSpec, GpuMachine, HostReads, InstructionTiming, InstructionTimings,
    InterconnectSpec, MergeScope, Placement, SmSpec, StallScope, TlbScope,
};
pub use machine_check::SpecError;
pub use occupancy::{Limiter, Occupancy, occupancy};
pub use program::{Arg, LaunchShape, ModuleId};
pub use report::{LaunchReport, Report};
pub use run::RunError;
pub use stats::{ExecutionStats, LaunchStats, MemoryStats};
pub use stream::synthetic::{SyntheticGrid, WarpPlace};
pub use stream::{
    AccessKind, AccessSpace, GridShape, GridStream, MemoryAccess, Step, StepEnd, StepTotals,
};
pub use timeline::{Timeline, TimelineEvent, TimelineKind};

/// Bytes of a coalesced memory request, and of a cache line.
pub const SEGMENT_BYTES: u64 = 1 << SEGMENT_SHIFT;
pub(crate) const SEGMENT_SHIFT: u32 = 7;
