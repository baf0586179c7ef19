use super::*;
use proptest::prelude::*;

/// Tries `points` settings of `search`, judged by `distances`.
fn searched(search: &Search, points: usize, distances: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Tried> {
    let mut tried: Vec<Tried> = Vec::new();
    while tried.len() < points {
        let batch = search.next(&tried, |places| identity(search, places));
        if batch.is_empty() {
            break;
        }
        let judged = batch.into_iter().map(|places| Tried {
            distances: Some(distances(&places)),
            places,
        });
        tried.extend(judged);
    }
    tried.truncate(points);
    tried
}

/// Ranges to a thousandth, values of lists by their number.
fn identity(search: &Search, places: &[f64]) -> Vec<u64> {
    let of = |(place, values): (&f64, &Option<usize>)| {
        let count = values.unwrap_or(1000);
        ((place * count as f64) as u64).min(count as u64 - 1)
    };
    places.iter().zip(&search.keys).map(of).collect()
}

fn search(keys: &[Option<usize>], seed: u64) -> Search {
    Search {
        keys: keys.to_vec(),
        seed,
        resolution: 0.0,
    }
}

fn sum(tried: &[Tried]) -> f64 {
    let sums = tried
        .iter()
        .flat_map(|it| &it.distances)
        .map(|it| it.iter().sum());
    sums.fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Two targets that one setting meets at once: places (x, y) and the right one of four values.
    #[test]
    fn it_comes_to_the_one_setting_that_meets_every_target(x in 0.0..1.0_f64, y in 0.0..1.0_f64, right in 0_usize..4, seed: u64) {
        let search = search(&[None, Some(4), None], seed);
        let tried = searched(&search, 400, |places| {
            let wrong = f64::from((places[1] * 4.0) as usize != right);
            vec![(places[0] - x).abs() + wrong, (places[2] - y).abs() + wrong]
        });
        prop_assert!(sum(&tried) < 0.03, "{} away", sum(&tried));
    }

    /// Targets that exclude each other: near to both ends of one line. The front spreads over all of it.
    #[test]
    fn it_keeps_a_front_where_targets_exclude_each_other(seed: u64) {
        let search = search(&[None, None], seed);
        let tried = searched(&search, 300, |places| vec![places[0] + places[1], 1.0 - places[0] + places[1]]);
        let distances: Vec<_> = tried.iter().map(|it| it.distances.clone()).collect();
        let ends: Vec<f64> = front(&distances, 0.05).iter().map(|place| tried[*place].places[0]).collect();
        let (least, most) = (ends.iter().copied().fold(1.0, f64::min), ends.iter().copied().fold(0.0, f64::max));
        prop_assert!(least < 0.1 && most > 0.9, "{least} to {most}");
    }

    #[test]
    fn small_spaces_are_tried_to_the_last_and_nothing_twice(counts in prop::collection::vec(1_usize..5, 1..4), seed: u64) {
        let keys: Vec<_> = counts.iter().copied().map(Some).collect();
        let search = search(&keys, seed);
        let all: usize = counts.iter().product();
        let best = |places: &[f64]| vec![identity(&search, places).iter().sum::<u64>() as f64];
        let tried = searched(&search, 1000, best);
        let different: BTreeSet<_> = tried.iter().map(|it| identity(&search, &it.places)).collect();
        prop_assert_eq!((tried.len(), different.len()), (all, all));
        prop_assert_eq!(sum(&tried), 0.0);
    }

    #[test]
    fn places_stay_between_the_ends(seed: u64, failing in 0_usize..5) {
        let search = search(&[None, Some(3), None], seed);
        let mut tried = Vec::new();
        for _ in 0..6 {
            for places in search.next(&tried, |places| identity(&search, places)) {
                prop_assert!(places.iter().all(|place| (0.0..=1.0).contains(place)), "{places:?}");
                let distances = (tried.len() % 5 >= failing).then(|| vec![places[0], f64::INFINITY]);
                tried.push(Tried { places, distances });
            }
        }
    }
}

#[test]
fn the_first_settings_fill_the_space() {
    let search = search(&[None, None], 7);
    let mut quarters = [0; 4];
    for places in search.next(&[], |places| identity(&search, places)) {
        quarters[usize::from(places[0] >= 0.5) * 2 + usize::from(places[1] >= 0.5)] += 1;
    }
    assert!(
        quarters.iter().all(|count| (1..=3).contains(count)),
        "{quarters:?}"
    );
}
