//! The runs behind an advice: of all the data, or of so much that the answer takes seconds.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pagemill_policy::residency::{BLOCK_BYTES, StrategyEntry};
use pagemill_run::{PointError, available_cores, run_all};
use pagemill_sim::uvm::{Advice, AdvicePoint, UvmMachine, UvmReport, advise_one};

use crate::failure::Failure;

/// Bytes that a scaled run reads: a second or two for each strategy.
const SCALED_READ_BYTES: f64 = 4.0 * (1u64 << 30) as f64;
/// Steps of the bar for each run.
pub const STEPS: f64 = 1000.0;
/// Largest ballast that the simulator takes.
const BALLAST_MAX: f64 = 0.99;

/// How much of the data is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// All of it.
    Full,
    /// A share of it, on a GPU whose free memory is the same share.
    Scaled {
        /// From 0 to 1.
        share: f64,
        /// Share of GPU memory that this leaves unused.
        ballast: f64,
    },
}

impl Size {
    /// All of the data if that is wished for or little; else as much as a short run reads.
    pub fn new(machine: &UvmMachine, wanted: &AdvicePoint, full: bool) -> Self {
        let free = machine.free_bytes(wanted.ballast) as f64;
        let read = free * wanted.factor * f64::from(wanted.loops);
        if full || read <= SCALED_READ_BYTES {
            return Self::Full;
        }
        let ballast = (1.0 - (1.0 - wanted.ballast) * SCALED_READ_BYTES / read).min(BALLAST_MAX);
        if ballast <= wanted.ballast {
            return Self::Full;
        }
        Self::Scaled {
            share: machine.free_bytes(ballast) as f64 / free,
            ballast,
        }
    }

    /// For the sentence on top of the results.
    pub fn in_words(&self) -> String {
        match self {
            Self::Full => "at full size".to_owned(),
            Self::Scaled { share, .. } => format!(
                "with data and free GPU memory scaled to {:.3} % of their size",
                share * 100.0
            ),
        }
    }
}

/// Results of a strategy.
pub struct Answer {
    pub advice: Advice,
    /// The bandwidth over that of half the size, less one; none at full size.
    pub scaling_error: Option<f64>,
}

/// Bytes read, over the time of all reads and of the calls before them.
pub fn bandwidth_with_setup(report: &UvmReport) -> f64 {
    let loops = f64::from(report.loops);
    let bytes = report.allocated_bytes as f64 * loops;
    let time_ns = report.time.as_nanos() as f64 * loops + report.setup.as_nanos() as f64;
    bytes * 1e9 / time_ns.max(1.0)
}

/// Simulates every candidate, with a bar on a terminal.
pub fn all(
    machine: &UvmMachine,
    wanted: &AdvicePoint,
    size: &Size,
    candidates: &[&'static StrategyEntry],
) -> Result<Vec<Answer>, Failure> {
    let sizes = sizes(machine, wanted, size);
    let runs: Vec<(&'static StrategyEntry, &AdvicePoint)> = candidates
        .iter()
        .flat_map(|&strategy| sizes.iter().map(move |point| (strategy, point)))
        .collect();
    let bar = bar(runs.len());
    let outcome = run_all(&runs, available_cores(), |&(strategy, point)| {
        let mut told = 0;
        let advice = advise_one(machine, point, strategy, &mut |done| {
            let steps = (done * STEPS) as u64;
            bar.inc(steps.saturating_sub(told));
            told = told.max(steps);
            true
        });
        bar.inc((STEPS as u64).saturating_sub(told));
        advice.map_err(|error| PointError::Failed(error.to_string()))
    });
    bar.finish_and_clear();
    let advices = outcome.map_err(|(_, error)| match error {
        PointError::Failed(message) => Failure::Usage(message),
        other => Failure::Run(other.to_string()),
    })?;
    Ok(answers(advices, sizes.len()))
}

/// The points that each strategy is run at: as it is, or at the scaled size and at half of that.
fn sizes(machine: &UvmMachine, wanted: &AdvicePoint, size: &Size) -> Vec<AdvicePoint> {
    let with_ballast = |ballast| AdvicePoint {
        ballast,
        ..wanted.clone()
    };
    match *size {
        Size::Full => vec![wanted.clone()],
        Size::Scaled { ballast, .. } => {
            let half = 1.0 - (1.0 - ballast) / 2.0;
            let has_half = half <= BALLAST_MAX && machine.free_bytes(half) >= 8 * BLOCK_BYTES;
            let half = has_half.then(|| with_ballast(half));
            std::iter::once(with_ballast(ballast)).chain(half).collect()
        }
    }
}

fn answers(advices: Vec<Advice>, sizes: usize) -> Vec<Answer> {
    let mut advices = advices.into_iter();
    let mut answers = Vec::new();
    while let Some(advice) = advices.next() {
        let half = if sizes > 1 { advices.next() } else { None };
        let scaling_error = half.map(|half| {
            bandwidth_with_setup(&advice.report) / bandwidth_with_setup(&half.report) - 1.0
        });
        answers.push(Answer {
            advice,
            scaling_error,
        });
    }
    answers
}

/// How far all runs together are, where standard error is a terminal.
pub fn bar(runs: usize) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template(
        "{bar:40} {percent} % of the simulation, {elapsed} elapsed, {eta} left",
    );
    let bar = ProgressBar::with_draw_target(Some(runs as u64 * STEPS as u64), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}

#[cfg(test)]
mod tests;
