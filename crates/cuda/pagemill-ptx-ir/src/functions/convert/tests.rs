use super::*;

#[test]
fn clamping_and_nan() {
    let code = |bytes, signed, source| integer_code(bytes, signed, source);
    assert_eq!(saturate(300, 0, 0, code(1, false, true)), 255);
    assert_eq!(
        saturate(-300i64 as u64, 0, 0, code(1, true, true)),
        u64::from(-128i32 as u32)
    );
    assert_eq!(
        float_to_integer(1e30f64.to_bits(), 0, 0, code(8, true, true)),
        i64::MAX as u64
    );
    assert_eq!(
        float_to_integer(f64::NAN.to_bits(), 0, 0, code(8, false, false)),
        1 << 63
    );
    assert_eq!(
        float_to_integer(f64::NAN.to_bits(), 0, 0, code(2, true, false)),
        0
    );
    assert_eq!(
        pack(70_000, -1i32 as u32 as u64, 0, pack_code(16, true)),
        0x7fff_ffff
    );
}
