/// A half-open byte range inside one page: `start..end`, offsets from the page's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageRange {
    /// First byte.
    pub start: u32,
    /// One past the last byte; greater than `start`.
    pub end: u32,
}

impl PageRange {
    /// The range `start..end`, or `None` if it would hold no byte.
    pub fn new(start: u32, end: u32) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    /// Length in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.end - self.start)
    }

    /// Whether every byte of `other` lies in this range.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether the two ranges share a byte.
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The shortest range that contains both.
    pub fn hull(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

impl std::fmt::Display for PageRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
