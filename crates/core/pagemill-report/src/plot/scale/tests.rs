use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn linear_positions_are_proportional(values in proptest::collection::vec(0.0..1e12f64, 1..20)) {
        let scale = Scale::from_zero(values.iter().copied(), ColumnKind::Number);
        for value in values {
            let expected = value / scale.max();
            prop_assert!((scale.position(value) - expected).abs() < 1e-9);
            prop_assert!(value <= scale.max() * (1.0 + 1e-9));
        }
    }

    #[test]
    fn equal_factors_are_equal_steps(low in 1e-6..1e6f64, factor in 1.1..50.0f64) {
        let scale = Scale::powers([low, low * factor * factor].into_iter(), ColumnKind::Number);
        let at = |value| scale.position(value);
        let (first, second) = (at(low * factor) - at(low), at(low * factor * factor) - at(low * factor));
        prop_assert!((first - second).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_few_and_inside(values in proptest::collection::vec(-1e9..1e15f64, 0..5), log: bool) {
        for kind in [ColumnKind::Bytes, ColumnKind::TimeNs] {
            let scale = if log {
                Scale::powers(values.iter().copied(), kind)
            } else {
                Scale::from_zero(values.iter().copied(), kind)
            };
            let ticks = scale.ticks(kind);
            prop_assert!((1..=12).contains(&ticks.len()), "{:?}: {:?}", scale, ticks);
            let slack = (scale.max() - scale.min()) * 1e-6;
            prop_assert!(ticks.iter().all(|t| *t >= scale.min() - slack && *t <= scale.max() + slack));
            prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn positions_never_leave_the_axis(value in any::<f64>(), a in any::<f64>(), b in any::<f64>()) {
        for scale in [Scale::from_zero([a, b].into_iter(), ColumnKind::Count), Scale::powers([a, b].into_iter(), ColumnKind::Bytes)] {
            prop_assert!((0.0..=1.0).contains(&scale.position(value)));
        }
    }
}

#[test]
fn bytes_tick_in_powers_of_two() {
    let scale = Scale::from_zero([5000.0].into_iter(), ColumnKind::Bytes);
    assert_eq!(
        scale.ticks(ColumnKind::Bytes),
        [0.0, 1024.0, 2048.0, 3072.0, 4096.0, 5120.0]
    );
}
#[test]
fn bytes_tick_in_powers_of_two_on_a_logarithmic_axis() {
    let scale = Scale::powers([10_000.0, 3e9].into_iter(), ColumnKind::Bytes);
    let ticks = scale.ticks(ColumnKind::Bytes);
    assert!(ticks.len() >= 4, "{ticks:?}");
    assert!(
        ticks.iter().all(|tick| tick.log2().fract() == 0.0),
        "{ticks:?}"
    );
    let few = Scale::powers([8.0, 4096.0].into_iter(), ColumnKind::Bytes);
    assert_eq!(
        few.ticks(ColumnKind::Bytes),
        [16.0, 64.0, 256.0, 1024.0, 4096.0]
    );
}

#[test]
fn ticks_of_a_doubled_number_are_some_of_its_values() {
    let ticks = Scale::log2(1.0, 1024.0).ticks(ColumnKind::Count);
    assert_eq!(ticks, [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0]);
}
