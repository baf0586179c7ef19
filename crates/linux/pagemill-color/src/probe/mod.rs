//! Whether pages of this machine have cache colors, found out by timing.
//!
//! ```text
//! TimedMemory      a page is read again after others were: how long did it take?     measured (memory), or modeled in tests
//!   -> eviction    the fewest pages that push a page out of the cache
//!   -> Observation which of some pages are pushed out by the same sets
//!   -> Verdict     are there colors, how many, and do they follow from frame numbers
//! ```
//! Everything but `memory` is a pure function of the timings.

mod eviction;
mod memory;
mod observe;
mod verdict;

pub use memory::{CachedMemory, MeasureError, ProbedCache, probed_cache};
pub use observe::{Observation, Plan, observe};
pub use verdict::{Follows, Verdict, agreed, judge, set_pages_max};

/// Memory whose pages can be timed.
pub trait TimedMemory {
    /// Pages, called by their number from 0: three times as many as the cache holds.
    fn pages(&self) -> usize;

    /// Cycles to read all of `victim`, which was read before `others` were.
    fn reload(&mut self, victim: usize, others: &[usize]) -> u64;

    /// The frame that a page is mapped to, if that is known.
    fn frame(&self, page: usize) -> Option<u64>;
}

#[cfg(test)]
mod tests;
