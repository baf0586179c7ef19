//! Rows of ranks, for the command that starts them.

use pagemill_report::Row;
use pagemill_scenario::{Point, PointSpec};

use crate::results::parameters;

/// The start of the row of a call of a rank, or of the [`super::WHOLE_RANK`]; `None` if the point is of another kind.
pub fn row(point: &Point, rank: u32, call: &str) -> Option<Row> {
    let PointSpec::Mpi(spec) = &point.spec else {
        return None;
    };
    let row = Row::new()
        .parameter("call", call)
        .parameter("rank", u64::from(rank))
        .parameter("program", spec.command[0].as_str());
    Some(parameters(point, row))
}
