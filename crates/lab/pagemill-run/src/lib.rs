//! Runs the points of a scenario and makes results of them. This library knows no terminal and no arguments.
//!
//! [`run_points`] gives an [`Outcome`] for each point, in their order and the same for any number of jobs;
//! [`result_set`] makes the rows, ratios, claims and figures of them.
#![forbid(unsafe_code)]

#[cfg(not(target_family = "wasm"))]
pub mod advisor;
#[cfg(not(target_family = "wasm"))]
mod call_site;
#[cfg(not(target_family = "wasm"))]
mod files;
mod findings;
#[cfg(not(target_family = "wasm"))]
pub mod hints;
mod implied;
mod kind;
#[cfg(not(target_family = "wasm"))]
pub mod made;
pub mod mrc;
mod pool;
pub mod profile;
mod published;
mod quotient;
pub mod rank;
pub mod residency_row;
mod results;
#[cfg(not(target_family = "wasm"))]
mod store;
mod timeline;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pagemill_report::{Finding, PageMap, ResultSet, Row, Timeline};
use pagemill_scenario::{Point, Scenario};

#[cfg(not(target_family = "wasm"))]
pub use files::{stage_results, write_results};
pub use kind::PointEvents;
#[cfg(not(target_family = "wasm"))]
pub use kind::cuda::{environment as cuda_environment, rows_of_program};
#[cfg(not(target_family = "wasm"))]
pub use kind::mpi::row as row_of_rank;
pub use kind::mpi::{MpiReport, RankReport};
pub use pool::{PointError, available_cores, run_all};
pub use results::{machine_section, merged, result_set};
#[cfg(not(target_family = "wasm"))]
pub use store::{BUILD, Store, StoreError};

/// Events that all points of a run keep together: as much as Perfetto shows fluently.
pub const RECORDED_EVENTS_MAX: usize = 2_000_000;

/// Result of one point.
pub struct Outcome {
    /// What the point is, and what it was measured at.
    pub row: Row,
    /// Rows about parts of what `row` is about, which follow it.
    pub details: Vec<Row>,
    /// The exit code of the user's own program; 0 where there is none.
    pub exit_code: u8,
    /// What happened, where the kind keeps events.
    pub events: Option<Box<dyn PointEvents>>,
    /// Where its pages were, as the bytes of a page map; empty where the kind has none or no events are kept.
    pub page_map: Vec<u8>,
    /// What the program printed.
    pub output: String,
    /// The managed allocations of each process of the user's program, if they were asked for.
    #[cfg(not(target_family = "wasm"))]
    pub made: Vec<Vec<made::Made>>,
}

impl Outcome {
    /// A row, and nothing else to tell.
    fn of(row: Row) -> Self {
        Self {
            row,
            details: Vec::new(),
            exit_code: 0,
            events: None,
            page_map: Vec::new(),
            output: String::new(),
            #[cfg(not(target_family = "wasm"))]
            made: Vec::new(),
        }
    }

    /// Every row, in the order of the results.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        std::iter::once(&self.row).chain(&self.details)
    }
}

/// Who has standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdout {
    /// Results; what a program prints goes to standard error.
    #[default]
    Results,
    /// The user's program; the table goes to standard error.
    Program,
}

/// How points are run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Events that are kept of each point.
    pub events_max: usize,
    /// Who has standard output, where a point is a program of the user.
    pub stdout: Stdout,
    /// Whether it is noted where a user's program allocates managed memory.
    pub notes_allocations: bool,
    /// Ends the run when it is set: kinds `gpu`, `residency` and `coloring` soon, points of other kinds when they have ended.
    pub stop: Option<Arc<AtomicBool>>,
    /// Threads that one point may use where kernels run without time; 0 is one. Results are the same for any number.
    pub threads: usize,
    /// Gets the progress of a point, from kinds that measure it.
    pub progress: Option<PointProgress>,
}

/// Receiver of the share of a point that is done, from 0 to 1.
#[derive(Clone)]
pub struct PointProgress(pub Arc<ReportShare>);

type ReportShare = dyn Fn(&Point, f64) + Send + Sync;

impl fmt::Debug for PointProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PointProgress")
    }
}

impl RunOptions {
    fn report(&self, point: &Point, done: f64) {
        if let Some(PointProgress(report)) = &self.progress {
            report(point, done);
        }
    }

    /// Whether the run is to end.
    pub fn is_stopped(&self) -> bool {
        let stop = self.stop.as_ref();
        stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Runs one point.
///
/// # Errors
/// The program trapped, went astray or computed something wrong, or the run was stopped.
pub fn run_point(point: &Point, options: &RunOptions) -> Result<Outcome, PointError> {
    if options.is_stopped() {
        return Err(PointError::Stopped);
    }
    kind::run(point, options)
}

/// [`run_point`], where nothing else catches what a defect of pagemill throws.
///
/// # Errors
/// As [`run_point`].
pub fn run_point_caught(point: &Point, options: &RunOptions) -> Result<Outcome, PointError> {
    pool::catch(|| run_point(point, options))
}

/// Runs every point, `jobs` at a time; `begin` is called before each, and what it returns is kept until the point has ended.
///
/// # Errors
/// The first point in order that failed.
pub fn run_points<G>(
    points: &[Point],
    jobs: usize,
    options: &RunOptions,
    begin: impl Fn(&Point) -> G + Sync,
) -> Result<Vec<Outcome>, (usize, PointError)> {
    run_all(points, jobs, |point| {
        let _running = begin(point);
        run_point(point, options)
    })
}

/// The results as a terminal shows them: what fits.
pub fn terminal_view(set: &ResultSet, scenario: &Scenario) -> ResultSet {
    results::headline(set, kind::view(&scenario.points[0].spec))
}

/// Whether `map` is a page map with something to see.
pub fn has_changes(map: &[u8]) -> bool {
    pagemill_map::Map::decode(map).is_ok_and(|map| !map.is_blank())
}

/// The page maps of the points whose pages moved.
pub fn maps(points: &[Point], outcomes: &[Outcome]) -> Vec<PageMap> {
    let recorded = point_names(points).into_iter().zip(outcomes);
    recorded
        .filter(|(_, outcome)| has_changes(&outcome.page_map))
        .map(|(title, outcome)| PageMap {
            title,
            data: outcome.page_map.clone(),
        })
        .collect()
}

/// What tells each point from the others: `bfs, whole-page`.
pub(crate) fn point_names(points: &[Point]) -> Vec<String> {
    let keys = |point: &Point| {
        let swept = point.parameters.iter();
        swept
            .map(|key| (key.path.clone(), key.written.clone()))
            .collect()
    };
    let names = pagemill_report::distinguish(&points.iter().map(keys).collect::<Vec<_>>());
    let named = names.into_iter().zip(points);
    named
        .map(|(name, point)| match name.is_empty() {
            true => point.to_string(),
            false => name,
        })
        .collect()
}

/// Why the slowest points were slow, where page maps tell.
pub fn findings(points: &[Point], outcomes: &[Outcome]) -> Vec<Finding> {
    findings::of(points, outcomes)
}

/// The events of all points as one timeline.
pub fn timeline(points: &[Point], outcomes: &[Outcome]) -> Timeline {
    timeline::build(points, outcomes)
}
