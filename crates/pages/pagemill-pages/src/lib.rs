//! The time that pages take: parts with a clock, managers that move pages between two memories, and the machines whose time
//! is that of their pages.
//!
//! [`parts`] are the pieces that keep time. [`managers`] are asked where a page is, and move it. [`patterns`] reads more data
//! than a GPU's memory holds. [`fault_path`] is a core that faults, and who clears its pages. [`shared_cache`] are tasks that
//! share a cache. [`paging`] is a program whose memory is paged. Nothing here knows a program of a GPU.
#![forbid(unsafe_code)]

pub mod fault_path;
pub mod managers;
mod memory_stats;
pub mod paging;
pub mod parts;
pub mod patterns;
pub mod shared_cache;
mod spec_error;
mod timeline;

#[cfg(test)]
extern crate self as pagemill_pages;
#[cfg(test)]
#[path = "../tests/common/a100.rs"]
mod a100;

pub use memory_stats::MemoryStats;
pub use spec_error::SpecError;
pub use timeline::{PageChange, Timeline, TimelineEvent, TimelineKind};

/// Bytes of a coalesced memory request, and of a cache line.
pub const SEGMENT_BYTES: u64 = 1 << SEGMENT_SHIFT;
/// Log2 of [`SEGMENT_BYTES`].
pub const SEGMENT_SHIFT: u32 = 7;
/// Log2 of the least that memory delivers of a segment.
pub const SECTOR_SHIFT: u32 = 5;

/// What a program may say about its managed memory, as `cudaMemAdvise` and `cudaMemPrefetchAsync` do.
pub mod hints {
    pub use pagemill_policy::residency::{Action, Call, PAGE_BYTES, PageAdvice, Side};
}
