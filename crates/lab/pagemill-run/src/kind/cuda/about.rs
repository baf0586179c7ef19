//! What a row of a CUDA program is about.

use pagemill_report::Row;

/// What a row is about: each kind of thing has a table, and a column that names the thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About<'a> {
    /// The whole program with its copies.
    Program,
    /// A kernel, over all its launches.
    Kernel(&'a str),
    /// An allocation of managed memory.
    Allocation(usize),
    /// A source line.
    Line(&'a str),
    /// A mistake of a kernel at a source line.
    Defect(&'a str),
}

impl About<'_> {
    /// The value of the column `table`.
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Kernel(_) => "kernel",
            Self::Allocation(_) => "allocation",
            Self::Line(_) => "line",
            Self::Defect(_) => "defect",
        }
    }

    /// Whether `row` is of the same table.
    pub(super) fn is_of(self, row: &Row) -> bool {
        row.get(TABLE) == Some(&self.table().into())
    }
}

/// The column that says what a row is about.
pub(super) const TABLE: &str = "table";
