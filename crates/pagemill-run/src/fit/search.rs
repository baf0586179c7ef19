//! Which settings to try next: a function of those tried before, and of nothing else.
//!
//! A setting is a place from 0 up to 1 for each key. The first settings fill the space evenly: points of Roberts' additive
//! recurrence, shifted by the seed. From then on each batch changes the best settings found so far, as evolutionary searches
//! do: it takes one of the front, the one nearest to all targets, or the one nearest to one of them, mixes in keys of another,
//! and moves some keys by a step.
//! Steps of a batch have four lengths, from a third of a range to a hundredth, so that no schedule has to be guessed: long
//! ones find another valley, short ones the bottom of this one. One setting of each batch goes on filling the space.
//!
//! Batches have one size whatever runs them, and do not depend on the budget: more workers give the same settings, and a larger
//! budget the same settings first.

use std::collections::BTreeSet;

use pagemill_types::{GOLDEN_GAMMA, mix64};

use super::front::front;

/// Settings that are proposed before any of them is judged.
const BATCH: usize = 8;
/// Settings for each key that fill the space before the search begins.
const FILL: usize = 2;
/// How far a key moves, by the place in a batch.
const STEPS: [f64; 4] = [0.3, 0.1, 0.03, 0.01];
/// How likely a key that is not the chosen one moves too.
const ALSO: f64 = 0.3;
/// How likely a key is taken from another setting of the front.
const MIXED: f64 = 0.25;
/// How often another setting is looked for where one was tried before.
const ATTEMPTS: usize = 200;
/// Spaces of lists that have at most so many settings are tried to the last.
const SMALL: usize = 100_000;

/// A setting that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Its places.
    pub places: Vec<f64>,
    /// How far it is from each target; `None` where it could not be run.
    pub distances: Option<Vec<f64>>,
}

/// The space and how to search it.
#[derive(Clone, Debug)]
pub struct Search {
    /// For each key how many values it may have; `None` for a range.
    pub keys: Vec<Option<usize>>,
    /// Seed of all choices.
    pub seed: u64,
    /// As for [`front`].
    pub resolution: f64,
}

impl Search {
    /// The settings to try next, after `tried`; none when all were tried. Two settings are the same if `identity` says so.
    pub fn next<I: Ord>(&self, tried: &[Tried], identity: impl Fn(&[f64]) -> I) -> Vec<Vec<f64>> {
        let mut known: BTreeSet<I> = tried.iter().map(|it| identity(&it.places)).collect();
        let distances: Vec<_> = tried.iter().map(|it| it.distances.clone()).collect();
        let best = front(&distances, self.resolution);
        let mut chance = Chance(mix64(
            self.seed ^ (tried.len() as u64).wrapping_mul(GOLDEN_GAMMA),
        ));
        let is_filling =
            best.is_empty() || tried.len() < (FILL * self.keys.len()).next_multiple_of(BATCH);
        let mut batch = Vec::with_capacity(BATCH);
        for number in 0..BATCH {
            let changed = !is_filling && number + 1 < BATCH;
            let mut places = None;
            for attempt in 0..ATTEMPTS {
                let candidate = match changed {
                    true => self.changed(tried, &best, STEPS[number % STEPS.len()], &mut chance),
                    false => self.filling(tried.len() + number + attempt * BATCH),
                };
                if known.insert(identity(&candidate)) {
                    places = Some(candidate);
                    break;
                }
            }
            let places = places.or_else(|| self.untried(&mut known, &identity));
            batch.extend(places);
        }
        batch
    }

    /// Point `number` of the sequence that fills the space.
    fn filling(&self, number: usize) -> Vec<f64> {
        // The root above 1 of x^(keys + 1) = x + 1; its powers give the most even sequence known of this form.
        let mut root = 2.0_f64;
        for _ in 0..64 {
            root = (1.0 + root).powf(1.0 / (self.keys.len() as f64 + 1.0));
        }
        let mut shift = Chance(self.seed);
        let place = |key: usize| {
            let step = root.powi(-(key as i32 + 1));
            (shift.unit() + step * (number as f64 + 1.0)).fract()
        };
        (0..self.keys.len()).map(place).collect()
    }

    /// One of the `best` settings, changed by steps of the length `step`.
    fn changed(&self, tried: &[Tried], best: &[usize], step: f64, chance: &mut Chance) -> Vec<f64> {
        let parent = match chance.below(3) {
            0 => nearest(tried, best, |_| true),
            1 => {
                let target = chance.next() as usize;
                nearest(tried, best, |(number, targets)| number == target % targets)
            }
            _ => best[chance.below(best.len())],
        };
        let other = &tried[best[chance.below(best.len())]].places;
        let chosen = chance.below(self.keys.len());
        let mut places = tried[parent].places.clone();
        for (key, place) in places.iter_mut().enumerate() {
            if chance.unit() < MIXED {
                *place = other[key];
            }
            if key != chosen && chance.unit() >= ALSO {
                continue;
            }
            *place = match self.keys[key] {
                // Another value of a list, any of them: lists have no order.
                Some(values) => {
                    let own = ((*place * values as f64) as usize).min(values - 1);
                    let next = (own + 1 + chance.below(values.max(2) - 1)) % values;
                    (next as f64 + 0.5) / values as f64
                }
                // A sum of three is near enough to a normal distribution.
                None => {
                    let away = chance.unit() + chance.unit() + chance.unit() - 1.5;
                    reflected(*place + 2.0 * step * away)
                }
            };
        }
        places
    }

    /// The first setting of a small space of lists that was not tried.
    fn untried<I: Ord>(
        &self,
        known: &mut BTreeSet<I>,
        identity: impl Fn(&[f64]) -> I,
    ) -> Option<Vec<f64>> {
        let counts: Vec<usize> = self.keys.iter().copied().collect::<Option<_>>()?;
        let all = counts
            .iter()
            .try_fold(1_usize, |all, count| all.checked_mul(*count));
        let all = all.filter(|all| *all <= SMALL)?;
        (0..all).find_map(|mut number| {
            let place = |count: &usize| {
                let index = number % count;
                number /= count;
                (index as f64 + 0.5) / *count as f64
            };
            let places: Vec<f64> = counts.iter().map(place).collect();
            known.insert(identity(&places)).then_some(places)
        })
    }
}

/// The one of the `best` whose distances have the least sum of squares, of the targets that count: each has its number and how
/// many there are.
fn nearest(tried: &[Tried], best: &[usize], counts: impl Fn((usize, usize)) -> bool) -> usize {
    let squares = |place: usize| -> f64 {
        let distances = tried[place].distances.as_deref().unwrap_or_default();
        let counted = distances.iter().enumerate();
        let counted = counted.filter(|(number, _)| counts((*number, distances.len())));
        counted.map(|(_, distance)| distance * distance).sum()
    };
    let least = best
        .iter()
        .copied()
        .min_by(|a, b| squares(*a).total_cmp(&squares(*b)));
    least.unwrap_or_default()
}

/// `place` mirrored at the ends until it lies between them.
fn reflected(place: f64) -> f64 {
    let folded = place.rem_euclid(2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        mix64(self.0)
    }

    /// From 0 up to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tries `points` settings of `search`, judged by `distances`.
    fn searched(
        search: &Search,
        points: usize,
        distances: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Vec<Tried> {
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
}
