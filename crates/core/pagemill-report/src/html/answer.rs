//! What a reader wants to know first: of what, how long, how much moved, what took the time, and what to change.

use maud::{Markup, html};

use super::framed;
use crate::sarif::{applies, is_defect, text};
use crate::units::{human, human_number};
use crate::{ColumnKind, ResultSet, Row, distinguish, heading};

/// Kernels that are named.
const KERNELS_MAX: usize = 3;

/// What a run shows, where its row has it.
const CARDS: [(&str, &str); 7] = [
    ("Machine", "machine"),
    ("Mode", "mode"),
    ("Time", "time_ns"),
    ("In kernels", "kernel_time_ns"),
    ("In copies", "copy_time_ns"),
    ("Moved in", "migrated_bytes"),
    ("Moved back", "returned_bytes"),
];

/// A heading and a figure.
type Card = (String, String);

pub(super) fn section(set: &ResultSet) -> Markup {
    let is_whole = |row: &&Row| matches!(text(row, "table"), "" | "program");
    let runs: Vec<&Row> = set.rows.iter().filter(is_whole).collect();
    let cards = match runs.as_slice() {
        [run] => of_run(set, run),
        runs => of_points(set, runs),
    };
    let words = |row: &Row, names: &[&str]| {
        names
            .iter()
            .map(|name| text(row, name).to_owned())
            .collect()
    };
    let mistakes = set.rows.iter().filter(|row| is_defect(row));
    let mistakes = mistakes.map(|row| words(row, &["line", "defect", "detail"]));
    let kept = set.rows.iter().filter(|row| text(row, "verdict") == "kept");
    let calls = kept.map(|row| {
        let mut cells: Vec<String> = words(row, &["place", "call"]);
        cells[1] = cells[1].replace("; ", ";\n");
        let gain = row.number("speedup");
        cells.extend(gain.map(|gain| human_number(gain, ColumnKind::Ratio)));
        cells
    });
    html! {
        @if !cards.is_empty() {
            dl.facts { @for (heading, figure) in cards { div { dt { (heading) } dd { (figure) } } } }
        }
        (table("Mistakes in kernels", &["Line", "Mistake", "First seen"], mistakes.collect()))
        @if applies(set) && !set.rows.iter().any(is_defect) { p { b { "No mistake was found in kernels." } } }
        (table("Calls to add", &["Where", "Call", "Times as fast"], calls.collect()))
        @if let [run] = runs.as_slice() {
            (table("Kernels that take the time", &["Kernel", "Time", "Of the run", "Launches"], kernels(set, run)))
        }
    }
}

/// The machine that all of a result ran on, where there is one.
fn machine(set: &ResultSet) -> Option<Card> {
    let mut titles = set.description.iter().map(|section| &section.title);
    let title = titles.find_map(|title| title.strip_prefix("Machine "))?;
    let shown = match title.split_once(": ") {
        Some((name, words)) => format!("{name} ({words})"),
        None => title.to_owned(),
    };
    Some(("Machine".to_owned(), shown))
}

fn of_run(set: &ResultSet, run: &Row) -> Vec<Card> {
    let card = |(heading, name): (&str, &str)| {
        let value = run.get(name)?;
        let is_known = run.number(name).is_none_or(|number| number > 0.0);
        let figure = human(value, ColumnKind::guess(name, Some(value)));
        is_known.then(|| (heading.to_owned(), figure))
    };
    let machine = machine(set).filter(|_| run.get("machine").is_none());
    let cards = CARDS.into_iter().filter_map(card);
    machine.into_iter().chain(cards).collect()
}

/// Of many points: which is slowest, and which is furthest from what it is compared with.
fn of_points(set: &ResultSet, runs: &[&Row]) -> Vec<Card> {
    let words = |row: &&Row| {
        let known = row.parameters.iter();
        known
            .map(|(name, value)| (name.clone(), value.to_string()))
            .collect()
    };
    let names = distinguish(&runs.iter().map(words).collect::<Vec<_>>());
    let most = |what: &str, name: &str, kind| {
        let values = names.iter().zip(runs);
        let values = values.filter_map(|(point, row)| Some((row.number(name)?, point)));
        let (value, point) = values.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (value > 0.0).then(|| (format!("{what}: {point}"), human_number(value, kind)))
    };
    let mut columns = set.columns.iter();
    let ratio = columns.find_map(|column| match column.kind {
        ColumnKind::Ratio => most(
            &format!("Most {}", heading(column)),
            &column.name,
            column.kind,
        ),
        _ => None,
    });
    let slowest = most("Slowest", "time_ns", ColumnKind::TimeNs);
    [machine(set), slowest, ratio]
        .into_iter()
        .flatten()
        .collect()
}

/// The kernels that took most of the time, and which share of it.
fn kernels(set: &ResultSet, run: &Row) -> Vec<Vec<String>> {
    let time = |row: &Row| row.number("time_ns").unwrap_or(0.0);
    let is_timed = |row: &&Row| text(row, "table") == "kernel" && time(row) > 0.0;
    let mut kernels: Vec<&Row> = set.rows.iter().filter(is_timed).collect();
    kernels.sort_by(|a, b| time(b).total_cmp(&time(a)));
    let cells = |row: &&Row| {
        let figures = [
            (time(row), ColumnKind::TimeNs),
            (time(row) / time(run), ColumnKind::Rate),
            (row.number("launches").unwrap_or(1.0), ColumnKind::Count),
        ];
        let figures = figures.map(|(number, kind)| human_number(number, kind));
        [text(row, "kernel").to_owned()]
            .into_iter()
            .chain(figures)
            .collect()
    };
    kernels.iter().take(KERNELS_MAX).map(cells).collect()
}

/// A table of a few rows; nothing where there are none.
fn table(title: &str, heads: &[&str], rows: Vec<Vec<String>>) -> Markup {
    let cells = html! { @for row in &rows { tr { @for cell in row { td { (cell) } } } } };
    html! { @if !rows.is_empty() { h2 { (title) } (framed(title, heads, &cells)) } }
}
