//! Files of version 1, which had no tables: in the rows of CUDA programs, `kernel` was whatever a row was about, in those of MPI
//! programs `call` was `(all)` for a whole rank.

use crate::{Column, ColumnKind, ResultSet, Row, Value};

/// What they call themselves.
pub(super) const SCHEMA: &str = "pagemill-results/1";

/// Divides the rows of programs into tables, as version 2 has them.
pub(super) fn divide(set: &mut ResultSet) {
    let is = |names: [&str; 2]| {
        let first = set.columns.iter().take(2);
        first.map(|column| &column.name).eq(names)
    };
    if is(["call", "rank"]) {
        divide_calls(set);
    } else if is(["kernel", "program"]) {
        divide_kernels(set);
    }
}

fn divide_calls(set: &mut ResultSet) {
    for row in &mut set.rows {
        let is_rank = row.get("call") == Some(&"(all)".into());
        let table = if is_rank { "rank" } else { "call" };
        row.parameters
            .retain(|(name, _)| !(is_rank && name == "call"));
        row.parameters.insert(0, ("table".to_owned(), table.into()));
    }
    let table = Column::parameter("table", ColumnKind::Text, "");
    set.columns.insert(0, table);
}

fn divide_kernels(set: &mut ResultSet) {
    set.rows.iter_mut().for_each(divide_row);
    let own = ["table", "program", "kernel", "allocation", "line"];
    set.columns
        .retain(|column| !own.contains(&column.name.as_str()));
    let columns = own.map(|name| Column::parameter(name, ColumnKind::Text, ""));
    set.columns.splice(0..0, columns);
}

fn divide_row(row: &mut Row) {
    let Some(Value::Text(name)) = row.get("kernel").cloned() else {
        return;
    };
    let is_line = name
        .rsplit_once(':')
        .is_some_and(|(_, line)| line.parse::<u32>().is_ok());
    let (table, about) = if name == "(all)" {
        ("program", None)
    } else if row.get("defect").is_some() {
        // `FILE:LINE DEFECT`.
        (
            "defect",
            name.split_once(' ').map(|(line, _)| ("line", line)),
        )
    } else if is_line {
        ("line", Some(("line", name.as_str())))
    } else if name.starts_with("managed #") {
        ("allocation", Some(("allocation", name.as_str())))
    } else {
        ("kernel", Some(("kernel", name.as_str())))
    };
    row.parameters.retain(|(name, _)| name != "kernel");
    row.parameters.insert(0, ("table".to_owned(), table.into()));
    if let Some((column, value)) = about {
        row.parameters.insert(2, (column.to_owned(), value.into()));
    }
}

#[cfg(test)]
mod tests;
