//! `kind = "mpi"`: an MPI program over simulated interfaces; a row for each rank, and for each kind of call of it.
//!
//! `pagemill mpi` starts the program, whose processes simulate themselves, and brings the rows.

// A browser starts no MPI programs.
#[cfg(not(target_family = "wasm"))]
mod rows;

use pagemill_report::{ColumnKind, Plot, PlotForm, StackedBars, Value};
use pagemill_scenario::{MpiPoint, Point};

use super::View;
use super::att_metrics::{ATT_LOOKUPS, ATT_MISS_RATE, ATT_MISSES};
use super::metric::described;
use crate::Outcome;
use crate::pool::PointError;

#[cfg(not(target_family = "wasm"))]
pub use rows::row;

/// The value of the column `call` in the row of a whole rank.
pub const WHOLE_RANK: &str = "(all)";

/// Every metric with what it means, in the order of the row.
const METRICS: &[(&str, ColumnKind, &str)] = &[
    (
        "time_ns",
        ColumnKind::TimeNs,
        "(all): the rank's clock at its end, the sum of all causes; of a call: software_time_ns + wait_time_ns",
    ),
    (
        "software_time_ns",
        ColumnKind::TimeNs,
        "time in the library: the machine's [messages] overheads and copies",
    ),
    (
        "wait_time_ns",
        ColumnKind::TimeNs,
        "time for which the rank had nothing to do until the operation was over: the sum of the seven causes that follow",
    ),
    (
        "partner_wait_time_ns",
        ColumnKind::TimeNs,
        "of wait_time_ns: the other rank had not made its call yet: a late sender, of sends a late receiver",
    ),
    (
        "wire_wait_time_ns",
        ColumnKind::TimeNs,
        "of wait_time_ns: links and switches",
    ),
    (
        "table_wait_time_ns",
        ColumnKind::TimeNs,
        "of wait_time_ns: entries of the address translation table that were not on the chip",
    ),
    (
        "port_wait_time_ns",
        ColumnKind::TimeNs,
        "of wait_time_ns: port states that were not on the chip",
    ),
    (
        "busy_wait_time_ns",
        ColumnKind::TimeNs,
        "of wait_time_ns: engines, links and ways to memory that worked for another transfer",
    ),
    (
        "interface_wait_time_ns",
        ColumnKind::TimeNs,
        "of wait_time_ns: the interfaces' own work: doorbell, descriptors, memory, engines",
    ),
    (
        "software_wait_time_ns",
        ColumnKind::TimeNs,
        "of wait_time_ns: the machine's [messages] overheads on the way, of both ranks",
    ),
    (
        "compute_time_ns",
        ColumnKind::TimeNs,
        "time between calls, for what the program computed",
    ),
    (
        "clock_time_ns",
        ColumnKind::TimeNs,
        "time that passed because the program read its clock again and again",
    ),
    (
        "start_time_ns",
        ColumnKind::TimeNs,
        "wait for the other ranks at the end of MPI_Init",
    ),
    (
        "operations",
        ColumnKind::Count,
        "sends, receives, writes or reads that were asked for; receives: that were over",
    ),
    ("bytes", ColumnKind::Bytes, "their data"),
    (
        "transfers_out",
        ColumnKind::Count,
        "transfers of the interface to others: messages, their protocol, one-sided operations",
    ),
    (
        "transfers_in",
        ColumnKind::Count,
        "transfers of others to the interface",
    ),
    ATT_LOOKUPS,
    ATT_MISSES,
    ATT_MISS_RATE,
    (
        "att_wait_time_ns",
        ColumnKind::TimeNs,
        "from lookup to physical address, mean; other work of the interface may hide it",
    ),
    (
        "port_misses",
        ColumnKind::Count,
        "port states that had to be read from memory",
    ),
    (
        "error_completions",
        ColumnKind::Count,
        "operations that ended with an error",
    ),
    (
        "late_steps",
        ColumnKind::Count,
        "events that were seen after a later one was processed: 0 where times repeat",
    ),
    (
        "forced_steps",
        ColumnKind::Count,
        "times that a rank went on without the others: 0 where times repeat",
    ),
];

pub const VIEW: View = View {
    identity: &[
        (
            "call",
            ColumnKind::Text,
            "send, receive, write, read or probe; (all) is the whole rank",
        ),
        ("rank", ColumnKind::Count, "the rank"),
        ("program", ColumnKind::Text, "the launcher"),
    ],
    metrics: || METRICS.iter().copied().map(described).collect(),
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
        only: vec![("call".to_owned(), Value::from(WHOLE_RANK))],
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
