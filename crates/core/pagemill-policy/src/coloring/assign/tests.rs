use proptest::prelude::*;

use super::*;
use crate::coloring::quota::QUOTA_POLICIES;
use crate::coloring::{Color, Sensitivity, arrange};

fn range(first: u16, count: u16) -> ColorRange {
    ColorRange::new(Color(first), count).expect("a range")
}

fn wish() -> impl Strategy<Value = Wish> {
    let class = prop::sample::select(&Sensitivity::ALL[..]);
    prop_oneof![
        (1_u16..6).prop_map(Wish::Colors),
        class.prop_map(|class| Wish::Curve(class.typical_curve(32))),
    ]
}

proptest! {
    /// Tasks come and go; whatever they ask for, their colors are disjoint, and all that is left goes to the curves.
    #[test]
    fn tasks_that_come_and_go_have_disjoint_colors(
        events in prop::collection::vec((wish(), 0_usize..8, 0_u64..1000), 1..25),
        policy in (0..QUOTA_POLICIES.len()).prop_map(|place| &QUOTA_POLICIES[place]),
    ) {
        const COLORS: u16 = 32;
        let mut tasks: Vec<(Wish, Option<ColorRange>, u64)> = Vec::new();
        for (wish, leaving, pages) in events {
            if leaving < tasks.len() {
                tasks.remove(leaving);
            }
            tasks.push((wish, None, pages));
            let claims: Vec<Claim<'_>> = tasks.iter()
                .map(|(wish, former, pages)| Claim { wish, former: *former, pages: *pages }).collect();
            let needed: u64 = claims.iter().map(|claim| least(claim.wish)).sum();
            match assign(COLORS, &claims, policy) {
                Err(error) => {
                    prop_assert_eq!(error, AssignError::Full { needed, colors: COLORS });
                    prop_assert!(needed > 32);
                    tasks.pop();
                }
                Ok(ranges) => {
                    let mut used = [false; COLORS as usize];
                    for color in ranges.iter().flat_map(|range| range.colors()) {
                        prop_assert!(!std::mem::replace(&mut used[usize::from(color.0)], true));
                    }
                    let has_curves = claims.iter().any(|claim| matches!(claim.wish, Wish::Curve(_)));
                    prop_assert!(!has_curves || used.iter().all(|used| *used));
                    for (claim, range) in claims.iter().zip(&ranges) {
                        if let Wish::Colors(count) = claim.wish {
                            prop_assert_eq!(*count, range.count());
                        }
                    }
                    for (task, range) in tasks.iter_mut().zip(ranges) {
                        task.1 = Some(range);
                    }
                }
            }
        }
    }

    /// Nothing that keeps the tasks' order moves less, while at most one task is new.
    #[test]
    fn no_other_arrangement_moves_fewer_pages(
        before in prop::collection::vec((1_u16..4, 1_u16..4, 0_u64..3), 1..4),
        newcomer in prop::option::of(1_u16..4),
        spare in 0_u16..3,
    ) {
        let mut next = 0;
        let mut former: Vec<_> = before.iter().map(|(had, _, gap)| {
            let own = range(next + *gap as u16, *had);
            next = own.end().0;
            Some(own)
        }).collect();
        let mut quotas: Vec<u16> = before.iter().map(|(_, wants, _)| *wants).collect();
        if let Some(quota) = newcomer {
            quotas.push(quota);
            former.push(None);
        }
        let colors = quotas.iter().sum::<u16>() + spare;
        let moved = |ranges: &[ColorRange]| -> u64 {
            // In 60ths of a task's pages: all counts here divide it.
            former.iter().zip(ranges).filter_map(|(former, now)| {
                let former = (*former)?;
                let most = former.count().max(now.count());
                Some(60 / u64::from(most) * u64::from(most - former.overlap(*now)))
            }).sum()
        };
        let found = arrange(colors, &quotas, &former).expect("they fit");
        let keeps_order = |ranges: &&Vec<ColorRange>| ranges[..before.len()].is_sorted_by_key(|range| range.first());
        let all = all_arrangements(colors, &quotas);
        let best = all.iter().filter(keeps_order).map(|ranges| moved(ranges)).min();
        prop_assert_eq!(Some(moved(&found)), best);
    }
}

/// Every way to give disjoint ranges of these lengths.
fn all_arrangements(colors: u16, quotas: &[u16]) -> Vec<Vec<ColorRange>> {
    let Some((quota, rest)) = quotas.split_last() else {
        return vec![Vec::new()];
    };
    let mut all = Vec::new();
    for others in all_arrangements(colors, rest) {
        for first in 0..=colors - quota {
            let own = range(first, *quota);
            if others.iter().all(|other| other.overlap(own) == 0) {
                all.push([others.clone(), vec![own]].concat());
            }
        }
    }
    all
}

#[test]
fn a_newcomer_is_put_where_it_moves_least() {
    let former = [Some(range(0, 32)), Some(range(32, 32)), None];
    let ranges = arrange(64, &[22, 21, 21], &former).expect("they fit");
    // Between the two, who both keep an end of the cache.
    assert_eq!(ranges, [range(0, 22), range(43, 21), range(22, 21)]);
}

#[test]
fn a_task_that_has_what_it_wants_stays_where_it_is() {
    let former = [Some(range(10, 10))];
    assert_eq!(arrange(64, &[10], &former), Ok(vec![range(10, 10)]));
    let wish = Wish::Colors(4);
    let claims = [Claim {
        wish: &wish,
        former: Some(range(60, 4)),
        pages: 7,
    }];
    let policy = QUOTA_POLICIES.find("utility").expect("in the registry");
    assert_eq!(assign(64, &claims, policy), Ok(vec![range(60, 4)]));
}

#[test]
fn pages_weigh() {
    for (pages, expected) in [
        ([100, 1], [range(0, 3), range(3, 3)]),
        ([1, 100], [range(0, 3), range(3, 3)]),
    ] {
        let former = [Some(range(0, 4)), Some(range(2, 4))];
        let ranges = arrange_pages(6, &[3, 3], &former, &pages);
        assert_eq!(ranges, Ok(expected.to_vec()));
    }
    let former = [Some(range(0, 4)), Some(range(2, 4))];
    let first = arrange_pages(8, &[4, 4], &former, &[100, 1]).expect("they fit");
    assert_eq!(first, [range(0, 4), range(4, 4)]);
    let second = arrange_pages(7, &[4, 3], &former, &[1, 100]).expect("they fit");
    assert_eq!(second[1].overlap(range(2, 4)), 2);
}

#[test]
fn a_typical_curve_is_of_its_class() {
    use crate::coloring::SensitivityRule;
    for colors in 4..=1024 {
        for class in Sensitivity::ALL {
            let curve = class.typical_curve(colors);
            assert_eq!(curve.colors(), colors);
            let found = SensitivityRule::default().class_of(&curve, 1);
            assert_eq!(found, class, "{colors} colors");
        }
    }
}
