//! Files of version 1, which had no tables: in the rows of CUDA programs, `kernel` was whatever a row was about, in those of MPI
//! programs `call` was `(all)` for a whole rank. Advice called its tables `row`.

use crate::{Column, ColumnKind, ColumnRole, ResultSet, Row, Value};

/// What they call themselves.
pub(super) const SCHEMA: &str = "pagemill-results/1";

/// Divides the rows of programs into tables, as version 2 has them.
pub(super) fn divide(set: &mut ResultSet) {
    let has = |name: &str| {
        let mut columns = set.columns.iter();
        columns.any(|column| column.role == ColumnRole::Parameter && column.name == name)
    };
    let (kernels, calls) = (has("kernel") && has("program"), has("call") && has("rank"));
    if has("row") && has("allocation") {
        rename(set, "row", "table");
    }
    if !kernels && !calls {
        return;
    }
    for row in &mut set.rows {
        if kernels {
            divide_row(row, "kernel", of_kernel);
        }
        if calls {
            divide_row(row, "call", of_call);
        }
    }
    let added: &[&str] = match kernels {
        true => &["table", "allocation", "line"],
        false => &["table"],
    };
    let columns = added
        .iter()
        .map(|name| Column::parameter(*name, ColumnKind::Text, ""));
    set.columns.splice(0..0, columns);
}

fn rename(set: &mut ResultSet, parameter: &str, name: &str) {
    let columns = set.columns.iter_mut().map(|column| &mut column.name);
    let parameters = set.rows.iter_mut().flat_map(|row| &mut row.parameters);
    columns
        .chain(parameters.map(|(name, _)| name))
        .filter(|known| *known == parameter)
        .for_each(|known| name.clone_into(known));
}

/// Replaces the value of `column`, if it has one, by the table and what names the row in it.
fn divide_row(row: &mut Row, column: &str, about: impl Fn(&Row, &str) -> About) {
    let Some(Value::Text(name)) = row.get(column).cloned() else {
        return;
    };
    let (table, naming) = about(row, &name);
    row.parameters.retain(|(name, _)| name != column);
    let naming = naming.map(|(column, value)| (column.to_owned(), value.into()));
    let own = [Some(("table".to_owned(), table.into())), naming];
    row.parameters.splice(0..0, own.into_iter().flatten());
}

/// A table, and the column and value that name a row in it.
type About = (&'static str, Option<(&'static str, String)>);

fn of_kernel(row: &Row, name: &str) -> About {
    let is_line = |name: &str| {
        let line = name.rsplit_once(':').map(|(_, line)| line.parse::<u32>());
        matches!(line, Some(Ok(_)))
    };
    let named = |table, column, name: &str| (table, Some((column, name.to_owned())));
    match name {
        "(all)" => ("program", None),
        _ if row.get("defect").is_some() => {
            // `FILE:LINE DEFECT`; a file may have a space in its name, a defect has none.
            let place = name.rsplit_once(' ').map_or(name, |(place, _)| place);
            named("defect", "line", place)
        }
        _ if is_line(name) => named("line", "line", name),
        _ if name.starts_with("managed #") => named("allocation", "allocation", name),
        _ => named("kernel", "kernel", name),
    }
}

fn of_call(_: &Row, name: &str) -> About {
    match name {
        "(all)" => ("rank", None),
        _ => ("call", Some(("call", name.to_owned()))),
    }
}

#[cfg(test)]
mod tests;
