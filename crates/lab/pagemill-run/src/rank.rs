//! A tournament: which policy is fastest over several programs, and how sure that is.

use std::collections::BTreeMap;

use pagemill_report::{Column, ColumnKind, Fact, ResultSet, Row, Summary};
use pagemill_scenario::{Point, Scenario, nearest};
use pagemill_types::{GOLDEN_GAMMA, mix64};

use crate::Outcome;

/// Resamples of the programs, from which the intervals are taken.
const RESAMPLES: usize = 2000;

/// Why nothing can be ranked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// The key that distinguishes the policies is not swept.
    #[error(
        "`{key}` is not swept, so there is nothing to rank: sweep it with --set '{key}=[\"one\", \"other\"]', or choose another key with --by; swept are {swept}"
    )]
    NotSwept {
        /// The key.
        key: String,
        /// The keys that are.
        swept: String,
    },
    /// The rows lack the metric.
    #[error("{point} has no positive `{metric}`: {meant}rank by another metric with --metric")]
    NoMetric {
        /// The point.
        point: String,
        /// The metric.
        metric: String,
        /// A metric of nearly that name, as a question; may be empty.
        meant: String,
    },
}

/// What is compared, and by which number; less is better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The swept key whose values compete: `transfer.mode`.
    pub by: String,
    /// The metric: `time_ns`.
    pub metric: String,
}

/// One competitor over all programs.
#[derive(Clone, Debug, PartialEq)]
struct Standing {
    name: String,
    /// Geometric mean over the programs of its figure over the best one's.
    mean: f64,
    /// Where 95 % of the means of resampled programs lie.
    low: f64,
    high: f64,
    /// Programs for which none is better.
    wins: u64,
    /// The share of resamples in which its mean is the least.
    first: f64,
    /// The largest ratio, and the program.
    worst: (f64, String),
}

/// Finds out whether `points` can be ranked by `terms`, before any of them runs.
///
/// # Errors
/// The key is not swept.
pub fn check(points: &[Point], terms: &Terms) -> Result<(), RankError> {
    let is_swept = |point: &Point| point.parameters.iter().any(|it| it.path == terms.by);
    if points.iter().all(is_swept) {
        return Ok(());
    }
    let mut swept: Vec<&str> = Vec::new();
    for parameter in points.iter().flat_map(|point| &point.parameters) {
        if !swept.contains(&parameter.path.as_str()) {
            swept.push(&parameter.path);
        }
    }
    let swept = match swept.is_empty() {
        true => "none".to_owned(),
        false => swept.join(", "),
    };
    let key = terms.by.clone();
    Err(RankError::NotSwept { key, swept })
}

/// The metric of `row` whose name is nearly `name`.
fn meant(name: &str, row: &Row) -> String {
    let known = row.metrics.iter().map(|(known, _)| known.as_str());
    let near = nearest(name, known).filter(|near| *near != name);
    near.map_or_else(String::new, |near| format!("did you mean `{near}`? or "))
}

/// Ranks the outcomes of `scenario`, the best first. What is swept beside the competing key makes the programs.
///
/// # Errors
/// As [`check`], or a point without the metric.
pub fn rank(
    scenario: &Scenario,
    outcomes: &[Outcome],
    terms: &Terms,
) -> Result<ResultSet, RankError> {
    check(&scenario.points, terms)?;
    let mut programs: BTreeMap<String, Vec<(String, f64)>> = BTreeMap::new();
    for (point, outcome) in scenario.points.iter().zip(outcomes) {
        let figure = outcome.row.number(&terms.metric).filter(|it| *it > 0.0);
        let figure = figure.ok_or_else(|| RankError::NoMetric {
            point: point.to_string(),
            metric: terms.metric.clone(),
            meant: meant(&terms.metric, &outcome.row),
        })?;
        let (own, others): (Vec<_>, Vec<_>) =
            (point.parameters.iter()).partition(|parameter| parameter.path == terms.by);
        let words = others.iter().map(|parameter| parameter.written.as_str());
        let program = words.collect::<Vec<_>>().join(", ");
        let name = own[0].written.clone();
        programs.entry(program).or_default().push((name, figure));
    }
    let standings = standings(&programs, scenario.seed);
    Ok(result_set(scenario, terms, &programs, &standings))
}

/// The competitors of `programs`, the best first. A competitor that some programs lack is judged by the others.
fn standings(programs: &BTreeMap<String, Vec<(String, f64)>>, seed: u64) -> Vec<Standing> {
    let mut ratios: BTreeMap<&str, Vec<Option<f64>>> = BTreeMap::new();
    for (number, figures) in programs.values().enumerate() {
        let best = figures.iter().map(|(_, figure)| *figure);
        let best = best.fold(f64::INFINITY, f64::min);
        for (name, figure) in figures {
            let own = ratios
                .entry(name)
                .or_insert_with(|| vec![None; programs.len()]);
            own[number] = Some(figure / best);
        }
    }
    let all: Vec<usize> = (0..programs.len()).collect();
    let means_of = |chosen: &[usize]| -> Vec<f64> {
        let of = |own: &Vec<Option<f64>>| geometric_mean(chosen.iter().filter_map(|&it| own[it]));
        ratios.values().map(of).collect()
    };
    let mut resampled: Vec<Vec<f64>> = vec![Vec::with_capacity(RESAMPLES); ratios.len()];
    let mut firsts = vec![0u64; ratios.len()];
    let mut chance = seed;
    for _ in 0..RESAMPLES {
        let chosen: Vec<usize> = all
            .iter()
            .map(|_| (next(&mut chance) % all.len().max(1) as u64) as usize)
            .collect();
        let means = means_of(&chosen);
        let least = means.iter().copied().fold(f64::INFINITY, f64::min);
        for (place, mean) in means.into_iter().enumerate() {
            firsts[place] += u64::from(mean <= least);
            resampled[place].push(mean);
        }
    }
    let names: Vec<&String> = programs.keys().collect();
    let means = means_of(&all);
    let mut standings: Vec<Standing> = Vec::new();
    for (place, (name, own)) in ratios.iter().enumerate() {
        let sample = &mut resampled[place];
        sample.sort_by(f64::total_cmp);
        let known = own.iter().enumerate();
        let known = known.filter_map(|(number, ratio)| Some(((*ratio)?, names[number].clone())));
        let worst = known.clone().max_by(|a, b| a.0.total_cmp(&b.0));
        standings.push(Standing {
            name: (*name).to_owned(),
            mean: means[place],
            low: sample[RESAMPLES / 40],
            high: sample[RESAMPLES - 1 - RESAMPLES / 40],
            wins: known.filter(|(ratio, _)| *ratio <= 1.0).count() as u64,
            first: firsts[place] as f64 / RESAMPLES as f64,
            worst: worst.unwrap_or((1.0, String::new())),
        });
    }
    standings.sort_by(|a, b| a.mean.total_cmp(&b.mean).then_with(|| a.name.cmp(&b.name)));
    standings
}

/// 1 of nothing.
fn geometric_mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut logs, mut count) = (0.0, 0u32);
    for number in numbers {
        logs += number.ln();
        count += 1;
    }
    (logs / f64::from(count.max(1))).exp()
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN_GAMMA);
    mix64(*state)
}

fn result_set(
    scenario: &Scenario,
    terms: &Terms,
    programs: &BTreeMap<String, Vec<(String, f64)>>,
    standings: &[Standing],
) -> ResultSet {
    let row = |(place, standing): (usize, &Standing)| {
        Row::new()
            .parameter("place", place as u64 + 1)
            .parameter("policy", standing.name.as_str())
            .metric("over_best", standing.mean)
            .metric("over_best_low", standing.low)
            .metric("over_best_high", standing.high)
            .metric("best_in", standing.wins)
            .metric("first_rate", standing.first)
            .metric("worst_ratio", standing.worst.0)
            .metric("worst_in", standing.worst.1.as_str())
    };
    let metric = |name: &str, kind, doc: &str| Column::metric(name, kind, doc);
    let ratio = ColumnKind::Ratio;
    ResultSet {
        scenario: scenario.name.clone(),
        title: format!("{}: ranked by {}", scenario.title, terms.metric),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: scenario.seed,
        columns: vec![
            Column::parameter("place", ColumnKind::Count, "1 is the best"),
            Column::parameter(
                "policy",
                ColumnKind::Text,
                format!("the value of {}", terms.by),
            ),
            metric(
                "over_best",
                ratio,
                "geometric mean over the programs of its figure over that of the best policy for the program",
            ),
            metric(
                "over_best_low",
                ratio,
                "lower end of the 95 % interval of over_best, from 2000 resamples of the programs",
            ),
            metric("over_best_high", ratio, "upper end of it"),
            metric(
                "best_in",
                ColumnKind::Count,
                "programs for which no policy is better",
            ),
            metric(
                "first_rate",
                ColumnKind::Rate,
                "share of the resamples in which it is first: how sure its place at the top is",
            ),
            metric("worst_ratio", ratio, "the largest ratio to the best policy"),
            metric("worst_in", ColumnKind::Text, "the program of that ratio"),
        ],
        rows: standings.iter().enumerate().map(row).collect(),
        summary: Summary {
            facts: vec![Fact::new(
                "programs",
                programs.len() as u64,
                ColumnKind::Count,
                "combinations of what is swept beside the policy",
            )],
            ..Summary::default()
        },
        ..ResultSet::default()
    }
}

#[cfg(test)]
mod tests;
