//! Engines that clear memory, behind one interface.

mod clzero;
mod cpu;
mod engine;
mod fastest;
mod memset;
mod noop;
mod opencl;
mod registry;
mod streaming;

pub use engine::{Engine, EngineEntry, EngineError, Probe, Timing, bytes_of};
pub use noop::NoOp;
pub use registry::{ENGINES, ENTRIES, by_name};
