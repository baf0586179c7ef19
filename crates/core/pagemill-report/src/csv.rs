//! `results.csv`: the rows as RFC 4180 has them, for spreadsheets and data frames.

use std::io::{self, Write};

use crate::ResultSet;

/// Writes the rows of `set`: a header of column names, then one record per row.
///
/// Values are in the exact machine form of `results.json`; a missing value is an empty field.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(set: &ResultSet, out: impl Write) -> io::Result<()> {
    let columns = set.all_columns();
    let mut out = ::csv::WriterBuilder::new()
        .terminator(::csv::Terminator::CRLF)
        .from_writer(out);
    if !columns.is_empty() {
        out.write_record(columns.iter().map(|column| &column.name))?;
        for row in &set.rows {
            out.write_record(columns.iter().map(|column| {
                row.get(&column.name)
                    .map(ToString::to_string)
                    .unwrap_or_default()
            }))?;
        }
    }
    out.flush()
}
