use crate::PageRange;

/// Disjoint, sorted, non-adjacent byte ranges of one page.
///
/// Two sets that cover the same bytes are equal: the form is canonical. Look-ups are binary searches
/// in one flat array, and nothing is allocated unless a range has to be added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<PageRange>,
    covered_bytes: u64,
}

impl RangeSet {
    /// The set that covers nothing.
    pub const fn new() -> Self {
        Self {
            ranges: Vec::new(),
            covered_bytes: 0,
        }
    }

    /// The ranges in ascending order.
    pub fn as_slice(&self) -> &[PageRange] {
        &self.ranges
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> std::slice::Iter<'_, PageRange> {
        self.ranges.iter()
    }

    /// How many separate ranges there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether no byte is covered.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of covered bytes.
    pub fn covered_bytes(&self) -> u64 {
        self.covered_bytes
    }

    /// Smallest range that holds every covered byte; `None` if there is none.
    pub fn hull(&self) -> Option<PageRange> {
        Some(PageRange {
            start: self.ranges.first()?.start,
            end: self.ranges.last()?.end,
        })
    }

    /// Covers nothing from now on, and keeps the storage.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.covered_bytes = 0;
    }

    /// Covers `range` too, merging it with what it overlaps or touches.
    ///
    /// Returns how many bytes were not covered before. An empty range changes nothing.
    pub fn insert(&mut self, range: PageRange) -> u64 {
        if range.start >= range.end {
            return 0;
        }
        let touched = self.touching(range);
        let added_bytes = if touched.is_empty() {
            self.ranges.insert(touched.start, range);
            range.bytes()
        } else {
            self.absorb(touched, range)
        };
        self.covered_bytes += added_bytes;
        added_bytes
    }

    /// Replaces the ranges at `touched` by the one that spans them and `range`; returns the bytes gained.
    fn absorb(&mut self, touched: std::ops::Range<usize>, range: PageRange) -> u64 {
        let merged = PageRange {
            start: range.start.min(self.ranges[touched.start].start),
            end: range.end.max(self.ranges[touched.end - 1].end),
        };
        let before: u64 = self.ranges[touched.clone()].iter().map(|r| r.bytes()).sum();
        self.ranges[touched.start] = merged;
        self.ranges.drain(touched.start + 1..touched.end);
        merged.bytes() - before
    }

    /// Indices of the ranges that overlap `range` or touch one of its ends.
    ///
    /// When empty, the start is where `range` would be inserted.
    pub fn touching(&self, range: PageRange) -> std::ops::Range<usize> {
        let start = self.ranges.partition_point(|r| r.end < range.start);
        let count = self.ranges[start..].partition_point(|r| r.start <= range.end);
        start..start + count
    }

    /// Whether every byte of `range` is covered. True of an empty range.
    pub fn contains(&self, range: PageRange) -> bool {
        let index = self.ranges.partition_point(|r| r.end <= range.start);
        range.start >= range.end || self.ranges.get(index).is_some_and(|r| r.contains(range))
    }

    /// Whether at least one byte of `range` is covered.
    pub fn overlaps(&self, range: PageRange) -> bool {
        let index = self.ranges.partition_point(|r| r.end <= range.start);
        self.ranges.get(index).is_some_and(|r| r.overlaps(range))
    }

    /// The uncovered stretches between one range and the next, in ascending order.
    ///
    /// What lies before the first range and after the last is not among them.
    pub fn gaps(&self) -> impl Iterator<Item = PageRange> + '_ {
        self.ranges.windows(2).map(|pair| PageRange {
            start: pair[0].end,
            end: pair[1].start,
        })
    }

    /// The parts of `range` that are covered, in ascending order.
    pub fn within(&self, range: PageRange) -> impl Iterator<Item = PageRange> + '_ {
        let first = self.ranges.partition_point(|r| r.end <= range.start);
        let own = self.ranges[first..].iter();
        let own = own.take_while(move |r| r.start < range.end);
        own.filter_map(move |r| PageRange::new(r.start.max(range.start), r.end.min(range.end)))
    }

    /// The parts of `range` that are not covered, in ascending order.
    pub fn missing(&self, range: PageRange) -> Missing<'_> {
        let first = self.ranges.partition_point(|r| r.end <= range.start);
        Missing {
            covered: self.ranges[first..].iter(),
            cursor: range.start,
            end: range.end,
        }
    }
}

/// Iterator of [`RangeSet::missing`].
#[derive(Clone, Debug)]
pub struct Missing<'a> {
    covered: std::slice::Iter<'a, PageRange>,
    cursor: u32,
    end: u32,
}

impl Iterator for Missing<'_> {
    type Item = PageRange;

    fn next(&mut self) -> Option<PageRange> {
        while self.cursor < self.end {
            let start = self.cursor;
            let (gap_end, resume) = match self.covered.next() {
                Some(r) => (r.start.min(self.end), r.end),
                None => (self.end, self.end),
            };
            self.cursor = resume;
            if start < gap_end {
                return PageRange::new(start, gap_end);
            }
        }
        None
    }
}

impl Extend<PageRange> for RangeSet {
    fn extend<I: IntoIterator<Item = PageRange>>(&mut self, ranges: I) {
        for range in ranges {
            self.insert(range);
        }
    }
}

impl FromIterator<PageRange> for RangeSet {
    fn from_iter<I: IntoIterator<Item = PageRange>>(ranges: I) -> Self {
        let mut set = Self::new();
        set.extend(ranges);
        set
    }
}

impl<'a> IntoIterator for &'a RangeSet {
    type Item = &'a PageRange;
    type IntoIter = std::slice::Iter<'a, PageRange>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
