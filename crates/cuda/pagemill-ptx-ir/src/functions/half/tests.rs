use super::*;
use proptest::prelude::*;

#[test]
fn every_half_survives_a_round_trip() {
    for code in [0, BF16] {
        let format = Format::of(code);
        for bits in 0..=u16::MAX {
            let value = format.decode(bits);
            if !value.is_nan() {
                assert_eq!(format.encode(value, 0), bits, "{bits:#x}");
            }
        }
    }
}

#[test]
fn decoding_agrees_with_the_half_crate() {
    for bits in 0..=u16::MAX {
        let (half, brain) = (
            half::f16::from_bits(bits).to_f64(),
            half::bf16::from_bits(bits).to_f64(),
        );
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        assert!(same(Format::of(0).decode(bits), half));
        assert!(same(Format::of(BF16).decode(bits), brain));
    }
}

proptest! {
    #[test]
    fn rounding_is_to_the_nearest_of_the_neighbors(value: f32) {
        prop_assume!(!value.is_nan());
        prop_assert_eq!(Format::of(0).encode(value.into(), 0), half::f16::from_f32(value).to_bits());
        prop_assert_eq!(Format::of(BF16).encode(value.into(), 0), half::bf16::from_f32(value).to_bits());
        for code in [0, BF16] {
            let format = Format::of(code);
            let [zero, down, up] = [1, 2, 3].map(|mode| format.decode(format.encode(value.into(), mode)));
            prop_assert!(down <= value.into() && up >= value.into());
            prop_assert!(zero.abs() <= f64::from(value).abs());
        }
    }

    #[test]
    fn fma_is_rounded_once(a: u16, b: u16, c: u16) {
        use rustc_apfloat::{Float, ieee::{BFloat, Half}};
        fn exact<F: Float>(a: u16, b: u16, c: u16) -> Option<u16> {
            let [a, b, c] = [a, b, c].map(|bits| F::from_bits(bits.into()));
            let value = a.mul_add(b, c).value;
            (!value.is_nan()).then(|| value.to_bits() as u16)
        }
        let wanted = exact::<Half>(a, b, c).unwrap_or(0x7fff);
        prop_assert_eq!(compute(a.into(), b.into(), c.into(), FMA), u64::from(wanted));
        let wanted = exact::<BFloat>(a, b, c).unwrap_or(0x7fff);
        prop_assert_eq!(compute(a.into(), b.into(), c.into(), FMA | BF16), u64::from(wanted));
    }
}
