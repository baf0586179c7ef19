//! The program on other machines and with other factors, as it is and with the calls that are advised.

use pagemill_report::{Column, ColumnKind, ResultSet, Row, Value};
use pagemill_run::advisor::{Answer, Configuration, capacity, time_ns};
use pagemill_scenario::MACHINES;

use super::arguments::ProgramArguments;
use super::question::{failure, point, scenario};
use crate::failure::Failure;
use crate::output::note;

/// The value of the column `table` in these rows.
pub const MACHINE_ROW: &str = "machine";
/// Factors where none are named.
const FACTORS: [f64; 3] = [1.0, 1.5, 2.0];
/// The program with everything on the GPU.
const FITS: f64 = 1.0;

const COLUMNS: [(&str, ColumnKind, &str); 6] = [
    (
        "oversubscription",
        ColumnKind::Ratio,
        "the program's peak over GPU memory",
    ),
    ("capacity_bytes", ColumnKind::Bytes, "GPU memory"),
    (
        "time_before_ns",
        ColumnKind::TimeNs,
        "the program without it, changes kept before included",
    ),
    ("time_ns", ColumnKind::TimeNs, "the program with it"),
    (
        "slowdown",
        ColumnKind::Ratio,
        "time_ns over the time with all data on the GPU",
    ),
    (
        "verdict",
        ColumnKind::Text,
        "kept: part of the advice; otherwise why not",
    ),
];

/// Adds a row for each machine and factor.
pub fn add(
    arguments: &ProgramArguments,
    machine: &str,
    answer: &Answer,
    set: &mut ResultSet,
) -> Result<(), Failure> {
    for machine in names(arguments, machine)? {
        add_machine(arguments, &machine, answer, set)?;
    }
    if !set.columns.iter().any(|column| column.name == "machine") {
        let machine = Column::parameter("machine", ColumnKind::Text, "the machine");
        set.columns.insert(1, machine);
    }
    for (name, kind, doc) in COLUMNS {
        if !set.columns.iter().any(|column| column.name == name) {
            set.columns.push(Column::metric(name, kind, doc));
        }
    }
    Ok(())
}

/// The machines to run on: those that are named, or the one of the question.
fn names(arguments: &ProgramArguments, machine: &str) -> Result<Vec<String>, Failure> {
    match arguments.machines.as_slice() {
        [] => Ok(vec![machine.to_owned()]),
        [all] if all == "all" => driven(),
        names => Ok(names.to_vec()),
    }
}

/// The built-in machines that have a driver.
pub fn driven() -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for machine in MACHINES {
        if machine.head()?.kind == "gpu" && machine.text.contains("\n[driver]\n") {
            names.push(machine.name.to_owned());
        }
    }
    Ok(names)
}

fn add_machine(
    arguments: &ProgramArguments,
    machine: &str,
    answer: &Answer,
    set: &mut ResultSet,
) -> Result<(), Failure> {
    let run = |factor: f64, configuration: &Configuration| -> Result<(u64, u64), Failure> {
        let whole = scenario(arguments, machine, "")?;
        let page_bytes = point(&whole)?.transfer.page.bytes();
        let bytes = capacity(answer, factor, page_bytes).map_err(Failure::Usage)?;
        let limited = scenario(arguments, machine, &format!("gpu_memory = \"{bytes} B\"\n"))?;
        let time = time_ns(point(&limited)?, configuration).map_err(failure)?;
        Ok((bytes, time))
    };
    note(&format!("pagemill: running the program on {machine}"));
    let (_, fits_ns) = run(FITS, &Configuration::default())?;
    let factors = match arguments.factors.as_slice() {
        [] => &FACTORS,
        factors => factors,
    };
    let mut bearable: Option<f64> = None;
    for &factor in factors {
        let (bytes, before_ns) = run(factor, &Configuration::default())?;
        let (_, after_ns) = run(factor, &answer.best)?;
        let slowdown = after_ns as f64 / fits_ns.max(1) as f64;
        let is_bearable = slowdown <= arguments.bearable;
        if is_bearable {
            bearable = Some(bearable.map_or(factor, |known| known.max(factor)));
        }
        let verdict = if is_bearable { "bearable" } else { "too slow" };
        let row = Row::new()
            .parameter("table", MACHINE_ROW)
            .parameter("machine", machine)
            .parameter("allocation", "")
            .parameter("change", "")
            .metric("oversubscription", answer.peak_bytes as f64 / bytes as f64)
            .metric("capacity_bytes", bytes)
            .metric("time_before_ns", before_ns)
            .metric("time_ns", after_ns)
            .metric("speedup", before_ns as f64 / after_ns.max(1) as f64)
            .metric("slowdown", slowdown)
            .metric("verdict", verdict);
        set.rows.push(row);
    }
    let most = arguments.bearable;
    set.about += &match bearable {
        Some(factor) => format!(
            "\n{machine}: factor {factor} is bearable, within {most} times the time with all data on the GPU."
        ),
        None => format!(
            "\n{machine}: no factor that was tried is within {most} times the time with all data on the GPU."
        ),
    };
    Ok(())
}

/// The rows of machines with the columns that they fill.
pub fn table(set: &ResultSet) -> ResultSet {
    let mut table = set.clone();
    let is_shown = |name: &str| {
        matches!(name, "machine" | "speedup") || COLUMNS.iter().any(|(column, ..)| *column == name)
    };
    table
        .rows
        .retain(|row| row.get("table") == Some(&Value::from(MACHINE_ROW)));
    table.columns.retain(|column| is_shown(&column.name));
    for row in &mut table.rows {
        row.parameters.retain(|(name, _)| is_shown(name));
        row.metrics.retain(|(name, _)| is_shown(name));
    }
    table.title = "Machines and factors, as it is and with the calls".to_owned();
    table
}
