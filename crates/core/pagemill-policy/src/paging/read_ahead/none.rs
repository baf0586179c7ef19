use std::ops::Range;

use super::{ReadAhead, ReadAheadEntry};

/// Brings nothing ahead.
#[derive(Clone, Copy, Debug)]
pub struct NoReadAhead;

impl NoReadAhead {
    /// How commands and scenarios find this policy.
    pub const ENTRY: ReadAheadEntry = ReadAheadEntry {
        name: "none",
        summary: "brings nothing before it is asked for",
        build: || Box::new(Self),
    };
}

impl ReadAhead for NoReadAhead {
    fn faulted(&mut self, unit: u64) -> Range<u64> {
        unit..unit + 1
    }
}
