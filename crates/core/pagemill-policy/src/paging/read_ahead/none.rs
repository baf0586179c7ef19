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
    fn faulted(&mut self, _unit: u64) -> u32 {
        0
    }
}
