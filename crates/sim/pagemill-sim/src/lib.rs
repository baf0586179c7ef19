//! Parts with a clock, and the machines built of them.
//!
//! [`gpu::Gpu`] is a simulated GPU for a host program; [`gpu::GpuMachine`] says what it is made of. [`uvm`] is a GPU under
//! the unified-memory driver, for data larger than its memory. [`nic`] is a network of nodes. [`fault_path`] is a
//! core that faults, and who clears its pages. [`shared_cache`] are tasks that share a cache.
//! [`paging`] is a program whose memory is paged. [`parts`] are the pieces that keep time.
#![forbid(unsafe_code)]

pub mod fault_path;
pub mod gpu;
pub mod nic;
pub mod paging;
pub mod parts;
pub mod shared_cache;
mod spec_error;
mod timeline;
pub mod uvm;

#[cfg(test)]
extern crate self as pagemill_sim;
#[cfg(test)]
#[path = "../tests/common/a100.rs"]
mod a100;
#[cfg(test)]
#[path = "../tests/common/gtx480.rs"]
mod gtx480;

pub use gpu::*;
pub use spec_error::SpecError;
pub use timeline::{Timeline, TimelineEvent, TimelineKind};

/// What a program may say about its managed memory, as `cudaMemAdvise` and `cudaMemPrefetchAsync` do.
pub mod hints {
    pub use pagemill_policy::residency::{Action, Call, PAGE_BYTES, PageAdvice, Side};
}
