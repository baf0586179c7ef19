use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn divisions_by_doubles_are_exact(a: u32, b: u32) {
        for (a, b) in [(a, b), (a, b >> 16), (a, b >> 28), (a / b.max(1) * b, b), (u32::MAX, b)] {
            prop_assert_eq!(divide_u32(a, b), a.checked_div(b).unwrap_or(u32::MAX));
            let (a, b) = (a as i32, b as i32);
            prop_assert_eq!(divide_s32(a, b), if b == 0 { -1 } else { a.wrapping_div(b) });
        }
    }

    #[test]
    fn permutation_picks_bytes(low: u32, high: u32, selectors: u32) {
        let bytes = (u64::from(high) << 32 | u64::from(low)).to_le_bytes();
        let result = permute_bytes(low, high, selectors).to_le_bytes();
        for (index, found) in result.into_iter().enumerate() {
            let selector = selectors >> (4 * index);
            let byte = bytes[(selector & 7) as usize];
            prop_assert_eq!(found, if selector & 8 == 0 { byte } else if byte >> 7 != 0 { 0xff } else { 0 });
        }
    }
}
