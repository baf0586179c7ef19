//! Rows of details, of which people want the dearest.

use crate::{ColumnKind, Fact, ResultSet, Row, Value};

/// The most rows of a kind for each whole program.
const ROWS_MAX: usize = 20;

/// The kinds: what `table` says of a row, what rows are called, and the numbers that say how dear one is. The first counts that any row
/// has, and not as 0.
#[rustfmt::skip]
const DETAILS: [(&str, &str, &[&str]); 4] = [
    ("kernel", "kernels", &["time_ns", "thread_instructions", "launches", "failed_launches"]),
    ("allocation", "allocations", &["migrated_bytes", "remote_bytes"]),
    ("line", "source lines", &["waiting_time_ns", "migrated_bytes"]),
    ("defect", "defects", &["seen"]),
];

/// The results with the dearest rows of kinds that have many, dearest first, and how many rows that leaves out. Other formats have all.
pub(super) fn dearest(set: &ResultSet) -> ResultSet {
    let mut set = set.clone();
    let programs = rows_of(&set, "program").count();
    for (table, name, costs) in DETAILS {
        let most = ROWS_MAX * programs.max(1);
        let is_known = |cost: &&&str| rows_of(&set, table).any(|row| cost_of(row, cost) > 0.0);
        let Some(cost) = costs.iter().find(is_known) else {
            continue;
        };
        if rows_of(&set, table).count() <= most {
            continue;
        }
        let place = set
            .rows
            .iter()
            .position(|row| is_of(row, table))
            .unwrap_or(0);
        let mut rows: Vec<Row> = set.rows.extract_if(.., |row| is_of(row, table)).collect();
        rows.sort_by(|one, other| cost_of(other, cost).total_cmp(&cost_of(one, cost)));
        let left_out = rows.split_off(most).len();
        set.rows.splice(place..place, rows);
        set.summary.facts.push(Fact {
            name: format!("{name} left out here (--format csv, --out)"),
            value: left_out.into(),
            kind: ColumnKind::Count,
            doc: String::new(),
        });
    }
    set
}

fn rows_of<'a>(set: &'a ResultSet, table: &'a str) -> impl Iterator<Item = &'a Row> {
    set.rows.iter().filter(move |row| is_of(row, table))
}

fn is_of(row: &Row, table: &str) -> bool {
    row.get("table") == Some(&Value::from(table))
}

fn cost_of(row: &Row, cost: &str) -> f64 {
    row.number(cost).unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
