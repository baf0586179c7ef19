//! A GPU under the unified-memory driver, reading more data than its memory holds (Garg 2021).
//!
//! [`run`] is one point of the oversubscription benchmark: a machine, a pattern, a strategy, a factor. Decisions are
//! those of [`pagemill_policy::residency`]; this module only says what they cost.

mod grid;
mod machine;
mod memory;
mod paths;
mod piece;
mod point;
mod report;
mod run;
mod totals;

pub use machine::{UvmMachine, UvmMemory, UvmSm};
pub use point::{Recorded, UvmError, UvmPoint, run, run_watched};
pub use report::{Bound, UvmReport};
