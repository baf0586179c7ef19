use super::*;

#[test]
fn counter_form_equals_the_sequential_generator() {
    // First outputs of SplitMix64 started at state 0, as published with the xoshiro generators.
    let random = Random { key: 0 };
    assert_eq!(random.bits(0), 0xe220_a839_7b1d_cdaf);
    assert_eq!(random.bits(1), 0x6e78_9e6a_a1b9_65f4);
    assert_eq!(random.bits(2), 0x06c4_5d18_8009_454f);
}

#[test]
fn streams_and_seeds_differ() {
    let first: Vec<u64> = (0..8).map(|i| Random::new(1, 0).bits(i)).collect();
    assert_ne!(
        first,
        (0..8)
            .map(|i| Random::new(1, 1).bits(i))
            .collect::<Vec<_>>()
    );
    assert_ne!(
        first,
        (0..8)
            .map(|i| Random::new(2, 0).bits(i))
            .collect::<Vec<_>>()
    );
}

#[test]
fn bounded_numbers_stay_in_bounds_and_reach_both_ends() {
    let random = Random::new(7, 3);
    let drawn: std::collections::BTreeSet<u64> = (0..1000).map(|i| random.below(i, 6)).collect();
    assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!((0..1000).all(|i| (0.0..1.0).contains(&random.unit_f32(i))));
    assert!((0..1000).all(|i| (-2.0..3.0).contains(&random.f32_in(i, -2.0, 3.0))));
}
