//! The file that keeps figures, and the table that people read.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Circumstances, Figure, Rows};

const HEADER: &str = "name,figure,unit,beside,beside_figure,commit,cpu,cores,load";

/// One figure with what it was measured beside, and where.
#[derive(Clone, Debug)]
pub(super) struct Row {
    value: f64,
    unit: String,
    /// Name and value of the figure of the same run to compare with.
    beside: Option<(String, f64)>,
    commit: String,
    cpu: String,
    cores: String,
    load: String,
}

/// The rows of one run.
pub(super) fn rows(
    figures: &[Figure],
    circumstances: &Circumstances,
) -> impl Iterator<Item = (String, Row)> {
    figures.iter().map(|figure| {
        let beside = figure.beside.as_deref().and_then(|name| {
            let other = figures.iter().find(|other| other.name == name)?;
            Some((name.to_owned(), other.value))
        });
        let row = Row {
            value: figure.value,
            unit: figure.unit.clone(),
            beside,
            commit: circumstances.commit.clone(),
            cpu: circumstances.cpu.replace(',', ";"),
            cores: circumstances.cores.to_string(),
            load: circumstances.load.clone(),
        };
        (figure.name.clone(), row)
    })
}

/// The rows of a file; lines that are none are left out.
pub(super) fn read(text: &str) -> Rows {
    let row = |line: &str| {
        let mut words = line.split(',').map(str::to_owned);
        let mut next = || words.next();
        let (name, value, unit) = (next()?, next()?.parse().ok()?, next()?);
        let (other, other_value) = (next()?, next()?);
        let row = Row {
            value,
            unit,
            beside: other_value.parse().ok().map(|value| (other, value)),
            commit: next()?,
            cpu: next()?,
            cores: next()?,
            load: next()?,
        };
        Some((name, row))
    };
    text.lines().skip(1).filter_map(row).collect()
}

pub(super) fn csv(rows: &Rows) -> String {
    let mut text = format!("{HEADER}\n");
    for (name, row) in rows {
        let (other, other_value) = match &row.beside {
            Some((name, value)) => (name.as_str(), value.to_string()),
            None => ("", String::new()),
        };
        let Row {
            value,
            unit,
            commit,
            cpu,
            cores,
            load,
            ..
        } = row;
        // A `String` takes all that is written to it.
        let _ = writeln!(
            text,
            "{name},{value},{unit},{other},{other_value},{commit},{cpu},{cores},{load}"
        );
    }
    text
}

pub(super) fn readme(rows: &Rows) -> String {
    let machines: BTreeSet<String> = rows
        .values()
        .map(|row| format!("{} with {} cores", row.cpu, row.cores))
        .collect();
    let machines: Vec<String> = machines.into_iter().collect();
    let mut text = format!(
        "<!-- Made by `cargo xtask bench`; edit xtask/src/bench/table.rs instead. -->\n\
         # Speed\n\n\
         How fast is pagemill, and how far from its limit? `cargo xtask bench` measures every figure from a committed tree and makes this \
         table and `figures.csv` of them; with a word, only the figures whose names have it. *Beside* is a figure of the same run: a \
         hand-written loop, or the same work done in another way. *Times* is the figure over that one. CPU seconds are those of the \
         measuring thread.\n\n\
         Measured on: {}.\n\n\
         | Figure | Measured | Beside | Times | Commit |\n|---|---:|---:|---:|---|\n",
        machines.join("; ")
    );
    for (name, row) in rows {
        let (beside, times) = match &row.beside {
            Some((other, value)) => (
                format!("{other} {}", short(*value)),
                format!("{:.2}", row.value / value),
            ),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let (value, unit, commit) = (short(row.value), &row.unit, &row.commit);
        let _ = writeln!(
            text,
            "| {name} | {value} {unit} | {beside} | {times} | {commit} |"
        );
    }
    text
}

/// With three digits and a letter for thousands.
fn short(value: f64) -> String {
    let (scaled, letter) = match value {
        _ if value >= 1e9 => (value / 1e9, " G"),
        _ if value >= 1e6 => (value / 1e6, " M"),
        _ if value >= 1e3 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = match scaled {
        _ if scaled >= 100.0 => 0,
        _ if scaled >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.digits$}{letter}")
}
