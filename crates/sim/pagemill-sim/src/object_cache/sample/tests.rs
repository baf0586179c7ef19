use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn a_rate_watches_its_share_of_all_objects_and_of_each_group() {
    let sample = HashSample::of_rate(0.1, 7);
    let groups: Vec<usize> = (0..1_000_000)
        .filter_map(|key| sample.watches(key))
        .map(|watched| watched.group)
        .collect();
    // Five standard deviations of a binomial distribution.
    assert!(groups.len().abs_diff(100_000) < 1500, "{}", groups.len());
    for group in 0..GROUPS {
        let count = groups.iter().filter(|found| **found == group).count();
        assert!(count.abs_diff(12_500) < 560, "{count} in {group}");
    }
    assert_eq!(HashSample::of_rate(1.0, 7).rate(), 1.0);
    assert!((0..1000).all(|key| HashSample::of_rate(1.0, 7).watches(key).is_some()));
}

proptest! {
    #[test]
    fn a_limit_is_kept_and_the_rate_watches_just_these(
        keys in prop::collection::vec(0_u64..500, 1..800),
        limit in 1_usize..300,
    ) {
        let mut smallest = SmallestHashes::new(limit, &HashSample::of_rate(1.0, 3));
        keys.iter().for_each(|key| smallest.request(*key, 10));
        let distinct: BTreeSet<u64> = keys.iter().copied().collect();
        let sample = smallest.sample();
        let watched = distinct.iter().filter(|key| sample.watches(**key).is_some()).count();
        prop_assert_eq!(watched, limit.min(distinct.len()));
        let footprint = smallest.footprint_bytes() * sample.rate();
        prop_assert!((footprint - 10.0 * watched as f64).abs() < 1e-6);
    }
}
