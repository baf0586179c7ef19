//! The tables of columns in `docs/results.md` are made of the declarations: `PAGEMILL_BLESS=1 cargo test -p pagemill-run documented`.

use std::fmt::Write;
use std::path::Path;

use pagemill_report::{Column, ColumnRole};

use super::cuda::{
    MACHINE, allocations::FAULTED, capacity::CAPACITY, defects, failures, lines::WAITING,
};
use super::{Ratio, VIEWS};
use pagemill_report::metric::columns;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/results.md");

const END: &str = "<!-- end of columns -->";

#[test]
fn the_results_document_is_made_of_the_declared_columns() {
    let path = Path::new(DOCUMENT);
    let found = std::fs::read_to_string(path).expect("the document is there");
    let expected = tables()
        .iter()
        .fold(found.clone(), |text, (name, columns)| {
            with_table(&text, name, columns)
        });
    if std::env::var_os("PAGEMILL_BLESS").is_some() {
        std::fs::write(path, &expected).expect("the document is ours");
    } else if found != expected {
        panic!(
            "docs/results.md differs from the declared columns: run PAGEMILL_BLESS=1 cargo test -p pagemill-run documented"
        );
    }
}

/// Each table of the document. Those of CUDA programs beside GPU runs are six, and the columns of a partner are described once.
fn tables() -> Vec<(&'static str, Vec<Column>)> {
    let mut tables = vec![
        ("cuda lines", columns(WAITING)),
        ("cuda faults", columns(FAULTED)),
        ("cuda failures", columns(failures::STATUS)),
        ("cuda ends", columns(failures::ENDED)),
        ("cuda defects", defects::columns()),
        ("cuda capacity", columns(CAPACITY)),
        ("cuda machine", columns(MACHINE)),
    ];
    for (kind, view) in VIEWS.iter().filter(|(kind, _)| *kind != "cuda") {
        let mut columns = (view.metrics)();
        columns.retain(|column| !column.name.starts_with("partner_") || *kind == "mpi");
        if let Some(ratio) = &view.ratio {
            let place = columns.iter().position(|column| column.name == ratio.of);
            columns.insert(place.map_or(0, |place| place + 1), Ratio::described(ratio));
        }
        tables.push((kind, columns));
    }
    tables
}

/// `text` with `columns` between the marks of the table `name`.
fn with_table(text: &str, name: &str, columns: &[Column]) -> String {
    let start = format!("<!-- columns of {name} -->\n");
    let (before, rest) = text
        .split_once(&start)
        .unwrap_or_else(|| panic!("docs/results.md has no line {start}"));
    let (_, after) = rest
        .split_once(END)
        .unwrap_or_else(|| panic!("the table of {name} has no end"));
    format!("{before}{start}{}{END}{after}", table(columns))
}

fn table(columns: &[Column]) -> String {
    let mut table = "| column | meaning |\n|---|---|\n".to_owned();
    for column in columns {
        assert_eq!(column.role, ColumnRole::Metric);
        writeln!(table, "| `{}` | {} |", column.name, ticked(&column.doc)).expect("a string grows");
    }
    table
}

/// `doc` with the names of columns in it as code.
fn ticked(doc: &str) -> String {
    let parts = doc.split('`').enumerate();
    parts
        .map(|(number, part)| match number % 2 {
            0 => words_ticked(part),
            _ => format!("`{part}`"),
        })
        .collect()
}

fn words_ticked(text: &str) -> String {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let mut ticked = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        let word = &rest[start..];
        let word = &word[..word.find(|c| !is_name(c)).unwrap_or(word.len())];
        ticked.push_str(&rest[..start]);
        match word.contains('_') {
            true => write!(ticked, "`{word}`").expect("a string grows"),
            false => ticked.push_str(word),
        }
        rest = &rest[start + word.len()..];
    }
    ticked + rest
}
