//! Settings that are near to all published values at once.
//!
//! [`Fit`] proposes settings in batches ([`Fit::ask`]) and takes their results ([`Fit::tell`]); its caller decides
//! where and how many at a time. The proposals depend on the answers alone, so the result does not depend on the runner.

mod front;
mod results;
mod search;

use std::sync::Arc;

use pagemill_report::{Claim, Row};
use pagemill_scenario::{FitPlan, FitSetting, InputErrors, Scenario};

use search::{Search, Tried};

/// A search and what it has found so far.
pub struct Fit {
    plan: FitPlan,
    search: Search,
    /// The scenario as it is.
    before: Option<Judged>,
    /// The settings in the order they were proposed.
    judged: Vec<Judged>,
}

/// A setting to try.
pub struct Trial {
    /// 0 is the scenario as it is; others count from 1.
    pub number: u64,
    /// The scenario with the setting, or why it cannot be run so.
    pub scenario: Result<Arc<Scenario>, InputErrors>,
    /// The overrides that make it.
    pub sets: Vec<String>,
    places: Vec<f64>,
    setting: Option<FitSetting>,
}

/// The result of a trial.
pub enum Answer {
    /// The rows of all points of its scenario.
    Rows(Vec<Row>),
    /// Why it has none.
    Refused(String),
}

/// A setting and how near it is.
struct Judged {
    setting: Option<FitSetting>,
    places: Vec<f64>,
    /// The targets in the order of the plan, or why there is none.
    found: Result<Vec<Found>, String>,
}

/// A target and what a setting gives.
struct Found {
    measured: f64,
    /// The logarithm of the factor between measured and published value, always positive.
    distance: f64,
    claim: Claim,
}

impl Fit {
    /// A search that has not begun.
    pub fn new(plan: FitPlan) -> Self {
        let search = Search {
            keys: plan.keys().map(|key| key.values).collect(),
            seed: plan.spec().seed,
            resolution: plan.spec().resolution,
        };
        Self {
            plan,
            search,
            before: None,
            judged: Vec::new(),
        }
    }

    /// What is searched.
    pub fn plan(&self) -> &FitPlan {
        &self.plan
    }

    /// How many settings were tried, the scenario as it is not counted.
    pub fn tried(&self) -> u64 {
        self.judged.len() as u64
    }

    /// What to try next: the first batch has the scenario as it is before its settings. None when the search has ended.
    pub fn ask(&self) -> Vec<Trial> {
        let before = self
            .before
            .is_none()
            .then(|| self.trial(0, Vec::new(), None));
        let settings = self.proposals().into_iter();
        let trial = |(index, places): (usize, Vec<f64>)| {
            let setting = self.plan.setting(&places);
            self.trial(self.tried() + index as u64 + 1, places, Some(setting))
        };
        before
            .into_iter()
            .chain(settings.enumerate().map(trial))
            .collect()
    }

    /// Places of the settings to try next.
    fn proposals(&self) -> Vec<Vec<f64>> {
        let left = self.plan.spec().points.saturating_sub(self.tried());
        if left == 0 {
            return Vec::new();
        }
        let tried: Vec<Tried> = self.judged.iter().map(Judged::tried).collect();
        let mut next = self
            .search
            .next(&tried, |places| self.plan.setting(places).sets);
        next.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        next
    }

    fn trial(&self, number: u64, places: Vec<f64>, setting: Option<FitSetting>) -> Trial {
        let values = setting.clone().unwrap_or_default();
        Trial {
            number,
            scenario: match &setting {
                None => Ok(Arc::clone(self.plan.scenario())),
                Some(setting) => self.plan.load(setting).map(Arc::new),
            },
            sets: self.plan.sets_of(&values),
            places,
            setting,
        }
    }

    /// Takes the results of trials, in the order that [`Fit::ask`] gave them. A search that was stopped may leave out the last
    /// ones, and must not ask again.
    pub fn tell(&mut self, answers: impl IntoIterator<Item = (Trial, Answer)>) {
        for (trial, answer) in answers {
            let found = match (&trial.scenario, answer) {
                (Ok(scenario), Answer::Rows(rows)) => self.judge(scenario, rows),
                (Err(errors), _) => Err(errors.to_string()),
                (_, Answer::Refused(reason)) => Err(reason),
            };
            let judged = Judged {
                setting: trial.setting,
                places: trial.places,
                found,
            };
            match judged.setting {
                None => self.before = Some(judged),
                Some(_) => self.judged.push(judged),
            }
        }
    }

    fn judge(&self, scenario: &Scenario, rows: Vec<Row>) -> Result<Vec<Found>, String> {
        let set = crate::result_set(scenario, rows.into_iter());
        let target = |target: &pagemill_scenario::Target| {
            let claim = set
                .summary
                .claims
                .iter()
                .find(|claim| claim.id == target.id);
            let claim = claim.ok_or_else(|| format!("{} is no claim", target.id))?;
            let measured = claim
                .measured
                .as_ref()
                .and_then(pagemill_report::Value::as_f64);
            let measured = measured.ok_or_else(|| format!("{}: {}", target.id, claim.note))?;
            Ok(Found {
                measured,
                distance: distance(measured, target.published),
                claim: claim.clone(),
            })
        };
        self.plan.targets().iter().map(target).collect()
    }

    /// The places in `judged` of the settings that no other one beats, the nearest to all targets first.
    fn front(&self) -> Vec<usize> {
        let distances: Vec<_> = self.judged.iter().map(Judged::distances).collect();
        let mut best = front::front(&distances, self.search.resolution);
        let off = |place: &usize| self.judged[*place].off_by().unwrap_or(f64::INFINITY);
        best.sort_by(|a, b| off(a).total_cmp(&off(b)));
        best
    }
}

impl Judged {
    fn distances(&self) -> Option<Vec<f64>> {
        let found = self.found.as_ref().ok()?;
        Some(found.iter().map(|found| found.distance).collect())
    }

    fn tried(&self) -> Tried {
        Tried {
            places: self.places.clone(),
            distances: self.distances(),
        }
    }

    /// The factor by which targets are missed: the root of the mean of the squared distances, as a factor.
    fn off_by(&self) -> Option<f64> {
        let distances = self.distances()?;
        let squares: f64 = distances.iter().map(|distance| distance * distance).sum();
        Some((squares / distances.len().max(1) as f64).sqrt().exp())
    }
}

/// How far `measured` is from `published`: the logarithm of the factor between them, so that twice and half are equally far. Where
/// one is not above zero, the difference.
fn distance(measured: f64, published: f64) -> f64 {
    if published > 0.0 && measured > 0.0 {
        (measured / published).ln().abs()
    } else if published > 0.0 {
        f64::INFINITY
    } else {
        (measured - published).abs()
    }
}

#[cfg(test)]
mod tests;
