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
