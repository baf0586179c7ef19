use super::*;
use proptest::prelude::*;

/// The bit-by-bit definition of `bfe` in the PTX ISA.
fn extract_by_bits(a: u64, pos: u64, len: u64, flags: u32) -> u64 {
    let (pos, len, top) = (pos & 0xff, len & 0xff, u64::from(top_bit(flags)));
    let sign = if flags & SIGNED == 0 || len == 0 {
        0
    } else {
        a >> (pos + len - 1).min(top) & 1
    };
    let bit = |i: u64| {
        if i < len && pos + i <= top {
            a >> (pos + i) & 1
        } else {
            sign
        }
    };
    (0..=top).fold(0, |d, i| d | bit(i) << i)
}

proptest! {
    #[test]
    fn fields_match_their_definition(a: u64, pos in 0u64..300, len in 0u64..300, wide: bool, signed: bool) {
        let flags = (u32::from(wide) * WIDE) | (u32::from(signed) * SIGNED);
        let a = if wide { a } else { a & 0xffff_ffff };
        prop_assert_eq!(extract(a, pos, len, flags), extract_by_bits(a, pos, len, flags));
        let (p, l, top) = (pos & 0xff, len & 0xff, u64::from(top_bit(flags)));
        let mask = (0..l).filter(|i| p + i <= top).fold(0u64, |mask, i| mask | 1 << (p + i));
        prop_assert_eq!(field_mask(pos, len, 0, flags), mask);
    }

    #[test]
    fn logic3_matches_each_bit(a: u32, b: u32, c: u32, table in 0u32..256) {
        let result = logic3(a.into(), b.into(), c.into(), table);
        for bit in 0..32 {
            let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | c >> bit & 1;
            prop_assert_eq!(result >> bit & 1, u64::from(table >> index & 1));
        }
    }
}

#[test]
fn known_values() {
    assert_eq!(permute(0x3322_1100, 0x7766_5544, 1, 2), 0x6677_0011);
    assert_eq!(find_leading(0x10, 0, 0, 0), 4);
    assert_eq!(find_leading(0xffff_fff0, 0, 0, SIGNED), 3);
    assert_eq!(find_leading(0, 0, 0, SHIFT), u64::from(u32::MAX));
    assert_eq!(make_mask(4, 4, 0, 0), 0xf0);
    assert_eq!(make_mask(4, 40, 0, 0), 0xffff_fff0);
    assert_eq!(extend_from(0x88, 8, 0, SIGNED), 0xffff_ff88);
    assert_eq!(find_nth_set(0b1011, 0, 3, 0), 3);
    assert_eq!(find_nth_set(0b1011, 3, -2i32 as u32 as u64, 0), 1);
    assert_eq!(
        dot4(0xff01_0203, 0x0101_0101, 10, SIGNED | SIGNED_B) as u32,
        15
    );
    assert_eq!(multiply24(0xff_ffff, 2, 0, SIGNED) as u32, -2i32 as u32);
}
