//! A search that was checked: every key exists, every target has a published value.

use std::sync::Arc;

use super::section::EXAMPLE;
use super::{FitSpec, Key};
use crate::document::{SourceText, parse_argument};
use crate::error::{InputErrors, Problem};
use crate::names::did_you_mean;
use crate::point::{Parameter, parameter};
use crate::scenario::{Scenario, load_given};

/// A scenario whose `[fit]` section can be searched.
#[derive(Clone, Debug)]
pub struct FitPlan {
    scenario: Arc<Scenario>,
    sets: Vec<String>,
    spec: FitSpec,
    targets: Vec<Target>,
}

/// A published value that settings are judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The claim's id.
    pub id: String,
    /// Its published value.
    pub published: f64,
}

/// A key that the search changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitKey<'a> {
    /// The dotted key.
    pub path: &'a str,
    /// How many values it may have; `None` for a range.
    pub values: Option<usize>,
}

/// One value for each key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitSetting {
    /// The `KEY=VALUE` arguments of `--set` that make the setting.
    pub sets: Vec<String>,
    /// The same as rows hold it.
    pub parameters: Vec<Parameter>,
}

impl FitPlan {
    /// The search that `scenario`, which was loaded with the overrides `sets`, asks for.
    ///
    /// # Errors
    /// There is no `[fit]`; a target has no published value, or there is none; a key does not exist, has a value that the
    /// scenario cannot be run with, or is swept or overridden too.
    pub fn new(scenario: Arc<Scenario>, sets: &[String]) -> Result<Self, InputErrors> {
        let spec = scenario.fit.clone().ok_or_else(|| {
            Problem::new(format!(
                "{} has no section [fit], so nothing says what to search",
                scenario.name
            ))
            .help(EXAMPLE.to_owned())
        })?;
        let targets = targets(&scenario, &spec)?;
        let plan = Self {
            sets: sets.to_vec(),
            spec,
            targets,
            scenario,
        };
        plan.check_keys()?;
        Ok(plan)
    }

    /// The scenario as it is.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// What the section says.
    pub fn spec(&self) -> &FitSpec {
        &self.spec
    }

    /// The published values, at least one.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The keys, at least one.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = FitKey<'_>> {
        self.spec.keys.iter().map(|key| FitKey {
            path: &key.path,
            values: key.values.count(),
        })
    }

    /// The setting with each key's value at its place of `places`, from 0 up to 1.
    pub fn setting(&self, places: &[f64]) -> FitSetting {
        let written = |(key, place): (&Key, &f64)| (key.path.clone(), key.values.at(*place));
        let values: Vec<(String, String)> =
            self.spec.keys.iter().zip(places).map(written).collect();
        let of = |(key, (path, value)): (&Key, &(String, String))| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            let node = parse_argument(&SourceText::argument(value), 0);
            parameter(&path, key.values.dimension(), &node)
        };
        FitSetting {
            parameters: self.spec.keys.iter().zip(&values).map(of).collect(),
            sets: values
                .into_iter()
                .map(|(path, value)| format!("{path}={value}"))
                .collect(),
        }
    }

    /// The overrides of the scenario and those of `setting` over them.
    pub fn sets_of(&self, setting: &FitSetting) -> Vec<String> {
        [self.sets.as_slice(), &setting.sets].concat()
    }

    /// The scenario with `setting`.
    ///
    /// # Errors
    /// It cannot be run so.
    pub fn load(&self, setting: &FitSetting) -> Result<Scenario, InputErrors> {
        load_given(
            &self.scenario.source,
            &self.sets_of(setting),
            &self.scenario.machines,
        )
    }

    fn check_keys(&self) -> Result<(), InputErrors> {
        let overlap = |a: &str, b: &str| {
            let is_below = |inner: &str, outer: &str| {
                inner
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            is_below(a, b) || is_below(b, a)
        };
        let swept = self
            .scenario
            .points
            .iter()
            .flat_map(|point| &point.parameters);
        let swept: Vec<&str> = swept.map(|parameter| parameter.path.as_str()).collect();
        let names_of = |set: &String| set.split('=').next().unwrap_or_default().trim().to_owned();
        let set: Vec<String> = self.sets.iter().map(names_of).collect();
        for key in &self.spec.keys {
            if swept.iter().any(|path| overlap(path, &key.path)) {
                let message = format!("`{}` is swept, so it cannot be searched", key.path);
                return Err(Problem::at(&key.origin, message)
                    .help("take it out of [sweep], or out of [fit.keys]".to_owned())
                    .into());
            }
            if set
                .iter()
                .any(|path| path != "machine" && overlap(path, &key.path))
            {
                let message = format!("`{}` is given by --set, so it cannot be searched", key.path);
                return Err(Problem::at(&key.origin, message)
                    .help("leave the --set out, or take the key out of [fit.keys]".to_owned())
                    .into());
            }
        }
        for places in self.samples() {
            self.load(&self.setting(&places))?;
        }
        Ok(())
    }

    /// Places that show each value of a list, and each end of a range, at least once.
    fn samples(&self) -> Vec<Vec<f64>> {
        let keys = &self.spec.keys;
        let mut samples = vec![vec![0.0; keys.len()], vec![1.0; keys.len()]];
        for (number, key) in keys.iter().enumerate() {
            let count = key.values.count().unwrap_or(0);
            for index in 1..count.saturating_sub(1) {
                let mut places = vec![0.0; keys.len()];
                places[number] = (index as f64 + 0.5) / count as f64;
                samples.push(places);
            }
        }
        samples
    }
}

fn targets(scenario: &Scenario, spec: &FitSpec) -> Result<Vec<Target>, InputErrors> {
    let target = |claim: &pagemill_report::ClaimSpec| {
        let published = claim.published.filter(|_| claim.measure_is_one_figure())?;
        let id = claim.id.clone();
        Some(Target { id, published })
    };
    let all: Vec<Target> = scenario.claims.iter().filter_map(target).collect();
    if all.is_empty() {
        let message = format!(
            "no claim of {} has a published value, so there is nothing to come near to",
            scenario.name
        );
        return Err(Problem::at(&spec.origin, message)
            .help("add [[claims]] with `published = ...` and bounds, or run a scenario that has them: pagemill list scenarios".to_owned())
            .into());
    }
    if spec.targets.is_empty() {
        return Ok(all);
    }
    let chosen = |(id, origin): &(String, crate::document::Origin)| {
        all.iter()
            .find(|target| target.id == *id)
            .cloned()
            .ok_or_else(|| {
                let help = did_you_mean(
                    id,
                    "claims with a published value",
                    all.iter().map(|target| target.id.as_str()),
                );
                let message = format!(
                    "the target `{id}` is no claim of {} with a published value",
                    scenario.name
                );
                InputErrors::from(Problem::at(origin, message).help(help))
            })
    };
    spec.targets.iter().map(chosen).collect()
}
