//! What moves before anything asks for it: one file for each policy.

mod none;
mod streams;

use std::fmt;
use std::ops::Range;

use pagemill_types::{Registry, named};

pub use streams::Streams;

/// The most units that one fault brings ahead.
pub const UNITS_AHEAD_MAX: u32 = 63;

/// Decides from the history of faults what moves with a faulted unit.
pub trait ReadAhead: Send + fmt::Debug {
    /// Notes a fault at `unit`, counted from the start of the memory, and returns the units that move: `unit`, and at most
    /// [`UNITS_AHEAD_MAX`] beside it.
    fn faulted(&mut self, unit: u64) -> Range<u64>;
}

/// Every read-ahead policy, in the order of listings. A new policy is one file and one line here.
#[rustfmt::skip]
pub static READ_AHEADS: Registry<ReadAheadEntry> = Registry::new("read-ahead policy", &[
    streams::Streams::ENTRY,
    none::NoReadAhead::ENTRY,
]);

/// A read-ahead policy by name.
#[derive(Clone, Copy)]
pub struct ReadAheadEntry {
    /// The name that commands and scenario files use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Makes the policy, with no history.
    pub build: fn() -> Box<dyn ReadAhead>,
}

named!(ReadAheadEntry);
