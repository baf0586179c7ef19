//! The table of all rows, written by hand to stay small: thousands of rows are usual.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::counted;
use crate::units::{ABSENT, heading, human};
use crate::{Column, ColumnKind, ResultSet, Row};

/// Rows beyond this size are left to `results.csv`, so that every browser opens the report.
const TABLE_BYTES_MAX: usize = 2_200_000;

pub(super) fn table(set: &ResultSet, columns: &[Column]) -> Markup {
    let mut body = String::new();
    let mut shown = 0;
    for row in &set.rows {
        let before = body.len();
        push_row(&mut body, row, columns);
        if body.len() > TABLE_BYTES_MAX {
            body.truncate(before);
            break;
        }
        shown += 1;
    }
    let left_out = set.rows.len() - shown;
    html! {
        h2 id="rows" { "All rows" }
        @if left_out > 0 {
            p { "The first " (counted(shown, "row")) "; " (left_out) " more are in "
                code { "results.csv" } "." }
        }
        @if set.rows.is_empty() {
            p.note { "There are no rows." }
        } @else {
            p.note { "Numbers are rounded here; pointing at one shows it exactly." }
            div.scroll.rows tabindex="0" role="region" aria-label="All rows" {
                table.sortable data-partial[left_out > 0] {
                    thead { tr {
                        @for column in columns {
                            th scope="col" class=[is_number(column).then_some("n")]
                                title=(column.name) { (heading(column)) }
                        }
                    } }
                    tbody { (PreEscaped(body)) }
                }
            }
        }
    }
}

fn is_number(column: &Column) -> bool {
    column.kind != ColumnKind::Text
}

/// HTML lets end tags of rows and cells be left out.
fn push_row(out: &mut String, row: &Row, columns: &[Column]) {
    out.push_str("<tr>");
    for column in columns {
        let class = if is_number(column) { " class=n" } else { "" };
        let Some(value) = row
            .get(&column.name)
            .filter(|value| !value.is_not_a_number())
        else {
            let _ = write!(out, "<td{class}>{ABSENT}");
            continue;
        };
        let text = human(value, column.kind);
        let exact = value.to_string();
        if text == exact || !is_number(column) {
            let _ = write!(out, "<td{class}>");
        } else {
            let _ = write!(out, "<td{class} title=\"");
            push_escaped(out, &exact);
            out.push_str("\">");
        }
        push_escaped(out, &text);
    }
    out.push('\n');
}

fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}
