//! Tasks that share a physically indexed cache, and what page colors do to them.
//!
//! [`run`] is a machine with a clock: tasks on cores with caches of their own, page tables, and colors that
//! [`pagemill_policy::coloring`] divides. [`ColorSweep`] counts only: the misses of one task for every number of colors.

mod address_space;
mod color_sweep;
mod frames;
mod hierarchy;
mod kernel;
mod machine;
mod ordered;
mod page_index;
mod place;
mod profile;
mod queues;
mod reference;
mod report;
mod run;
mod stack_distance;
mod task;
#[cfg(test)]
mod tests;
mod windows;

pub use color_sweep::{ColorSweep, SweepError, SweepSpec};
pub use frames::PlainOrder;
pub use machine::{CoreSpec, MemorySpec, PagingSpec, SharedCacheMachine};
pub use profile::profile;
pub use reference::{Reference, ReferenceStream, StreamError};
pub use report::{CacheUse, TaskReport};
pub use run::{
    CopyTime, FlushScope, OnEnd, PageSource, Partition, SharedCacheError, SharingSpec, run,
};
pub use stack_distance::StackDistance;
