use super::*;
use proptest::prelude::*;

fn sample(warp_instructions: u64, moved_bytes: u64, time: f64) -> Sample {
    let work = Work {
        warp_instructions,
        moved_bytes,
    };
    Sample { work, time }
}

/// Numbers between -1 and 1 that look random.
fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed | 1;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(next).collect()
}

proptest! {
    /// Launches whose time is a linear function of their work are estimated to the last digits.
    #[test]
    fn linear_time_is_found(
        overhead in 0.0f64..1e7,
        per_instruction in 0.1f64..1e3,
        per_byte in 0.0f64..1e2,
        works in prop::collection::vec((1u64..1_000_000, 0u64..1 << 20), 8..40),
    ) {
        let time = |work: &Work| overhead + per_instruction * work.warp_instructions as f64 + per_byte * work.moved_bytes as f64;
        let works: Vec<Work> = works
            .into_iter()
            .map(|(warp_instructions, moved_bytes)| Work { warp_instructions, moved_bytes })
            .collect();
        let (timed, others) = works.split_at(6);
        let spread = timed.iter().map(|work| work.warp_instructions).max() > timed.iter().map(|work| work.warp_instructions * 2).min();
        prop_assume!(spread);
        let samples: Vec<Sample> = timed.iter().map(|work| Sample { work: *work, time: time(work) }).collect();
        let model = Model::fit(&samples).expect("there are samples");
        for work in others {
            prop_assert!((model.time(work) - time(work)).abs() <= 1e-3 * (time(work) + overhead));
        }
    }

    /// Launches of equal work are estimated by the mean of the timed ones.
    #[test]
    fn equal_work_is_the_mean(times in prop::collection::vec(1.0f64..1e9, 1..50), work in 0u64..1 << 40) {
        let samples: Vec<Sample> = times.iter().map(|time| sample(work, 0, *time)).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let model = Model::fit(&samples).expect("there are samples");
        prop_assert!((model.time(&samples[0].work) - mean).abs() <= 1e-6 * mean);
    }
}

/// Over many populations, the interval holds the true sum about as often as it claims.
#[test]
fn the_interval_holds_the_true_time_as_often_as_it_says() {
    let (mut held, mut runs) = (0, 0);
    for seed in 0..400u64 {
        let population = 200;
        let spread = noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), 2 * population);
        let all: Vec<Sample> = (0..population)
            .map(|place| {
                let work = (1_000.0 + 400.0 * spread[2 * place]) as u64;
                sample(
                    work,
                    0,
                    1e6 + 50.0 * work as f64 + 3e4 * spread[2 * place + 1],
                )
            })
            .collect();
        let step = 5 + seed as usize % 12;
        let is_timed = |place: &usize| place.is_multiple_of(step);
        let timed: Vec<Sample> = (0..population)
            .filter(is_timed)
            .map(|place| all[place])
            .collect();
        let others: Vec<Sample> = (0..population)
            .filter(|place| !is_timed(place))
            .map(|place| all[place])
            .collect();
        let model = Model::fit(&timed).expect("there are samples");
        let estimate: f64 = others.iter().map(|sample| model.time(&sample.work)).sum();
        let truth: f64 = others.iter().map(|sample| sample.time).sum();
        let half = model.half_width(others.iter().map(|sample| &sample.work));
        runs += 1;
        held += usize::from((estimate - truth).abs() <= half);
    }
    assert!(held * 100 >= 92 * runs, "{held} of {runs}");
    assert!(held < runs, "an interval that is always right says nothing");
}

#[test]
fn one_sample_says_nothing_of_its_error() {
    let only = sample(10, 0, 100.0);
    let model = Model::fit(&[only]).expect("there is a sample");
    assert_eq!(model.time(&only.work), 100.0);
    assert_eq!(model.half_width([only.work].iter()), f64::INFINITY);
    assert_eq!(model.half_width([].iter()), 0.0);
    assert!(Model::fit(&[]).is_none());
}

#[test]
fn few_samples_of_different_work_are_in_proportion() {
    let model = Model::fit(&[sample(10, 0, 100.0), sample(20, 0, 200.0)]).expect("samples");
    assert!((model.time(&sample(40, 0, 0.0).work) - 400.0).abs() < 1e-9);
}
