/// A half-open byte range inside one page: `start..end`, offsets from the page's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageRange {
    /// First byte.
    pub start: u32,
    /// One past the last byte; greater than `start`.
    pub end: u32,
}

impl PageRange {
    /// Length in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.end - self.start)
    }
}

/// Disjoint, sorted, non-adjacent byte ranges of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<PageRange>,
}

impl RangeSet {
    /// The ranges in ascending order.
    pub fn as_slice(&self) -> &[PageRange] {
        &self.ranges
    }
}
