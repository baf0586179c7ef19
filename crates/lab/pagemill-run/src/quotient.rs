/// `part / whole`, and 0 of nothing.
pub(crate) fn quotient(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}
