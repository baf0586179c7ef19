//! The port to real NVIDIA GPUs: unified-memory strategies under the residency patterns.
//!
//! It runs the kernels of `workloads/uvm-*` on managed memory that is larger than the GPU's, with what the driver is told
//! about that memory chosen by a [`Strategy`], and says how fast they read. [`CudaGpu`] is the real GPU; the benchmark
//! itself is written against the trait [`Gpu`], so that it is tested without one.
#![deny(unsafe_code)]

mod bench;
mod cpu_writer;
#[allow(unsafe_code)]
mod cuda;
mod error;
mod gpu;
pub mod host;
mod kernel;
mod lcg;
mod pattern;
mod size;
mod strategy;

pub use bench::{Bench, Measured, Point, Repetition, Settings};
pub use cuda::{CudaGpu, probe};
pub use error::GpuError;
pub use gpu::{Advice, Buffer, Gpu, GpuFacts, Launch, Place};
pub use kernel::{Kernel, THREADS_PER_BLOCK, for_any_driver};
pub use lcg::Skip;
pub use pattern::{Pattern, Variant};
pub use size::{GIB, MIB, show_bytes};
pub use strategy::{Plan, Sizes, Step, Strategy, plan, stripes};
