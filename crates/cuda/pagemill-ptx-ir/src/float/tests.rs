use super::*;
use proptest::prelude::*;

#[test]
fn minimum_and_maximum_order_zeros_and_skip_nan() {
    assert_eq!(min32(0.0, -0.0).to_bits(), (-0.0f32).to_bits());
    assert_eq!(max32(-0.0, 0.0).to_bits(), 0);
    assert_eq!(min32(f32::NAN, 3.0), 3.0);
    assert_eq!(max64(3.0, f64::NAN), 3.0);
    assert_eq!(min32(f32::NAN, f32::NAN).to_bits(), NAN32);
    assert_eq!(saturate32(f32::NAN).to_bits(), 0);
    assert_eq!(saturate32(-0.0).to_bits(), 0);
}

proptest! {
    #[test]
    fn conversions_agree_with_saturating_casts(bits: u32, wide: u64) {
        let (narrow, wide) = (f32::from_bits(bits), f64::from_bits(wide));
        prop_assert_eq!(to_s32(f64::from(narrow)), narrow as i32);
        prop_assert_eq!(to_u32(f64::from(narrow)), narrow as u32);
        prop_assert_eq!(to_s32(wide), wide as i32);
        prop_assert_eq!(to_u32(wide), wide as u32);
    }

    #[test]
    fn exp2_is_within_one_unit(x in -160.0f32..160.0) {
        let exact = f64::from(x).exp2() as f32;
        let error = i64::from(exp2_f32(x).to_bits()) - i64::from(exact.to_bits());
        prop_assert!(error.abs() <= 1, "2^{x}: {} against {exact}", exp2_f32(x));
    }
}
