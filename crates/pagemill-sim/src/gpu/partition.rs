//! Which memory partition a segment lies in, and where in it.

use super::SEGMENT_SHIFT;

/// Address interleaving over memory partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionMap {
    partitions: u64,
    chunk_shift: u32,
}

/// Place of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartitionPlace {
    pub(crate) partition: usize,
    /// Segments of the same partition are numbered without holes.
    pub(crate) line: u64,
}

impl PartitionMap {
    /// `partition_bytes` is a power of two of at least a segment.
    pub(crate) fn new(partitions: u32, partition_bytes: u32) -> Self {
        let chunk_shift = partition_bytes.trailing_zeros().saturating_sub(SEGMENT_SHIFT);
        Self { partitions: u64::from(partitions.max(1)), chunk_shift }
    }

    #[inline]
    pub(crate) fn place(self, segment: u64) -> PartitionPlace {
        let chunk = segment >> self.chunk_shift;
        let (local_chunk, partition) = (chunk / self.partitions, chunk % self.partitions);
        let within = segment & ((1 << self.chunk_shift) - 1);
        PartitionPlace { partition: partition as usize, line: (local_chunk << self.chunk_shift) | within }
    }

    /// The segment at a place: the inverse of [`PartitionMap::place`].
    pub(crate) fn segment(self, place: PartitionPlace) -> u64 {
        let local_chunk = place.line >> self.chunk_shift;
        let within = place.line & ((1 << self.chunk_shift) - 1);
        ((local_chunk * self.partitions + place.partition as u64) << self.chunk_shift) | within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_and_segments_are_one_to_one(partitions in 1u32..20, shift in 7u32..13, segment in 0u64..1 << 40) {
            let map = PartitionMap::new(partitions, 1 << shift);
            let place = map.place(segment);
            prop_assert!(place.partition < partitions as usize);
            prop_assert_eq!(map.segment(place), segment);
            prop_assert_eq!(place.partition as u64, (segment * 128 >> shift) % u64::from(partitions));
        }
    }
}
