//! Numbers of columns.

use pagemill_types::Picos;

/// `part / whole`, and 0 of nothing.
pub(crate) fn quotient(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

/// A span of time in nanoseconds.
pub(crate) fn nanoseconds(span: Picos) -> f64 {
    span.0 as f64 / 1e3
}
