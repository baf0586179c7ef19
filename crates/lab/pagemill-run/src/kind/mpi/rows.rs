//! Rows of ranks, for the command that starts them.

use pagemill_report::Row;
use pagemill_scenario::{Point, PointSpec};

use super::metrics::{METRICS, MpiReport};
use crate::results::parameters;
use pagemill_report::metric;

/// The row of the calls of a kind of a rank, or of all of the rank; `None` if the point is of another kind.
pub fn row(point: &Point, rank: u32, call: Option<&str>, report: &MpiReport) -> Option<Row> {
    let PointSpec::Mpi(spec) = &point.spec else {
        return None;
    };
    let table = if call.is_some() { "call" } else { "rank" };
    let mut row = Row::new()
        .parameter("table", table)
        .parameter("rank", u64::from(rank));
    if let Some(call) = call {
        row = row.parameter("call", call);
    }
    let row = row.parameter("program", spec.command[0].as_str());
    Some(metric::add(parameters(point, row), METRICS, report))
}
