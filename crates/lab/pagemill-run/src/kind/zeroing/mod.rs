//! `kind = "zeroing"`: huge page faults, and who clears the pages.

mod metrics;
mod plots;

use pagemill_pages::fault_path;
use pagemill_report::{ColumnKind, Row};
use pagemill_scenario::{Point, ZeroingPoint};

use super::View;
use crate::Outcome;
use crate::pool::PointError;
use crate::results::parameters;
use metrics::{METRICS, Measured};
use pagemill_report::metric;

pub const VIEW: View = View {
    identity: &[
        ("machine", ColumnKind::Text, "the machine file"),
        ("workload", ColumnKind::Text, "what the core does"),
        (
            "mode",
            ColumnKind::Text,
            "when pages are cleared, and by whom",
        ),
        ("engine", ColumnKind::Text, "what the helper clears with"),
    ],
    metrics: || metric::columns(METRICS),
    headline: &[
        "fault_cycles",
        "clean_time_ns",
        "cpu_ns_per_fault",
        "loop_cycles",
        "loop_std_cycles",
        "time_ns",
    ],
    ratio: None,
    plots: plots::plots,
};

/// Runs the program to its end.
pub fn run(point: &Point, spec: &ZeroingPoint) -> Result<Outcome, PointError> {
    let report = fault_path::run(&spec.machine.spec, &spec.spec)
        .map_err(|error| PointError::Failed(error.to_string()))?;
    let row = Row::new()
        .parameter("machine", spec.machine.name.as_str())
        .parameter("workload", spec.workload)
        .parameter("mode", spec.spec.settings.mode.name())
        .parameter("engine", spec.spec.engine.as_str());
    let row = parameters(point, row);
    let measured = Measured {
        report,
        clock: spec.machine.spec.core.clock,
    };
    Ok(Outcome::of(metric::add(row, METRICS, &measured)))
}
