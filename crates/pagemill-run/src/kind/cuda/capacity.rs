//! How much memory a program has at a time, and how much the GPU gives it.

use pagemill_report::{ColumnKind, Row};
use pagemill_sim::Report;

use super::super::metric::ColumnSpec;

/// Columns of the whole program's row.
pub const CAPACITY: [ColumnSpec; 4] = [
    (
        "peak_bytes",
        ColumnKind::Bytes,
        "GPU memory that would hold all that was allocated at once, managed memory in whole pages",
    ),
    (
        "capacity_bytes",
        ColumnKind::Bytes,
        "GPU memory that the program got; none where it is not limited",
    ),
    (
        "oversubscription",
        ColumnKind::Ratio,
        "peak_bytes over capacity_bytes",
    ),
    (
        "oversubscribe",
        ColumnKind::Number,
        "the factor that was asked for",
    ),
];

/// The row with what the program had and what it was given; `factor` is what was asked for.
pub fn add_capacity(row: Row, factor: Option<f64>, report: &Report) -> Row {
    let peak = report.allocated.peak_bytes;
    let row = row.metric("peak_bytes", peak);
    let row = match report.capacity_bytes {
        Some(capacity) => row
            .metric("capacity_bytes", capacity)
            .metric("oversubscription", peak as f64 / capacity.max(1) as f64),
        None => row,
    };
    match factor {
        Some(factor) => row.metric("oversubscribe", factor),
        None => row,
    }
}
