//! `report.html`: one file that needs nothing else, now or in ten years.

mod rows;

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::plot::{Figure, figure};
use crate::units::{ABSENT, human};
use crate::{Claim, Column, ColumnKind, ColumnRole, DescriptionSection, Plot, ResultSet, Value};

pub(crate) const STYLE: &str = include_str!("style.css");
const SORT_SCRIPT: &str = include_str!("sort.js");

/// Only these two texts may style and act; nothing may be fetched.
const CONTENT_POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-Y5ZwMhYQg6XmKPGMZCgR0Q1ukMgtsLxByKb+fanrVHc='; \
    script-src 'sha256-1YBRD2E+yBasafHIFDa9gcvIwenKNecUdHukt8Oo5TA='";

/// Writes the report of `set`.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write(set: &ResultSet, mut out: impl Write) -> io::Result<()> {
    out.write_all(page(set).into_string().as_bytes())?;
    out.flush()
}

/// What every page says of itself: it asks nobody for anything. `policy` allows exactly its `styles` and its script.
pub(crate) fn head(title: &str, policy: &str, styles: &[&str]) -> Markup {
    html! {
        meta charset="utf-8";
        meta http-equiv="Content-Security-Policy" content=(policy);
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="referrer" content="no-referrer";
        title { (title) " – pagemill" }
        style { @for style in styles { (PreEscaped(style)) } }
    }
}

fn page(set: &ResultSet) -> Markup {
    let columns = set.all_columns();
    let figures: Vec<(&Plot, Figure)> = (1..)
        .zip(&set.plots)
        .map(|(number, plot)| (plot, figure(set, plot, &format!("f{number}"))))
        .collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head(&set.title, CONTENT_POLICY, &[STYLE]))
            }
            body {
                main {
                    (header(set))
                    (contents(set, &figures))
                    (claims(set))
                    @if !figures.is_empty() {
                        h2 id="figures" { "Figures" }
                        @for (number, (plot, figure)) in (1..).zip(&figures) {
                            (figure_block(number, plot, figure))
                        }
                    }
                    (rows::table(set, &columns))
                    (column_list(&columns))
                    (description(set))
                    footer {
                        "Made by pagemill " (set.pagemill_version) " from scenario "
                        code { (set.scenario) } ", seed " (set.seed)
                        ". The same scenario, seed and version give the same numbers."
                    }
                }
                script { (PreEscaped(SORT_SCRIPT)) }
            }
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
                "Scenario " code { (set.scenario) } " · seed " (set.seed) " · "
                (counted(set.rows.len(), "row")) " · pagemill " (set.pagemill_version)
            }
            @if !set.summary.warnings.is_empty() {
                ul role="alert" {
                    @for warning in &set.summary.warnings { li.fails { (warning) } }
                }
            }
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

fn contents(set: &ResultSet, figures: &[(&Plot, Figure)]) -> Markup {
    let entries = [
        ("claims", "Claims", !set.summary.claims.is_empty()),
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

fn claims(set: &ResultSet) -> Markup {
    let (hold, fail, open) = set.summary.verdicts();
    html! {
        @if !set.summary.claims.is_empty() {
            h2 id="claims" { "Published claims, and what came out here" }
            p { (hold) " hold, " (fail) " do not, " (open) " cannot be judged by this run." }
            div.scroll tabindex="0" role="region" aria-label="Claims" {
                table.wrap {
                    thead { tr {
                        th scope="col" { "Verdict" }
                        th scope="col" { "Claim" }
                        th.n scope="col" { "Published" }
                        th.n scope="col" { "Measured" }
                    } }
                    tbody { @for claim in &set.summary.claims { (claim_row(claim)) } }
                }
            }
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

fn figure_block(number: usize, plot: &Plot, figure: &Figure) -> Markup {
    html! {
        figure {
            h3 { (plot.title) }
            div.scroll tabindex="0" role="region" aria-label={ "Figure " (number) } {
                @for image in &figure.images { (PreEscaped(image)) }
                @if figure.images.is_empty() { p.note { "No row has the values of this figure." } }
            }
            figcaption {
                b { "Figure " (number) ". " }
                (plot.caption)
                @for note in &figure.notes { " " (note) }
            }
        }
    }
}

fn column_list(columns: &[Column]) -> Markup {
    html! {
        h2 id="columns" { "Columns" }
        div.scroll tabindex="0" role="region" aria-label="Columns" {
            table.wrap {
                thead { tr {
                    th scope="col" { "Name" }
                    th scope="col" { "Role" }
                    th scope="col" { "Unit in the files" }
                    th scope="col" { "Meaning" }
                } }
                tbody {
                    @for column in columns {
                        tr {
                            td { code { (column.name) } }
                            td { (role_name(column.role)) }
                            td { (unit_name(column.kind)) }
                            td.long { (column.doc) }
                        }
                    }
                }
            }
        }
    }
}

fn role_name(role: ColumnRole) -> &'static str {
    match role {
        ColumnRole::Parameter => "parameter",
        ColumnRole::Metric => "metric",
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
    html! {
        details open {
            summary { (section.title) }
            div.scroll tabindex="0" role="region" aria-label=(section.title) {
                table.wrap {
                    thead { tr {
                        th scope="col" { "Setting" }
                        th scope="col" { "Value" }
                        @if has_sources { th scope="col" { "Source" } }
                    } }
                    tbody {
                        @for entry in &section.entries {
                            tr {
                                td { code { (entry.name) } }
                                td { (entry.value) }
                                @if has_sources { td { (entry.source) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests;
