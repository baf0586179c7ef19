//! The kinds of scenario: one module each, which runs a point and says what its row holds.

mod att_metrics;
mod coloring;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod cuda;
#[cfg(target_family = "wasm")]
#[path = "cuda_absent.rs"]
pub(crate) mod cuda;
#[cfg(test)]
mod documented;
mod gpu;
pub(crate) mod mpi;
mod nic;
mod pager;
mod residency;
mod zeroing;

use pagemill_map::Map;
use pagemill_report::metric::ColumnSpec;
use pagemill_report::timeline::TrackId;
use pagemill_report::{Column, ColumnKind, Plot, Row, Timeline, Value};
use pagemill_scenario::{Point, PointSpec};

use crate::pool::PointError;
use crate::{Outcome, RunOptions};

/// What the rows of a kind hold, and how they are shown.
pub struct View {
    /// The parameters that every row starts with, swept or not: column, kind, what it is.
    pub identity: &'static [ColumnSpec],
    /// Every metric in the order of the row. `docs/results.md` is made of these.
    pub metrics: fn() -> Vec<Column>,
    /// The metrics that a terminal table shows; files hold all.
    pub headline: &'static [&'static str],
    /// A metric over that of a base row.
    pub ratio: Option<Ratio>,
    /// What is drawn where the scenario does not say.
    pub plots: fn(&[Row], &[Column]) -> Vec<Plot>,
}

/// A metric that compares a row with the row of the same parameters but one.
pub struct Ratio {
    /// The column.
    pub column: &'static str,
    /// The metric that is compared.
    pub of: &'static str,
    /// The parameter that distinguishes the base from the others.
    pub parameter: &'static str,
    /// Its value in the base row.
    pub base: &'static str,
    /// What it is.
    pub doc: &'static str,
}

impl Ratio {
    /// Its column.
    pub fn described(&self) -> Column {
        Column::metric(self.column, ColumnKind::Ratio, self.doc)
    }

    /// Whether `row` is what others are compared with.
    pub fn is_base(&self, row: &Row) -> bool {
        row.get(self.parameter) == Some(&Value::from(self.base))
    }
}

/// What happened at a point, for the timeline.
pub trait PointEvents: Send + Sync {
    /// Events that were left out for want of room, evenly over the run.
    fn dropped(&self) -> u64;

    /// Adds everything to `timeline`, under `group`. The page map, where there is one, names allocations.
    fn add_to(&self, timeline: &mut Timeline, group: TrackId, map: Option<&Map>);
}

/// All kinds by name.
static VIEWS: &[(&str, &View)] = &[
    ("gpu", &gpu::VIEW),
    ("residency", &residency::VIEW),
    ("nic", &nic::VIEW),
    ("cuda", &cuda::VIEW),
    ("mpi", &mpi::VIEW),
    ("zeroing", &zeroing::VIEW),
    ("coloring", &coloring::VIEW),
    ("pager", &pager::VIEW),
];

/// The kind of points like `spec`.
pub fn name(spec: &PointSpec) -> &'static str {
    match spec {
        PointSpec::Gpu(_) => "gpu",
        PointSpec::Residency(_) => "residency",
        PointSpec::Nic(_) => "nic",
        PointSpec::Cuda(_) => "cuda",
        PointSpec::Mpi(_) => "mpi",
        PointSpec::Zeroing(_) => "zeroing",
        PointSpec::Coloring(_) => "coloring",
        PointSpec::Pager(_) => "pager",
    }
}

/// How the rows of points like `spec` look.
pub fn view(spec: &PointSpec) -> &'static View {
    view_of(name(spec)).expect("every kind has a view")
}

/// How the rows of a kind look; `None` if there is no such kind.
pub fn view_of(kind: &str) -> Option<&'static View> {
    let named = VIEWS.iter().find(|(name, _)| *name == kind);
    named.map(|(_, view)| *view)
}

/// Runs a point.
pub fn run(point: &Point, options: &RunOptions) -> Result<Outcome, PointError> {
    match &point.spec {
        PointSpec::Gpu(spec) => gpu::run(point, spec, options),
        PointSpec::Residency(spec) => residency::run(point, spec, options),
        PointSpec::Nic(spec) => nic::run(point, spec),
        PointSpec::Cuda(spec) => cuda::run(point, spec, options),
        PointSpec::Mpi(spec) => mpi::run(point, spec),
        PointSpec::Zeroing(spec) => zeroing::run(point, spec),
        PointSpec::Coloring(spec) => coloring::run(point, spec, options),
        PointSpec::Pager(spec) => pager::run(point, spec, options),
    }
}
