use super::*;
use crate::coloring::Color;

/// Every cache of up to 64 ways, every smallest mask, every pair of ranges side by side.
#[test]
fn masks_are_contiguous_large_enough_and_disjoint_and_cover_the_cache() {
    for ways in 1..=64_u32 {
        for ways_min in 0..=ways.min(5) {
            let palette = WayPalette::new(ways, ways_min).expect("it can be divided");
            let colors = palette.colors();
            let range = |first: u16, end: u16| ColorRange::new(Color(first), end - first);
            let all = palette
                .mask(range(0, colors).expect("a range"))
                .expect("a mask");
            assert_eq!(all, u64::MAX >> (64 - ways));
            for middle in 1..colors {
                let mask = |first, end| palette.mask(range(first, end)?);
                let low = mask(0, middle).expect("a mask");
                let high = mask(middle, colors).expect("a mask");
                assert_eq!((low & high, low | high), (0, all));
                for mask in [low, high] {
                    let run = mask >> mask.trailing_zeros();
                    assert_eq!(run & run.wrapping_add(1), 0, "{mask:b} is contiguous");
                    assert!(mask.count_ones() >= ways_min.max(1));
                }
            }
            assert_eq!(palette.mask(range(0, colors + 1).expect("a range")), None);
        }
    }
    assert!(WayPalette::new(0, 0).is_err() && WayPalette::new(65, 1).is_err());
    assert!(WayPalette::new(1, 2).is_err());
}
