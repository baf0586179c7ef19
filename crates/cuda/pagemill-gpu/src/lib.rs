//! The port to real NVIDIA GPUs: unified-memory strategies under the residency patterns.
//!
//! It runs the kernels of `workloads/uvm-*` on managed memory that is larger than the GPU's, after the calls of a
//! [`Strategy`](pagemill_policy::residency::Strategy), and says how fast they read. Patterns and strategies are those that
//! the simulator runs. [`CudaGpu`] is the real GPU; the benchmark is written against the trait [`Gpu`], so that it is
//! tested without one.
#![deny(unsafe_code)]

mod bench;
mod cpu_writer;
#[allow(unsafe_code, reason = "calls of the CUDA driver")]
mod cuda;
mod error;
mod front;
mod gpu;
mod hints;
pub mod host;
mod kernel;
mod lcg;
mod left;
pub mod recording;
mod run;
mod size;
#[cfg(test)]
mod stream_tests;

pub use bench::{
    Bench, Loop, Measured, Point, Settings, memory_for_host, memory_share, usable_bytes,
};
pub use cuda::{ClearError, CudaGpu, HostWriter, probe};
pub use error::GpuError;
pub use front::{Deed, FRONT_FOLDER, FRONT_MANAGED, Front, FrontReport, HINTS_FILE, Outcome};
pub use gpu::{Buffer, Gpu, GpuFacts, Launch};
pub use hints::{HintAction, HintCall, HintedAllocation, Hints};
pub use kernel::{Kernel, THREADS_PER_BLOCK, for_any_driver};
pub use lcg::Skip;
pub use size::{GIB, MIB, show_bytes};
