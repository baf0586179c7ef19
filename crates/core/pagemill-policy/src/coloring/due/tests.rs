use super::*;
use proptest::prelude::*;

#[test]
fn what_saves_nothing_is_never_due() {
    let curve = MissCurve::new(1000, vec![900, 500, 500]).expect("a curve");
    assert_eq!(DueChange::new(&curve, (2, 3), 1e6, 70.0), None);
    assert_eq!(DueChange::new(&curve, (3, 1), 1e6, 70.0), None);
    // Four of nine misses are avoidable.
    let change = DueChange::new(&curve, (1, 2), 70_000.0, 70.0).expect("it saves misses");
    assert!(!change.is_due(2249) && change.is_due(2250));
}

proptest! {
    /// Whenever the task ends, the wait and the change cost at most twice what the better of both choices would have.
    #[test]
    fn it_costs_at_most_twice_the_best(
        (now, then) in (2u64..1000).prop_flat_map(|now| (Just(now), 1..now)),
        change_ns in 1.0..1e7f64,
        misses_to_end in 0u64..10_000_000,
    ) {
        let miss_ns = 70.0;
        let curve = MissCurve::new(1000, vec![now, then]).expect("a curve");
        let change = DueChange::new(&curve, (1, 2), change_ns, miss_ns).expect("it saves misses");
        let avoidable_ns = miss_ns * (now - then) as f64 / now as f64;
        let never_ns = misses_to_end as f64 * avoidable_ns;
        let best_ns = never_ns.min(change_ns);
        let own_ns = match change.is_due(misses_to_end) {
            true => change.misses as f64 * avoidable_ns + change_ns,
            false => never_ns,
        };
        // A miss more than a part of one.
        prop_assert!(own_ns <= 2.0 * best_ns + avoidable_ns, "{own_ns} of {best_ns}");
    }
}
