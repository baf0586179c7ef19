//! The program on other machines and with other factors, as it is and with the calls that are advised.

use pagemill_report::ColumnKind::{Bytes, Ratio, Text, TimeNs};
use pagemill_report::metric::{self, Metric};
use pagemill_report::{Column, ResultSet, Row};
use pagemill_run::advisor::{Answer, Configuration, capacity, time_ns};
use pagemill_scenario::MACHINES;

use super::arguments::ProgramArguments;
use super::question::{failure, point, scenario};
use crate::cuda::memory_keys;
use crate::failure::Failure;
use crate::output::note;

/// The value of the column `table` in these rows.
pub const MACHINE_ROW: &str = "machine";
/// Factors where none are named.
const FACTORS: [f64; 3] = [1.0, 1.5, 2.0];
/// The program with everything on the GPU.
const FITS: f64 = 1.0;

/// The program with a factor of its peak over GPU memory.
struct Ran {
    peak_bytes: u64,
    capacity_bytes: u64,
    before_ns: u64,
    after_ns: u64,
    /// With all data on the GPU.
    fits_ns: u64,
    verdict: &'static str,
}

impl Ran {
    fn slowdown(&self) -> f64 {
        self.after_ns as f64 / self.fits_ns.max(1) as f64
    }
}

#[rustfmt::skip]
const RAN: &[Metric<Ran>] = &[
    Metric::new("oversubscription", Ratio, "the program's peak over GPU memory", |ran| (ran.peak_bytes as f64 / ran.capacity_bytes as f64).into()),
    Metric::new("capacity_bytes", Bytes, "GPU memory", |ran| ran.capacity_bytes.into()),
    Metric::new("time_before_ns", TimeNs, "the program without it, changes kept before included", |ran| ran.before_ns.into()),
    Metric::new("time_ns", TimeNs, "the program with it", |ran| ran.after_ns.into()),
    Metric::new("speedup", Ratio, "time_before_ns over time_ns", |ran| (ran.before_ns as f64 / ran.after_ns.max(1) as f64).into()),
    Metric::new("slowdown", Ratio, "time_ns over the time with all data on the GPU", |ran| ran.slowdown().into()),
    Metric::new("verdict", Text, "kept: part of the advice; otherwise why not", |ran| ran.verdict.into()),
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
        let machine = Column::parameter("machine", Text, "the machine");
        set.columns.insert(1, machine);
    }
    for column in metric::columns(RAN) {
        if !set.columns.iter().any(|known| known.name == column.name) {
            set.columns.push(column);
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
fn driven() -> Result<Vec<String>, Failure> {
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
        let memory = memory_keys(arguments.managed, None, Some(bytes));
        let limited = scenario(arguments, machine, &memory)?;
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
        let (capacity_bytes, before_ns) = run(factor, &Configuration::default())?;
        let (_, after_ns) = run(factor, &answer.best)?;
        let mut ran = Ran {
            peak_bytes: answer.peak_bytes,
            capacity_bytes,
            before_ns,
            after_ns,
            fits_ns,
            verdict: "too slow",
        };
        if ran.slowdown() <= arguments.bearable {
            ran.verdict = "bearable";
            bearable = Some(bearable.map_or(factor, |known| known.max(factor)));
        }
        let row = Row::new()
            .parameter("table", MACHINE_ROW)
            .parameter("machine", machine)
            .parameter("allocation", "")
            .parameter("change", "");
        set.rows.push(metric::add(row, RAN, &ran));
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
    let filled = metric::columns(RAN);
    let mut shown: Vec<&str> = filled.iter().map(|column| column.name.as_str()).collect();
    shown.push("machine");
    let mut table = set.part("table", MACHINE_ROW, &shown);
    table.title = "Machines and factors, as it is and with the calls".to_owned();
    table
}
