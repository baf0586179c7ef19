use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn modes_bracket_the_nearest(a: f32, b: f32) {
        for operation in [Operation::Add, Operation::Sub, Operation::Mul, Operation::Div] {
            let at = |rounding| {
                let bits = single(a.to_bits().into(), b.to_bits().into(), 0, code(operation, rounding));
                f32::from_bits(bits as u32)
            };
            let exact = match operation {
                Operation::Add => a + b,
                Operation::Sub => a - b,
                Operation::Mul => a * b,
                _ => a / b,
            };
            prop_assume!(!exact.is_nan());
            prop_assert_eq!(at(Rounding::Nearest), exact);
            prop_assert!(at(Rounding::Down) <= exact && exact <= at(Rounding::Up));
            prop_assert!(at(Rounding::Zero).abs() <= exact.abs());
        }
    }

    #[test]
    fn directed_roots_bracket(value in 0.0f64..) {
        let at = |rounding| f64::from_bits(double(value.to_bits(), 0, 0, code(Operation::Sqrt, rounding)));
        let (down, up) = (at(Rounding::Down), at(Rounding::Up));
        prop_assert!(down == up || down.next_up() == up);
        let narrow = value as f32;
        let at = |rounding| f32::from_bits(single(narrow.to_bits().into(), 0, 0, code(Operation::Sqrt, rounding)) as u32);
        let (down, up) = (f64::from(at(Rounding::Down)), f64::from(at(Rounding::Up)));
        prop_assert!(down * down <= f64::from(narrow) && f64::from(narrow) <= up * up || narrow.is_infinite());
    }
}
