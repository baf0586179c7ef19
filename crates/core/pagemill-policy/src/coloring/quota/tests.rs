use proptest::prelude::*;

use super::*;

/// A task that misses always, until it has `knee` colors.
fn knee(references: u64, knee: u16, colors: u16) -> MissCurve {
    let misses = (1..=colors).map(|color| if color < knee { references } else { 0 });
    MissCurve::new(references, misses.collect()).expect("misses are at most the references")
}

fn flat(references: u64, misses: u64, colors: u16) -> MissCurve {
    MissCurve::new(references, vec![misses; usize::from(colors)]).expect("a curve")
}

fn quotas(name: &str, colors: u16, curves: &[MissCurve]) -> Vec<u16> {
    let entry = QUOTA_POLICIES.find(name).expect("it is in the registry");
    divide(entry, colors, curves).expect("there are tasks, and colors for them")
}

#[test]
fn a_sensitive_task_gets_its_best_quota_and_a_flat_one_the_rest() {
    // mcf and gromacs of the document: 56 and 8 of 64.
    let pair = [knee(1000, 56, 64), flat(1000, 10, 64)];
    assert_eq!(quotas("best-quota", 64, &pair), [56, 8]);
    // Plateaus before the knee do not stop the look-ahead; what saves nothing goes to the smallest share.
    assert_eq!(quotas("utility", 64, &pair), [56, 8]);
    assert_eq!(quotas("equal", 64, &pair), [32, 32]);
}

#[test]
fn two_tasks_that_want_all_share_in_proportion() {
    let pair = [knee(1000, 64, 64), knee(1000, 64, 64)];
    assert_eq!(quotas("best-quota", 64, &pair), [32, 32]);
}

#[test]
fn a_stream_gets_no_color_that_a_sensitive_task_wants() {
    let stream = flat(1_000_000, 1_000_000, 16);
    let sensitive = knee(100, 15, 16);
    for name in ["best-quota", "utility"] {
        assert_eq!(
            quotas(name, 16, &[stream.clone(), sensitive.clone()]),
            [1, 15],
            "{name}"
        );
    }
}

#[test]
fn one_task_gets_everything() {
    for entry in &QUOTA_POLICIES {
        assert_eq!(
            divide(entry, 64, &[knee(10, 3, 64)]),
            Some(vec![64]),
            "{}",
            entry.name
        );
    }
}

#[test]
fn impossible_divisions_are_refused() {
    let curve = flat(1, 1, 2);
    let entry = &QUOTA_POLICIES[0];
    assert_eq!(divide(entry, 2, &[]), None);
    assert_eq!(
        divide(entry, 2, &[curve.clone(), curve.clone(), curve]),
        None
    );
}

fn curves() -> impl Strategy<Value = Vec<MissCurve>> {
    let curve = (1_u64..1000).prop_flat_map(|references| {
        prop::collection::vec(0..=references, 1..20)
            .prop_map(move |misses| MissCurve::new(references, misses).expect("a curve"))
    });
    prop::collection::vec(curve, 1..6)
}

proptest! {
    #[test]
    fn every_policy_keeps_the_contract(curves in curves(), more in 0_u16..60) {
        let colors = curves.len() as u16 + more;
        for entry in &QUOTA_POLICIES {
            let quotas = divide(entry, colors, &curves).expect("enough colors");
            prop_assert_eq!(quotas.len(), curves.len(), "{}", entry.name);
            prop_assert!(quotas.iter().all(|quota| *quota >= 1), "{}: {:?}", entry.name, &quotas);
            prop_assert_eq!(quotas.iter().sum::<u16>(), colors, "{}: {:?}", entry.name, &quotas);
        }
    }

    /// For curves that only bend one way, look-ahead finds the best division there is.
    #[test]
    fn utility_is_optimal_on_convex_curves(
        falls in prop::collection::vec(prop::collection::vec(0_u64..100, 8), 2..4),
    ) {
        let curves: Vec<MissCurve> = falls.into_iter().map(|mut falls| {
            falls.sort_unstable_by(|a, b| b.cmp(a));
            let total: u64 = falls.iter().sum();
            let misses = falls.iter().scan(total, |left, fall| { *left -= fall; Some(*left) }).collect();
            MissCurve::new(total, misses).expect("a curve")
        }).collect();
        let missed = |quotas: &[u16]| -> u64 {
            curves.iter().zip(quotas).map(|(curve, quota)| curve.misses(*quota)).sum()
        };
        let best = divisions(8, curves.len()).iter().map(|quotas| missed(quotas)).min();
        prop_assert_eq!(Some(missed(&quotas("utility", 8, &curves))), best);
    }
}

/// Every way to give `colors` to `tasks`, at least 1 each.
fn divisions(colors: u16, tasks: usize) -> Vec<Vec<u16>> {
    if tasks == 1 {
        return vec![vec![colors]];
    }
    (1..=colors - (tasks as u16 - 1))
        .flat_map(|first| {
            divisions(colors - first, tasks - 1)
                .into_iter()
                .map(move |rest| [vec![first], rest].concat())
        })
        .collect()
}
