//! Parts with a clock, and the machines built of them.
//!
//! [`gpu::Gpu`] is a simulated GPU for a host program; [`gpu::GpuMachine`] says what it is made of. [`nic`] is a network of
//! nodes. [`parts`] are the pieces that keep time.
#![forbid(unsafe_code)]

pub mod gpu;
pub mod nic;
pub mod parts;

pub use gpu::*;
