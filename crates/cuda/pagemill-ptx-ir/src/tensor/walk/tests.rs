use super::*;

#[test]
fn chunks_change_places_within_their_span() {
    let moved = |mode: u64, address: u64| swizzle(mode << 12, 0, address, 0);
    for address in 0..4096 {
        assert_eq!(moved(0, address), address);
        for mode in 1..4 {
            let to = moved(mode, address);
            let span = 16 << mode;
            assert_eq!(to / span, address / span, "mode {mode} at {address}");
            assert_eq!(moved(mode, to), address);
        }
    }
    // The second row of 128 bytes swaps its first two chunks, the eighth reverses all.
    assert_eq!(moved(3, 128), 144);
    assert_eq!(moved(3, 7 * 128), 8 * 128 - 16);
    assert_eq!(moved(1, 7 * 128), 7 * 128 + 16);
}

#[test]
fn tf32_rounds_to_even() {
    assert_eq!(to_tf32(0x3f80_1000), 0x3f80_0000);
    assert_eq!(to_tf32(0x3f80_3000), 0x3f80_4000);
    assert_eq!(to_tf32(0x3f80_1001), 0x3f80_2000);
    assert_eq!(to_tf32(0x7f7f_ffff), f32::INFINITY.to_bits());
    assert_eq!(
        to_tf32(f32::NEG_INFINITY.to_bits()),
        f32::NEG_INFINITY.to_bits()
    );
    assert_eq!(to_tf32(0xffc0_0001), TF32_NAN);
}

#[test]
fn a_unit_is_inside_or_outside_as_a_whole() {
    for inside in [0u64, 1, 2, 15, 16, 40] {
        for begin in -40i64..60 {
            let mut done = 0;
            while done < 64u64 {
                let at = begin + done as i64;
                let choice = choose(at as u64, inside, done, 0);
                let (unit, is_inside) = ((choice & 0xff) as i64, choice & u64::from(INSIDE) != 0);
                assert!(done.is_multiple_of(unit as u64));
                for byte in at..at + unit {
                    assert_eq!((0..inside as i64).contains(&byte), is_inside);
                }
                assert!(!is_inside || at % unit == 0);
                done += unit as u64;
            }
        }
    }
}
