//! Splitting and alignment: transfers are cut into segments that cross no page on either side.

/// The segments of a transfer, as both sides cut it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segments {
    from: u64,
    to: u64,
    left: u64,
    segment_bytes: u64,
    page_mask: u64,
}

/// A piece of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub from: u64,
    pub to: u64,
    pub bytes: u64,
}

impl Segments {
    pub fn new(from: u64, to: u64, bytes: u64, segment_bytes: u32, page_bytes: u64) -> Self {
        Self {
            from,
            to,
            left: bytes,
            segment_bytes: u64::from(segment_bytes),
            page_mask: page_bytes - 1,
        }
    }
}

impl Iterator for Segments {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        if self.left == 0 {
            return None;
        }
        // Segments of an aligned source end at multiples of their size: one partial segment in a transfer, not in each page.
        let to_boundary = self.segment_bytes - self.from % self.segment_bytes;
        let page_bytes = self.page_mask + 1;
        let bytes = self
            .left
            .min(to_boundary)
            .min(page_bytes - (self.from & self.page_mask))
            .min(page_bytes - (self.to & self.page_mask));
        let segment = Segment {
            from: self.from,
            to: self.to,
            bytes,
        };
        self.from = self.from.wrapping_add(bytes);
        self.to = self.to.wrapping_add(bytes);
        self.left -= bytes;
        Some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn segments_cover_the_transfer_and_cross_no_page(from in 0u64..1 << 40, to in 0u64..1 << 40, bytes in 0u64..200_000, segment in 6u32..14, page in 12u32..15) {
            let (segment_bytes, page_bytes) = (1u32 << segment, 1u64 << page);
            let mut offset = 0;
            for part in Segments::new(from, to, bytes, segment_bytes, page_bytes) {
                prop_assert_eq!((part.from, part.to), (from + offset, to + offset));
                prop_assert!(part.bytes > 0 && part.bytes <= u64::from(segment_bytes));
                prop_assert_eq!(part.from / page_bytes, (part.from + part.bytes - 1) / page_bytes);
                prop_assert_eq!(part.to / page_bytes, (part.to + part.bytes - 1) / page_bytes);
                offset += part.bytes;
            }
            prop_assert_eq!(offset, bytes);
        }
    }

    #[test]
    fn an_aligned_transfer_has_no_more_segments_than_it_needs() {
        let count = |from, to| Segments::new(from, to, 65536, 1024, 8192).count();
        assert_eq!(count(0, 0), 64);
        assert_eq!(count(1, 1), 65, "one more at the end");
        assert_eq!(
            count(0, 100),
            64 + 8,
            "the other side's pages cut eight of them"
        );
    }
}
