//! `pagemill fit`: the settings nearest to published values.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use pagemill_report::{OutputDir, ResultSet, Row};
use pagemill_run::fit::{Answer, Fit, Trial};
use pagemill_run::{PointError, RunOptions, Store, run_all, run_point};
use pagemill_scenario::{FitPlan, Point, load};

use crate::failure::Failure;
use crate::output::{RunFormat, note, print_results};
use crate::run::{Progress, interrupt};
use crate::values::Cores;

/// The section [fit] of the scenario names the keys and their values; targets are its claims with a published value. The table has
/// the settings that no other setting beats, nearest to all targets first. Results are the same for any number of jobs.
///
/// Ctrl-C shows what was found so far and ends with exit code 130; with --out, the same command resumes from there.
#[derive(Args, Debug)]
pub struct FitArguments {
    /// A scenario file, or the name of a built-in scenario
    pub scenario: String,

    /// Number of settings to try [default: the scenario's]; with --out, a larger number continues a finished search
    #[arg(long, value_name = "N")]
    pub points: Option<NonZeroU64>,

    /// Seed of the search [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Replace a value or a sweep of the scenario or its machine in every setting; a list sweeps
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    #[command(flatten)]
    pub cores: Cores,

    /// What to write to standard output: json and csv have every setting, the table those of the front
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Keep every point there (parts/), and write the results beside them (results/), as `pagemill run --keep` does
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Searches, shows the front, and keeps what was run.
pub fn fit(arguments: &FitArguments) -> Result<(), Failure> {
    let fit = Fit::new(plan(arguments)?);
    let store = match &arguments.out {
        None => None,
        Some(out) => {
            let store = Store::open(out)?;
            OutputDir::check(&store.results_folder()).map_err(Failure::BadOutput)?;
            Some(store)
        }
    };
    let stop = interrupt::stop_first();
    let settings = fit.plan().spec().points.saturating_add(1);
    let points = settings.saturating_mul(fit.plan().scenario().points.len() as u64);
    let progress = Progress::new(
        usize::try_from(points).unwrap_or(usize::MAX),
        fit.plan().scenario().points.iter(),
    );
    let search = Search {
        options: RunOptions {
            stop: Some(Arc::clone(&stop)),
            threads: arguments.cores.threads(usize::MAX),
            progress: Some(progress.of_points()),
            ..RunOptions::default()
        },
        progress,
        store,
        jobs: arguments.cores.jobs(),
    };
    let fit = search.run(fit);
    search.progress.finish();
    finish(&fit?, arguments, search.store.as_ref(), &stop)
}

fn plan(arguments: &FitArguments) -> Result<FitPlan, Failure> {
    let mut sets = arguments.sets.clone();
    sets.extend(
        arguments
            .points
            .map(|points| format!("fit.points={points}")),
    );
    sets.extend(arguments.seed.map(|seed| format!("fit.seed={seed}")));
    let scenario = load(&arguments.scenario, &sets)?;
    if scenario.points[0].spec.kind() == "cuda" {
        return Err(Failure::Usage(format!(
            "{} runs a program of this machine, whose results are not known by the scenario alone: fit a scenario of another kind",
            scenario.name
        )));
    }
    Ok(FitPlan::new(Arc::new(scenario), &sets)?)
}

/// Shows and keeps what was found.
fn finish(
    fit: &Fit,
    arguments: &FitArguments,
    store: Option<&Store>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    for (number, reason) in fit.refusals() {
        note(&format!("setting {number} could not be run: {reason}"));
    }
    let set = fit.result_set();
    if let Some(store) = store {
        let _uninterrupted = interrupt::hold();
        store.write_results(&set)?;
    }
    match arguments.format {
        RunFormat::Table => print_results(&fit.table(), arguments.format)?,
        RunFormat::Json | RunFormat::Csv => print_results(&set, arguments.format)?,
    }
    if stop.load(Ordering::Relaxed) && fit.is_partial() {
        return Err(Failure::Interrupted(again(arguments, &set)));
    }
    match fit.nearest() {
        None => Err(Failure::Run(
            "no setting could be run: see the reasons above".to_owned(),
        )),
        Some(sets) => {
            let quoted: Vec<String> = sets.iter().map(|set| format!(" --set '{set}'")).collect();
            note(&format!(
                "the nearest: pagemill run {}{}",
                arguments.scenario,
                quoted.concat()
            ));
            Ok(())
        }
    }
}

fn again(arguments: &FitArguments, set: &ResultSet) -> String {
    let partial = set.summary.warnings.first().cloned().unwrap_or_default();
    match &arguments.out {
        Some(out) => format!(
            "stopped; {partial}; what was run is kept in {}: the same command goes on from there",
            out.display()
        ),
        None => format!(
            "stopped; {partial}; with --out DIR the same command goes on where it was stopped"
        ),
    }
}

/// How settings are run.
struct Search {
    jobs: usize,
    options: RunOptions,
    progress: Progress,
    /// Where points are kept; none keeps them for the moment only.
    store: Option<Store>,
}

/// How a point ended.
enum Ended {
    Rows(Vec<Row>),
    Refused(String),
    Stopped,
}

impl Search {
    /// Asks and answers until the search ends or is stopped.
    fn run(&self, mut fit: Fit) -> Result<Fit, Failure> {
        loop {
            let trials = fit.ask();
            if trials.is_empty() || self.options.is_stopped() {
                return Ok(fit);
            }
            let answers = self.answers(&trials)?;
            let answered = trials.into_iter().zip(answers);
            fit.tell(answered.map_while(|(trial, answer)| Some((trial, answer?))));
        }
    }

    /// The answer to each trial; none where it was stopped.
    fn answers(&self, trials: &[Trial]) -> Result<Vec<Option<Answer>>, Failure> {
        let points: Vec<(usize, &Point)> = trials
            .iter()
            .enumerate()
            .filter_map(|(place, trial)| Some((place, trial.scenario.as_ref().ok()?)))
            .flat_map(|(place, scenario)| scenario.points.iter().map(move |point| (place, point)))
            .collect();
        let ended = run_all(&points, self.jobs, |(_, point)| self.point(point));
        let ended = ended.map_err(|(index, error)| {
            Failure::Run(format!(
                "{} of setting {}: {error}",
                points[index].1, trials[points[index].0].number
            ))
        })?;
        let mut answers: Vec<Option<Answer>> = trials
            .iter()
            .map(|trial| match &trial.scenario {
                Ok(_) => Some(Answer::Rows(Vec::new())),
                Err(errors) => Some(Answer::Refused(errors.to_string())),
            })
            .collect();
        for ((place, point), ended) in points.iter().zip(ended) {
            let answer = &mut answers[*place];
            match (ended, &mut *answer) {
                (Ended::Rows(new), Some(Answer::Rows(rows))) => rows.extend(new),
                (Ended::Refused(reason), Some(Answer::Rows(_))) => {
                    *answer = Some(Answer::Refused(format!("{point}: {reason}")));
                }
                (Ended::Stopped, _) => *answer = None,
                _ => {}
            }
        }
        Ok(answers)
    }

    fn point(&self, point: &Point) -> Result<Ended, PointError> {
        let _shown = self.progress.begin(point);
        let kept = self
            .store
            .as_ref()
            .and_then(|store| store.rows(std::slice::from_ref(point)).ok());
        if let Some(rows) = kept {
            return Ok(Ended::Rows(rows));
        }
        let outcome = match run_point(point, &self.options) {
            Ok(outcome) => outcome,
            // A program that is stopped within a kernel says so in words of its own.
            Err(_) if self.options.is_stopped() => return Ok(Ended::Stopped),
            Err(PointError::Failed(reason) | PointError::Refused(reason)) => {
                return Ok(Ended::Refused(reason));
            }
            Err(PointError::Stopped) => return Ok(Ended::Stopped),
            Err(defect @ PointError::Panicked(_)) => return Err(defect),
        };
        let rows: Vec<Row> = outcome.rows().cloned().collect();
        if let Some(store) = &self.store {
            store
                .put_rows(point, &rows)
                .map_err(|error| PointError::Failed(error.to_string()))?;
        }
        Ok(Ended::Rows(rows))
    }
}
