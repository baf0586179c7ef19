//! Tasks that share a physically indexed cache, and what page colors do to them. Counts only: no clock.

mod color_sweep;
mod page_index;
mod queues;
mod stack_distance;

pub use color_sweep::{ColorSweep, SweepError, SweepSpec};
pub use stack_distance::StackDistance;
