//! The path of a huge page fault: one core with its tasks, and a helper on another core that clears pages.
//!
//! What is decided comes from [`pagemill_policy::zeroing`]; here is what it costs. The faulting CPU, the moment at which a
//! page is clean, and the CPU time of the helper are accounted separately, because an off-load moves cost between them.

mod helper;
mod machine;
mod report;
mod run;

pub use machine::{CoreSpec, EngineSpec, FaultPathMachine, HelperSpec};
pub use report::{FaultCounts, FaultPathReport, Sample};
pub use run::{FaultPathError, FaultPathSpec, Program, run};
