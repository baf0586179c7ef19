//! A GPU under the unified-memory driver, reading more data than its memory holds (Garg 2021).
//!
//! [`run`] is one point of the oversubscription benchmark: a machine, a pattern, a strategy, a factor. [`advise_one`]
//! runs a strategy for a point and says what bounds it. Decisions are those of [`pagemill_policy::residency`]; this module
//! only says what they cost.

mod advise;
mod grid;
mod machine;
mod memory;
mod paths;
mod piece;
mod point;
mod report;
mod run;
mod totals;

pub use advise::{Advice, AdvicePoint, advise_one};
pub use machine::{UvmMachine, UvmMemory, UvmSm};
pub use point::{Recorded, UvmError, UvmPoint, run, run_watched};
pub use report::{Bound, UvmReport};
