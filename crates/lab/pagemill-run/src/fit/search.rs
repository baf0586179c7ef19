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
mod tests;
