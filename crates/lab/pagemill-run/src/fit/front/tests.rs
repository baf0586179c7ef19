use super::*;
use proptest::prelude::*;

fn settings() -> impl Strategy<Value = Vec<Option<Vec<f64>>>> {
    let distance = prop_oneof![8 => 0.0..2.0_f64, 1 => Just(0.0), 1 => Just(f64::INFINITY)];
    let one = prop::option::weighted(0.9, prop::collection::vec(distance, 3));
    prop::collection::vec(one, 0..40)
}

fn beats(a: &[f64], b: &[f64]) -> bool {
    a != b && a.iter().zip(b).all(|(a, b)| a <= b)
}

proptest! {
    #[test]
    fn without_steps_it_is_what_no_other_beats(settings in settings()) {
        let front = front(&settings, 0.0);
        for (place, own) in settings.iter().enumerate() {
            let Some(own) = own else {
                prop_assert!(!front.contains(&place));
                continue;
            };
            let beaten = settings.iter().flatten().any(|other| beats(other, own));
            let twin = settings[..place].iter().flatten().any(|other| other == own);
            prop_assert_eq!(front.contains(&place), !beaten && !twin, "setting {}", place);
        }
    }

    #[test]
    fn with_steps_every_setting_is_covered_to_a_step(settings in settings(), resolution in 0.01..0.5_f64) {
        let front = front(&settings, resolution);
        for own in settings.iter().flatten() {
            let is_covered = |place: &usize| {
                let other = settings[*place].as_ref().expect("a front has distances");
                other.iter().zip(own).all(|(a, b)| *a <= *b || a - b < resolution)
            };
            prop_assert!(front.iter().any(is_covered));
        }
        let exact = super::front(&settings, 0.0);
        prop_assert!(front.len() <= exact.len());
    }
}
