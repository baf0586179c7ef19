//! Mistakes of kernels: a row for each, where they were looked for.

use pagemill_report::Column;
use pagemill_report::ColumnKind::{Count, Text};
use pagemill_wire::DefectFound;
use pagemill_wire::readable_text;

use pagemill_report::metric::{self, Metric};

/// Of the whole program: how many there are.
#[rustfmt::skip]
pub const FINDINGS: &[Metric<usize>] = &[
    Metric::new("findings", Count, "of the whole program: mistakes of its kernels, each kind once for each source line; only with --check",
        |findings| (*findings as u64).into()),
];

/// Of a row of one mistake.
#[rustfmt::skip]
pub const DEFECT: &[Metric<DefectFound>] = &[
    Metric::new("defect", Text, "what kind of mistake it is",
        |found| found.defect.as_str().into()),
    Metric::new("seen", Count, "how often it was seen, by threads",
        |found| found.count.into()),
    Metric::new("source", Text, "the file of the line, as the program's debug information has it; empty without (`nvcc -lineinfo`)",
        |found| found.source.as_str().into()),
    Metric::new("detail", Text, "block and thread of the first time, and what happened",
        |found| match found.kernel.as_str() {
            "" => found.detail.as_str().into(),
            kernel => format!("kernel {}, {}", readable_text(kernel), found.detail).into(),
        }),
];

/// The columns of both.
pub fn columns() -> Vec<Column> {
    [metric::columns(FINDINGS), metric::columns(DEFECT)].concat()
}
