//! Which memory partition a segment lies in, and where in it.

use crate::gpu::SEGMENT_SHIFT;

/// Address interleaving over memory partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionMap {
    partitions: u64,
    chunk_shift: u32,
    hashed: bool,
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
    pub(crate) fn new(partitions: u32, partition_bytes: u32, hashed: bool) -> Self {
        let chunk_shift = partition_bytes
            .trailing_zeros()
            .saturating_sub(SEGMENT_SHIFT);
        Self {
            partitions: u64::from(partitions.max(1)),
            chunk_shift,
            hashed,
        }
    }

    // Chunks of three stripes over four partitions, rotated by 0, 2 and 1:
    //
    //   partition    0   1   2   3
    //   stripe 0     0   1   2   3
    //   stripe 1     6   7   4   5
    //   stripe 2    11   8   9  10
    /// By how many partitions the chunks of a stripe (one in each partition) are rotated.
    #[inline]
    fn rotation(self, stripe: u64) -> u64 {
        if !self.hashed {
            return 0;
        }
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        // A stripe is rotated and not scattered: each partition still has one chunk of it, so streams stay balanced
        // and places can be turned back into segments.
        ((stripe.wrapping_mul(GOLDEN) >> 32) * self.partitions) >> 32
    }

    #[inline]
    pub(crate) fn place(self, segment: u64) -> PartitionPlace {
        let chunk = segment >> self.chunk_shift;
        let (stripe, column) = (chunk / self.partitions, chunk % self.partitions);
        let rotated = column + self.rotation(stripe);
        // Both terms are below the number of partitions: one subtraction is the remainder, without a division for each request.
        let partition = if rotated < self.partitions {
            rotated
        } else {
            rotated - self.partitions
        };
        let within = segment & ((1 << self.chunk_shift) - 1);
        PartitionPlace {
            partition: partition as usize,
            line: (stripe << self.chunk_shift) | within,
        }
    }

    /// The segment at a place: the inverse of [`PartitionMap::place`].
    pub(crate) fn segment(self, place: PartitionPlace) -> u64 {
        let stripe = place.line >> self.chunk_shift;
        let within = place.line & ((1 << self.chunk_shift) - 1);
        let column =
            (place.partition as u64 + self.partitions - self.rotation(stripe)) % self.partitions;
        ((stripe * self.partitions + column) << self.chunk_shift) | within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_and_segments_are_one_to_one(
            partitions in 1u32..20, shift in 7u32..13, segment in 0u64..1 << 40, hashed in any::<bool>(),
        ) {
            let map = PartitionMap::new(partitions, 1 << shift, hashed);
            let place = map.place(segment);
            prop_assert!(place.partition < partitions as usize);
            prop_assert_eq!(map.segment(place), segment);
            if !hashed {
                prop_assert_eq!(place.partition as u64, ((segment * 128) >> shift) % u64::from(partitions));
            }
        }

        #[test]
        fn hashing_spreads_strides(stride_shift in 1u32..12) {
            let map = PartitionMap::new(12, 256, true);
            let mut hits = [0u32; 12];
            for step in 0..1200 {
                hits[map.place(step << stride_shift).partition] += 1;
            }
            prop_assert!(hits.iter().all(|&hits| (50..200).contains(&hits)), "{:?}", hits);
        }
    }
}
