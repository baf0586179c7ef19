//! `kind = "mpi"`: an MPI program over simulated interfaces; a row for each rank, and for each kind of call of it.
//!
//! `pagemill mpi` starts the program, whose processes simulate themselves, and brings the rows.

mod metrics;
// A browser starts no MPI programs.
#[cfg(not(target_family = "wasm"))]
mod rows;

use pagemill_report::{ColumnKind, Plot, PlotForm, StackedBars, Value};
use pagemill_scenario::{MpiPoint, Point};

use super::View;
use crate::Outcome;
use crate::pool::PointError;
use metrics::METRICS;
use pagemill_report::metric::columns;

pub use metrics::{MpiReport, RankReport};
#[cfg(not(target_family = "wasm"))]
pub use rows::row;

pub const VIEW: View = View {
    identity: &[
        (
            "table",
            ColumnKind::Text,
            "what the row is about: rank, or call (all calls of a kind that a rank made)",
        ),
        ("rank", ColumnKind::Count, "the rank"),
        (
            "call",
            ColumnKind::Text,
            "of calls: send, receive, write, read or probe",
        ),
        ("program", ColumnKind::Text, "the launcher"),
    ],
    metrics: || columns(METRICS),
    headline: &[
        "time_ns",
        "software_time_ns",
        "wait_time_ns",
        "partner_wait_time_ns",
        "wire_wait_time_ns",
        "table_wait_time_ns",
        "compute_time_ns",
        "operations",
        "bytes",
    ],
    ratio: None,
    plots: |_, _| vec![times()],
};

/// What a rank spent its time on: a bar for each.
fn times() -> Plot {
    let parts = [
        ("software_time_ns", "software"),
        ("compute_time_ns", "computing"),
        ("clock_time_ns", "clock"),
        ("start_time_ns", "start"),
        ("partner_wait_time_ns", "waits for the partner"),
        ("wire_wait_time_ns", "waits for the wire"),
        ("table_wait_time_ns", "waits for the table"),
        ("port_wait_time_ns", "waits for port states"),
        ("busy_wait_time_ns", "waits behind other transfers"),
        ("interface_wait_time_ns", "waits for the interface"),
        ("software_wait_time_ns", "waits for software on the way"),
    ];
    let form = StackedBars {
        x: "rank".to_owned(),
        parts: parts
            .map(|(metric, label)| (metric.to_owned(), label.to_owned()))
            .to_vec(),
        ..StackedBars::default()
    };
    Plot {
        only: vec![("table".to_owned(), Value::from("rank"))],
        ..Plot::new(
            "times",
            "What each rank spent its time on",
            PlotForm::Stacked(form),
        )
    }
}

/// Refuses: this crate starts no MPI programs.
pub fn run(_point: &Point, spec: &MpiPoint) -> Result<Outcome, PointError> {
    Err(PointError::Refused(format!(
        "a scenario of kind \"mpi\" has its program started by the command `pagemill mpi -- {}`",
        spec.command.join(" ")
    )))
}
