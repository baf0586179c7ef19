//! Which settings are best where several targets pull in different directions.

/// The places in `distances` that nothing beats: each is at least as near to every target as any other is, or nearer to one.
///
/// Distances are compared in steps of `resolution` (exactly, where it is 0), so that the front does not fill up with settings
/// that hardly differ; of settings in the same steps, the one with the least sum stays, then the first
/// (Laumanns et al.: Combining convergence and diversity in evolutionary multiobjective optimization, 2002). Settings without
/// distances are on no front. In the order of their places.
pub fn front(distances: &[Option<Vec<f64>>], resolution: f64) -> Vec<usize> {
    let candidates: Vec<(usize, Vec<f64>, f64)> = distances
        .iter()
        .enumerate()
        .filter_map(|(place, own)| {
            let own = own.as_ref()?;
            Some((place, steps(own, resolution), own.iter().sum()))
        })
        .collect();
    let is_beaten = |(place, steps, sum): &(usize, Vec<f64>, f64)| {
        candidates.iter().any(|(other, other_steps, other_sum)| {
            let is_as_near = other_steps.iter().zip(steps).all(|(a, b)| a <= b);
            let is_equal = other_steps == steps;
            is_as_near && (!is_equal || (other_sum, other) < (sum, place))
        })
    };
    let best = candidates.iter().filter(|candidate| !is_beaten(candidate));
    best.map(|(place, ..)| *place).collect()
}

fn steps(distances: &[f64], resolution: f64) -> Vec<f64> {
    let step = |distance: &f64| match resolution > 0.0 {
        true => (distance / resolution).floor(),
        false => *distance,
    };
    distances.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
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
}
