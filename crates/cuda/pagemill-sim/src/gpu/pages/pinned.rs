//! Pinned memory of the CPU, which the GPU uses where it is.

use crate::gpu::{SEGMENT_BYTES, SEGMENT_SHIFT};
use std::ops::Range;

/// The segments of pinned memory.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    /// First address and segments of each stretch, ascending.
    stretches: Vec<(u64, Range<u64>)>,
}

impl Pinned {
    /// From now on, the `bytes` bytes from `address` are used over the link.
    pub(crate) fn add(&mut self, address: u64, bytes: u64) {
        let at = self
            .stretches
            .partition_point(|(start, _)| *start < address);
        let segments = address >> SEGMENT_SHIFT..(address + bytes).div_ceil(SEGMENT_BYTES);
        self.stretches.insert(at, (address, segments));
    }

    /// Forgets the stretch that starts at `address`, if there is one.
    pub(crate) fn remove(&mut self, address: u64) {
        self.stretches.retain(|(start, _)| *start != address);
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Whether `segment` is used over the link.
    #[inline]
    pub(crate) fn holds(&self, segment: u64) -> bool {
        !self.stretches.is_empty() && self.search(segment)
    }

    fn search(&self, segment: u64) -> bool {
        // Stretches do not overlap, so only the last one that begins at or before the segment can hold it.
        let after = self
            .stretches
            .partition_point(|(_, segments)| segments.start <= segment);
        after > 0 && self.stretches[after - 1].1.contains(&segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_come_and_go() {
        let mut pinned = Pinned::default();
        assert!(!pinned.holds(3));
        pinned.add(1000, 100);
        pinned.add(128, 128);
        let held = |pinned: &Pinned| {
            (0..12)
                .filter(|&segment| pinned.holds(segment))
                .collect::<Vec<_>>()
        };
        // Bytes 1000 to 1099 are in segments 7 and 8.
        assert_eq!(held(&pinned), [1, 7, 8]);
        pinned.remove(128);
        pinned.remove(129);
        assert_eq!(held(&pinned), [7, 8]);
    }
}
