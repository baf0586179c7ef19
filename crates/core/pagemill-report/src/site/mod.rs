//! A static site of several runs: an index that filters and compares them in the browser, and the report of each.
//!
//! One index page holds all data, so that it works from a disk; nothing is fetched.

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Value as Json, json};

use crate::html::{counted, head};
use crate::style::STYLE;
use crate::{Column, ColumnRole, ResultSet, Value};

const SITE_STYLE: &str = include_str!("site.css");
const SITE_SCRIPT: &str = include_str!("site.js");

/// Data beyond this size is left out of the index, so that every browser opens it.
const DATA_BYTES_MAX: usize = 2_400_000;

/// One run of the site.
pub struct SiteRun<'a> {
    /// Its name: the folder's.
    pub name: &'a str,
    /// What it found.
    pub set: &'a ResultSet,
    /// Where its report is, relative to the index; `None` where there is none.
    pub report: Option<&'a str>,
}

/// Writes the index of `runs`.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_index(title: &str, runs: &[SiteRun<'_>], mut out: impl Write) -> io::Result<()> {
    out.write_all(page(title, runs).into_string().as_bytes())?;
    out.flush()
}

fn page(title: &str, runs: &[SiteRun<'_>]) -> Markup {
    let (data, left_out) = data(runs);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head(title, &[STYLE, SITE_STYLE], &[SITE_SCRIPT]))
            }
            body {
                main {
                    h1 { (title) }
                    p.meta { (counted(runs.len(), "run")) }
                    (run_table(runs))
                    @if left_out > 0 {
                        p.note { (counted(left_out, "row")) " are left out of the tables below, which would be too large; the reports have them." }
                    }
                    (controls(runs))
                    section aria-live="polite" { p id="summary" {} }
                    div.scroll.rows tabindex="0" role="region" aria-label="Rows" { table id="rows" {} }
                    noscript { p.note { "Filters and comparisons need script. The reports above do not." } }
                }
                script type="application/json" id="data" { (PreEscaped(data)) }
                script { (PreEscaped(SITE_SCRIPT)) }
            }
        }
    }
}

fn run_table(runs: &[SiteRun<'_>]) -> Markup {
    html! {
        h2 id="runs" { "Runs" }
        div.scroll tabindex="0" role="region" aria-label="Runs" {
            table {
                thead { tr {
                    th scope="col" { "Run" }
                    th scope="col" { "Scenario" }
                    th scope="col" { "Title" }
                    th.n scope="col" { "Rows" }
                    th.n scope="col" { "Seed" }
                    th scope="col" { "Version" }
                } }
                tbody { @for run in runs { tr {
                    td { @match run.report {
                        Some(path) => a href=(path) { (run.name) },
                        None => (run.name),
                    } }
                    td { code { (run.set.scenario) } }
                    td.long { (run.set.title) }
                    td.n { (run.set.rows.len()) }
                    td.n { (run.set.seed) }
                    td { (run.set.pagemill_version) }
                } } }
            }
        }
    }
}

fn controls(runs: &[SiteRun<'_>]) -> Markup {
    html! {
        h2 id="compare" { "Filter and compare" }
        form.controls {
            label { "Run " select id="first" { @for run in runs { option { (run.name) } } } }
            label { "against " select id="second" {
                option value="" { "nothing" }
                @for run in runs { option { (run.name) } }
            } }
            label { "Metric " select id="metric" {} }
            label { "Rows with " input id="filter" type="search" placeholder="mode=whole-page time_ns>1000" autocomplete="off" aria-describedby="filter-help"; }
        }
        p.note id="filter-help" { "Words that a row holds, or " code { "column=value" } ", " code { "column<number" } " and " code { "column>number" } ", all of which have to be true." }
    }
}

/// Columns and rows of all runs as JSON that is safe inside a script element, and how many rows are left out.
fn data(runs: &[SiteRun<'_>]) -> (String, usize) {
    let mut bytes = 0;
    let mut left_out = 0;
    let sets: Vec<Json> = runs
        .iter()
        .map(|run| {
            let columns = run.set.all_columns();
            let mut rows = Vec::new();
            for row in &run.set.rows {
                let values: Vec<Json> = columns
                    .iter()
                    .map(|column| json_value(row.get(&column.name)))
                    .collect();
                let values = Json::Array(values);
                bytes += values.to_string().len();
                if bytes > DATA_BYTES_MAX {
                    left_out += 1;
                } else {
                    rows.push(values);
                }
            }
            let columns: Vec<Json> = columns.iter().map(describe).collect();
            json!({ "name": run.name, "columns": columns, "rows": rows })
        })
        .collect();
    // "</script" and "<!--" cannot occur.
    (
        Json::Array(sets).to_string().replace('<', "\\u003c"),
        left_out,
    )
}

fn describe(column: &Column) -> Json {
    json!({
        "name": column.name,
        "parameter": column.role == ColumnRole::Parameter,
        "number": column.kind != crate::ColumnKind::Text,
        "doc": column.doc,
    })
}

fn json_value(value: Option<&Value>) -> Json {
    match value {
        Some(Value::Unsigned(number)) => json!(number),
        Some(Value::Signed(number)) => json!(number),
        Some(Value::Float(number)) => json!(number),
        Some(Value::Text(text)) => json!(text),
        Some(Value::Bool(flag)) => json!(flag),
        None => Json::Null,
    }
}

#[cfg(test)]
mod tests;
