//! Engines that clear memory, behind one interface.

mod clzero;
mod cpu;
mod cuda;
mod engine;
mod fastest;
mod memset;
mod noop;
mod opencl;
mod registry;
mod streaming;

pub use engine::{Engine, EngineEntry, EngineError, Probe, Timing};
pub use noop::NoOp;
pub use registry::{ENGINES, by_name};
