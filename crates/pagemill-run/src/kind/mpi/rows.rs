//! Rows of ranks, for the command that starts them.

use pagemill_report::Row;
use pagemill_scenario::{Point, PointSpec};

use super::metrics::{METRICS, MpiReport};
use crate::kind::metric;
use crate::results::parameters;

/// The row of a call of a rank, or of the [`super::WHOLE_RANK`]; `None` if the point is of another kind.
pub fn row(point: &Point, rank: u32, call: &str, report: &MpiReport) -> Option<Row> {
    let PointSpec::Mpi(spec) = &point.spec else {
        return None;
    };
    let row = Row::new()
        .parameter("call", call)
        .parameter("rank", u64::from(rank))
        .parameter("program", spec.command[0].as_str());
    Some(metric::add(parameters(point, row), METRICS, report))
}
