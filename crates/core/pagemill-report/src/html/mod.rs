//! `report.html`: one file that needs nothing else, now or in ten years.

mod answer;
mod rows;

use std::io::{self, Write};

use base64::Engine as _;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::map;
use crate::plot::{Figure, compares, figure, narrow_figure};
use crate::style::STYLE;
use crate::units::{ABSENT, human};
use crate::{Claim, Column, ColumnKind, DescriptionSection, Plot, ResultSet, Value};

/// What a reader can do with a report: sort its rows, and take figures and rows along.
const SCRIPT: &str = concat!(include_str!("sort.js"), include_str!("take.js"));

/// Only these texts may style and act; nothing may be fetched.
pub(crate) fn content_policy(style: &str, scripts: &[&str]) -> String {
    let hash = |text: &str| {
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text));
        format!("'sha256-{digest}'")
    };
    let scripts: Vec<String> = scripts.iter().map(|script| hash(script)).collect();
    format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src {}; script-src {}",
        hash(style),
        scripts.join(" ")
    )
}

/// Writes the report of `set`.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(set: &ResultSet, mut out: impl Write) -> io::Result<()> {
    out.write_all(page(set).into_string().as_bytes())?;
    out.flush()
}

/// Content security policy of every page: it fetches nothing, and only `styles` and `scripts` style and act.
pub(crate) fn head(title: &str, styles: &[&str], scripts: &[&str]) -> Markup {
    let style = styles.concat();
    html! {
        meta charset="utf-8";
        meta http-equiv="Content-Security-Policy" content=(content_policy(&style, scripts));
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="referrer" content="no-referrer";
        title { (title) " – pagemill" }
        style { (PreEscaped(style)) }
    }
}

/// Figures of more bytes are drawn once; a phone scrolls them.
const NARROW_BYTES_MAX: usize = 200_000;

/// A plot, for a page and for a phone.
struct DrawnPlot<'a> {
    number: usize,
    plot: &'a Plot,
    figure: Figure,
    narrow: Vec<String>,
}

impl<'a> DrawnPlot<'a> {
    fn new(set: &ResultSet, plot: &'a Plot, number: usize) -> Self {
        let figure = figure(set, plot, &format!("f{number}"));
        let bytes: usize = figure.images.iter().map(String::len).sum();
        let narrow = match bytes {
            0..=NARROW_BYTES_MAX => narrow_figure(set, plot, &format!("f{number}m")).images,
            _ => Vec::new(),
        };
        Self {
            number,
            plot,
            figure,
            narrow,
        }
    }
}

fn page(set: &ResultSet) -> Markup {
    let columns = set.all_columns();
    let plots = set.plots.iter().filter(|plot| compares(set, plot));
    let figures: Vec<DrawnPlot> = (1..)
        .zip(plots)
        .map(|(number, plot)| DrawnPlot::new(set, plot, number))
        .collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                @if set.maps.is_empty() {
                    (head(&set.title, &[STYLE], &[SCRIPT]))
                } @else {
                    (head(&set.title, &[STYLE, map::STYLE], &[SCRIPT, map::SCRIPT]))
                }
            }
            body {
                main {
                    (header(set))
                    (contents(set, &figures))
                    (claims(set))
                    (findings(set))
                    (map::section(&set.maps, set.findings.first().map(|finding| finding.point.as_str())))
                    @if !figures.is_empty() {
                        h2 id="figures" { "Figures" }
                        @for figure in &figures { (figure_block(figure)) }
                    }
                    (rows::tables(set, &columns))
                    (column_list(&columns))
                    (description(set))
                    footer {
                        (origin(set))
                    }
                }
                script { (PreEscaped(SCRIPT)) }
                @if !set.maps.is_empty() { script { (PreEscaped(map::SCRIPT)) } }
            }
        }
    }
}

/// What made the numbers, and whether it makes them again.
fn origin(set: &ResultSet) -> Markup {
    html! {
        "Made by pagemill " (set.pagemill_version)
        @match set.measured {
            true => { ". Measured on a real machine: another run gives other numbers." },
            false => {
                " from scenario " code { (set.scenario) } ", seed " (set.seed)
                ". The same scenario, seed and version give the same numbers."
            },
        }
    }
}

fn header(set: &ResultSet) -> Markup {
    let paragraphs = set
        .about
        .split("\n\n")
        .map(str::trim)
        .filter(|text| !text.is_empty());
    html! {
        header {
            h1 { (set.title) }
            p.meta {
                @match set.measured {
                    true => { "Measured: " code { (set.scenario) } " · " },
                    false => { "Scenario " code { (set.scenario) } " · seed " (set.seed) " · " },
                }
                (counted(set.rows.len(), "row")) " · pagemill " (set.pagemill_version)
            }
            @if !set.summary.warnings.is_empty() {
                ul role="alert" {
                    @for warning in &set.summary.warnings { li.fails { (warning) } }
                }
            }
            (answer::section(set))
            @for paragraph in paragraphs { p { (paragraph) } }
            @if !set.summary.facts.is_empty() {
                dl.facts {
                    @for fact in &set.summary.facts {
                        div {
                            dt title=(fact.name) {
                                @if fact.doc.is_empty() { (fact.name) } @else { (fact.doc) }
                            }
                            dd title=(fact.value) { (human(&fact.value, fact.kind)) }
                        }
                    }
                }
            }
        }
    }
}

fn contents(set: &ResultSet, figures: &[DrawnPlot<'_>]) -> Markup {
    let entries = [
        ("claims", "Claims", !set.summary.claims.is_empty()),
        ("reasons", "Why it was slow", !set.findings.is_empty()),
        ("pages", "Where the pages were", !set.maps.is_empty()),
        ("figures", "Figures", !figures.is_empty()),
        ("rows", "All rows", true),
        ("columns", "Columns", true),
        (
            "description",
            "Machine and settings",
            !set.description.is_empty(),
        ),
    ];
    html! {
        nav aria-label="Contents" {
            ul {
                @for (id, title, _) in entries.into_iter().filter(|entry| entry.2) {
                    li { a href={ "#" (id) } { (title) } }
                }
            }
        }
    }
}

/// A table in a frame that scrolls where the page is narrow; headings of numbers begin with `>`.
fn framed(label: &str, heads: &[&str], rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table.wrap.stack {
                thead { tr { @for head in heads {
                    th.n[head.starts_with('>')] scope="col" { (head.trim_start_matches('>')) }
                } } }
                tbody { (rows) }
            }
        }
    }
}

fn claims(set: &ResultSet) -> Markup {
    let (hold, fail, open) = set.summary.verdicts();
    let heads = ["Verdict", "Claim", ">Published", ">Measured"];
    let rows = html! { @for claim in &set.summary.claims { (claim_row(claim)) } };
    html! {
        @if !set.summary.claims.is_empty() {
            h2 id="claims" { "Published claims, and what came out here" }
            p { (hold) " hold, " (fail) " do not, " (open) " cannot be judged by this run." }
            (framed("Claims", &heads, &rows))
        }
    }
}

/// The reasons of each point in a row, with what to try.
fn findings(set: &ResultSet) -> Markup {
    let (first, last) = (set.findings.first(), set.findings.last());
    let several = first.map(|one| &one.point) != last.map(|one| &one.point);
    let heads = ["Point", "What takes the time", "What to try"];
    let rows = html! {
        @for group in set.findings.chunk_by(|a, b| a.point == b.point) {
            @for (index, finding) in group.iter().enumerate() { tr {
                @if several && index == 0 { th scope="row" rowspan=(group.len()) { (finding.point) } }
                td.long { (finding.reason) }
                td.long { (finding.hint) }
            } }
        }
    };
    html! {
        @if !set.findings.is_empty() {
            h2 id="reasons" { "Why it was slow" }
            (framed("Reasons", &heads[usize::from(!several)..], &rows))
        }
    }
}

fn claim_row(claim: &Claim) -> Markup {
    let (class, verdict) = match claim.holds {
        Some(true) => ("v holds", "✓ holds"),
        Some(false) => ("v fails", "✗ fails"),
        None => ("v open", "? open"),
    };
    html! {
        tr {
            td class=(class) { (verdict) }
            td.long {
                @if claim.text.is_empty() { (claim.id) } @else { (claim.text) }
                @if !claim.note.is_empty() { br; span.note { (claim.note) } }
            }
            (figure_cell(&claim.published, claim.kind))
            (figure_cell(&claim.measured, claim.kind))
        }
    }
}

fn figure_cell(value: &Option<Value>, kind: ColumnKind) -> Markup {
    html! {
        @match value {
            Some(value) => td.n.v title=(value) { (human(value, kind)) },
            None => td.n { (ABSENT) },
        }
    }
}

fn figure_block(drawn: &DrawnPlot<'_>) -> Markup {
    let DrawnPlot {
        number,
        plot,
        figure,
        narrow,
    } = drawn;
    let wide = if narrow.is_empty() {
        "always"
    } else {
        "panels"
    };
    html! {
        figure {
            h3 { (plot.title) }
            div.scroll tabindex="0" role="region" aria-label={ "Figure " (number) } {
                div class=(wide) {
                    @for image in &figure.images { (PreEscaped(image)) }
                }
                @if !narrow.is_empty() {
                    div.narrow { @for image in narrow { (PreEscaped(image)) } }
                }
                @if figure.images.is_empty() { p.note { "No row has the values of this figure." } }
            }
            figcaption {
                b { "Figure " (number) ". " }
                (plot.caption)
                @if !figure.seen.is_empty() { " " (figure.seen) }
                @for note in &figure.notes { " " (note) }
            }
        }
    }
}

fn column_list(columns: &[Column]) -> Markup {
    let rows = html! {
        @for column in columns { tr {
            td { code { (column.name) } }
            td { (unit_name(column.kind)) }
            td.long { (column.doc) }
        } }
    };
    html! {
        h2 id="columns" { "Columns" }
        details {
            summary { "What each of the " (counted(columns.len(), "column")) " means" }
            (framed("Columns", &["Name", "Unit in the files", "Meaning"], &rows))
        }
    }
}

fn unit_name(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Count => "count",
        ColumnKind::Bytes => "bytes",
        ColumnKind::TimeNs => "nanoseconds",
        ColumnKind::BytesPerSecond => "bytes per second",
        ColumnKind::Rate => "share, 0 to 1",
        ColumnKind::Ratio => "ratio",
        ColumnKind::Number => "number",
        ColumnKind::Text => "text",
    }
}

fn description(set: &ResultSet) -> Markup {
    html! {
        @if !set.description.is_empty() {
            h2 id="description" { "Machine and settings" }
            @for section in &set.description { (description_section(section)) }
        }
    }
}

fn description_section(section: &DescriptionSection) -> Markup {
    let has_sources = section.entries.iter().any(|entry| !entry.source.is_empty());
    let heads = ["Setting", "Value", "Source"];
    let rows = html! {
        @for entry in &section.entries { tr {
            td { code { (entry.name) } }
            td { (entry.value) }
            @if has_sources { td.long { (entry.source) } }
        } }
    };
    html! {
        // On a line of its own, as tools that compare pages see it.
        (PreEscaped("\n"))
        details {
            summary { (section.title) }
            (framed(&section.title, &heads[..2 + usize::from(has_sources)], &rows))
        }
    }
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests;
