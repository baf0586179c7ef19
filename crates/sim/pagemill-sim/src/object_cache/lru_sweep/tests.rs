use pagemill_policy::replacement::{CacheSpec, REPLACEMENTS};
use proptest::prelude::*;

use super::*;

/// A cache for each capacity by itself.
fn one_by_one(capacities: &[u64], requests: &[Request]) -> Vec<Misses> {
    let lru = REPLACEMENTS.find("lru").expect("it is registered");
    let misses = capacities.iter().map(|bytes| {
        let spec = CacheSpec {
            bytes: *bytes,
            ways: 1,
            line_bytes: 1,
        };
        let mut cache = (lru.build)(&spec).expect("objects have no sets");
        cache.requests(requests)
    });
    misses.collect()
}

proptest! {
    #[test]
    fn a_sweep_is_a_cache_for_each_capacity(
        sizes in prop::collection::vec(prop_oneof![1_u32..4, 1_u32..60], 1..50),
        objects in prop::collection::vec(0_usize..50, 0..900),
        mut capacities in prop::collection::btree_set(1_u64..400, 1..20),
    ) {
        let requests: Vec<Request> = objects
            .iter()
            .map(|object| object % sizes.len())
            .map(|object| Request { object: object as u32, bytes: sizes[object], line: 0 })
            .collect();
        capacities.insert(2000);
        let capacities: Vec<u64> = capacities.into_iter().collect();
        let mut sweep = LruSweep::new(&capacities);
        requests.chunks(13).for_each(|block| sweep.requests(block));
        prop_assert_eq!(sweep.misses(), one_by_one(&capacities, &requests));
    }
}
