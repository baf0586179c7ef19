//! The tables of all rows, written by hand to stay small: thousands of rows are usual.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, Render, html};

use super::counted;
use crate::units::{ABSENT, heading, human};
use crate::{Column, ColumnKind, ResultSet, Row, Value};

/// Rows beyond this size are left to `results.csv`, so that every browser opens the report.
const TABLE_BYTES_MAX: usize = 2_200_000;
/// The column that says what a row is about; rows of one kind are a table.
const TABLE: &str = "table";
/// Longer texts are set in lines.
const LINE_CHARS_MAX: usize = 40;

pub(super) fn tables(set: &ResultSet, columns: &[Column]) -> Markup {
    let mut names: Vec<Option<&Value>> = Vec::new();
    for row in &set.rows {
        let name = row.get(TABLE);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut room = TABLE_BYTES_MAX;
    html! {
        h2 id="rows" { "All rows" }
        @if set.rows.is_empty() {
            p.note { "There are no rows." }
        } @else {
            p.note { "Numbers are rounded here; pointing at one shows it exactly." }
            @for name in names { (table(set, name, columns, &mut room)) }
        }
    }
}

/// The rows of one kind, with the columns that any of them has.
fn table(set: &ResultSet, name: Option<&Value>, columns: &[Column], room: &mut usize) -> Markup {
    let rows: Vec<&Row> = set
        .rows
        .iter()
        .filter(|row| row.get(TABLE) == name)
        .collect();
    let is_filled = |column: &&Column| {
        (name.is_none() || column.name != TABLE)
            && rows.iter().any(|row| shown(row, column).is_some())
    };
    let columns: Vec<&Column> = columns.iter().filter(is_filled).collect();
    let title = name.map_or_else(|| "All rows".to_owned(), Value::to_string);
    let mut body = String::new();
    let mut shown = 0;
    for row in &rows {
        let before = body.len();
        push_row(&mut body, row, &columns);
        if body.len() > *room {
            body.truncate(before);
            break;
        }
        shown += 1;
    }
    *room -= body.len();
    let left_out = rows.len() - shown;
    html! {
        @if name.is_some() { h3 { (title) } }
        @if left_out > 0 {
            p { "The first " (counted(shown, "row")) "; " (left_out) " more are in "
                code { "results.csv" } "." }
        }
        div.scroll.rows tabindex="0" role="region" aria-label=(title) {
            table.sortable data-partial[left_out > 0] {
                thead { tr {
                    @for column in &columns {
                        th scope="col" class=[is_number(column).then_some("n")]
                            title=(column.name) { (heading(column)) }
                    }
                } }
                tbody { (PreEscaped(body)) }
            }
        }
    }
}

fn is_number(column: &Column) -> bool {
    column.kind != ColumnKind::Text
}

fn shown<'a>(row: &'a Row, column: &Column) -> Option<&'a Value> {
    row.get(&column.name)
        .filter(|value| !value.is_not_a_number())
}

/// HTML lets end tags of rows and cells be left out.
fn push_row(out: &mut String, row: &Row, columns: &[&Column]) {
    out.push_str("<tr>");
    for column in columns {
        let class = if is_number(column) { " class=n" } else { "" };
        let Some(value) = shown(row, column) else {
            let _ = write!(out, "<td{class}>{ABSENT}");
            continue;
        };
        let text = human(value, column.kind);
        let exact = value.to_string();
        if !is_number(column) && text.chars().count() > LINE_CHARS_MAX {
            out.push_str("<td class=w>");
        } else if text == exact || !is_number(column) {
            let _ = write!(out, "<td{class}>");
        } else {
            let _ = write!(out, "<td{class} title=\"");
            exact.render_to(out);
            out.push_str("\">");
        }
        text.render_to(out);
    }
    out.push('\n');
}
