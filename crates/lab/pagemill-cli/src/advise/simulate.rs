//! The runs behind an advice: of all the data, or of so much that the answer takes seconds.

use pagemill_pages::patterns::{UvmMachine, UvmPoint, UvmReport, run_watched};
use pagemill_policy::residency::{BLOCK_BYTES, StrategyEntry};
use pagemill_run::{PointError, available_cores, run_all};

use crate::failure::Failure;
use crate::progress;

/// Bytes that a scaled run reads: a second or two for each strategy.
const SCALED_READ_BYTES: f64 = 4.0 * (1u64 << 30) as f64;
/// Steps of the bar for each run.
const STEPS: f64 = 1000.0;
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
    pub fn new(machine: &UvmMachine, wanted: &UvmPoint, full: bool) -> Self {
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
    pub strategy: &'static StrategyEntry,
    pub report: UvmReport,
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
    wanted: &UvmPoint,
    size: &Size,
    candidates: &[&'static StrategyEntry],
) -> Result<Vec<Answer>, Failure> {
    let ballasts = ballasts(machine, wanted, size);
    let of_strategy = |&strategy| {
        ballasts.iter().map(move |&ballast| UvmPoint {
            strategy,
            ballast,
            ..wanted.clone()
        })
    };
    let points: Vec<UvmPoint> = candidates.iter().flat_map(of_strategy).collect();
    let bar = progress::bar(
        "{bar:40} {percent} % of the simulation, {elapsed} elapsed, {eta} left",
        points.len() as u64 * STEPS as u64,
    );
    let outcome = run_all(&points, available_cores(), |point| {
        let mut told = 0;
        let ran = run_watched(machine, point, 0, &mut |done| {
            let steps = (done * STEPS) as u64;
            bar.inc(steps.saturating_sub(told));
            told = told.max(steps);
            true
        });
        bar.inc((STEPS as u64).saturating_sub(told));
        ran.map(|(report, _)| report)
            .map_err(|error| PointError::Failed(error.to_string()))
    });
    bar.finish_and_clear();
    let reports = outcome.map_err(|(_, error)| match error {
        PointError::Failed(message) => Failure::Usage(message),
        other => Failure::Run(other.to_string()),
    })?;
    let of_candidates = candidates.iter().zip(reports.chunks(ballasts.len()));
    let answers = of_candidates.map(|(&strategy, reports)| Answer {
        strategy,
        report: reports[0],
        scaling_error: reports
            .get(1)
            .map(|half| bandwidth_with_setup(&reports[0]) / bandwidth_with_setup(half) - 1.0),
    });
    Ok(answers.collect())
}

/// What each strategy is run with: as it is, or at the scaled size and at half of that.
fn ballasts(machine: &UvmMachine, wanted: &UvmPoint, size: &Size) -> Vec<f64> {
    let Size::Scaled { ballast, .. } = *size else {
        return vec![wanted.ballast];
    };
    let half = 1.0 - (1.0 - ballast) / 2.0;
    let has_half = half <= BALLAST_MAX && machine.free_bytes(half) >= 8 * BLOCK_BYTES;
    let half = has_half.then_some(half);
    std::iter::once(ballast).chain(half).collect()
}

#[cfg(test)]
mod tests;
