//! Parts with a clock, and the machines built of them.
//!
//! [`gpu::Gpu`] is a simulated GPU for a host program; [`gpu::GpuMachine`] says what it is made of; [`parts`] are the
//! pieces that keep time.
#![forbid(unsafe_code)]

pub mod gpu;
pub mod parts;
pub mod shared_cache;

pub use gpu::*;
