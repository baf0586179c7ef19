//! Mistakes of kernels: a row for each, where they were looked for.

use pagemill_cudart::DefectFound;
use pagemill_ptx::readable_text;
use pagemill_report::{ColumnKind, Row};

use super::super::metric::ColumnSpec;

/// Columns of rows of mistakes; the count is in the row of the whole program, too.
pub const DEFECTS: [ColumnSpec; 4] = [
    (
        "findings",
        ColumnKind::Count,
        "of the whole program: mistakes of its kernels, each kind once for each source line; only with --check",
    ),
    ("defect", ColumnKind::Text, "what kind of mistake it is"),
    (
        "seen",
        ColumnKind::Count,
        "how often it was seen, by threads",
    ),
    (
        "detail",
        ColumnKind::Text,
        "block and thread of the first time, and what happened",
    ),
];

/// `probe.cu:31 shared-race`.
pub fn name(defect: &DefectFound) -> String {
    format!("{} {}", defect.place, defect.defect)
}

/// The row of the whole program with how many there are.
pub fn add_count(row: Row, defects: &[DefectFound]) -> Row {
    row.metric("findings", defects.len() as u64)
}

/// The row with what one mistake is.
pub fn add_defect(row: Row, defect: &DefectFound) -> Row {
    let kernel = readable_text(&defect.kernel);
    row.metric("defect", defect.defect.as_str())
        .metric("seen", defect.count)
        .metric("detail", format!("kernel {kernel}, {}", defect.detail))
}
