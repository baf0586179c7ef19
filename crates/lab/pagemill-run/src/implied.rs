//! Parameters that say nothing that another one does not say already.

use pagemill_report::Row;

/// Whether rows of one `identity` never differ in parameter `name`, and rows of several do.
pub(crate) fn is_implied(rows: &[Row], identity: &str, name: &str) -> bool {
    let differs = rows.iter().any(|row| row.get(name) != rows[0].get(name));
    let first_of_same = |row: &Row| {
        rows.iter()
            .find(|other| other.get(identity) == row.get(identity))
            .map(|first| first.get(name))
    };
    name != identity
        && differs
        && rows
            .iter()
            .all(|row| first_of_same(row) == Some(row.get(name)))
}
