//! `pagemill gpu run`: a program with the hints of a file, and what became of each.

use std::path::Path;

use pagemill_gpu::{FrontReport, HintCall, Hints, Outcome};
use pagemill_report::{Column, ColumnKind, ResultSet, Row};

use super::arguments::GpuRunArguments;
use super::front::{Ran, Watched, run_in_front, show};
use crate::failure::Failure;
use crate::output::{check_out, note};

/// Values of the column `table`.
const PROCESS_ROW: &str = "process";
const HINT_ROW: &str = "hint";

/// Runs the program, says what became of the hints, and ends as the program did.
pub fn run(arguments: &GpuRunArguments) -> Result<(), Failure> {
    check_out(arguments.shown.out.as_deref())?;
    let hints = arguments.hints.as_deref().map(read).transpose()?;
    let (shown, command) = (&arguments.shown, &arguments.shown.command);
    let (managed, watched) = (arguments.managed, Watched::beside(shown.format));
    let ran = run_in_front(command, hints.as_ref(), managed, watched)?;
    if ran.reports.is_empty() {
        return without_report(&command[0], &ran);
    }
    for text in ran.reports.iter().flat_map(|report| &report.failed) {
        note(&format!("pagemill: {text}"));
    }
    show(shown, &result_set(command, hints.as_ref(), &ran.reports))?;
    match (ran.exit_code, hints) {
        (0, Some(hints)) => all_made(&hints, &ran.reports),
        (0, None) => Ok(()),
        (code, _) => Err(Failure::Program(code)),
    }
}

/// Reads a file of hints.
fn read(path: &Path) -> Result<Hints, Failure> {
    let told = |error: String| Failure::Usage(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| told(error.to_string()))?;
    Hints::parse(&text).map_err(told)
}

fn without_report(program: &str, ran: &Ran) -> Result<(), Failure> {
    match ran.exit_code {
        0 => Err(Failure::Run(format!(
            "{program} ended without a report: it made no call to the CUDA driver that can be seen, or ended by _exit. Its output is its \
             own, and no hint was given"
        ))),
        code => {
            note(
                "pagemill: the program left no report: it ended early, or made no call to the CUDA driver that can be seen",
            );
            Err(Failure::Program(code))
        }
    }
}

/// Fails if some hint was made in no process, so that a time with a part of them does not pass for one with all.
fn all_made(hints: &Hints, reports: &[FrontReport]) -> Result<(), Failure> {
    let is_made = |call: &usize| {
        let mut outcomes = reports
            .iter()
            .filter_map(|report| report.outcomes.get(*call));
        outcomes.any(|outcome| *outcome == Outcome::Made)
    };
    let all = hints.calls.len();
    let made = (0..all).filter(is_made).count();
    if made == all {
        return Ok(());
    }
    Err(Failure::Run(format!(
        "the program ran, and {} of the {all} calls of the hints were not made: the rows say why. Find hints for this build and these \
         arguments by pagemill advise program --hints FILE",
        all - made
    )))
}

/// Rows of processes, then of hints in each.
fn result_set(command: &[String], hints: Option<&Hints>, reports: &[FrontReport]) -> ResultSet {
    let mut rows: Vec<Row> = reports.iter().map(process_row).collect();
    for report in reports {
        let calls = hints
            .into_iter()
            .flat_map(|hints| hints.calls.iter().map(move |call| (hints, call)));
        let made = calls.zip(&report.outcomes);
        rows.extend(made.map(|((hints, call), outcome)| hint_row(report, hints, call, outcome)));
    }
    let made = rows
        .iter()
        .filter(|row| row.get("outcome") == Some(&"made".into()))
        .count();
    ResultSet {
        scenario: "gpu".to_owned(),
        title: format!("{} on this machine's GPU", command.join(" ")),
        about: match hints {
            Some(hints) => format!(
                "{made} of {} calls of the hints were made.",
                hints.calls.len() * reports.len()
            ),
            None => "No hints were given.".to_owned(),
        },
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        columns: columns(),
        rows,
        ..ResultSet::default()
    }
}

fn columns() -> Vec<Column> {
    use ColumnKind::{Bytes, Count, Text, TimeNs};
    let parameters = [
        (
            "table",
            Text,
            "a process of the program, or a call of the hints in it",
        ),
        ("process", Text, "its number"),
        ("allocation", Text, "what the call is for"),
        ("call", Text, "what was asked of the driver"),
    ];
    let metrics = [
        (
            "allocations",
            Count,
            "managed allocations that the process made",
        ),
        (
            "launches",
            Count,
            "kernels that it launched, those of graphs left out",
        ),
        (
            "gpu_ns",
            TimeNs,
            "from its first launch, and what was copied for it, to the end of its last launch, wait or free: measured by the host's clock",
        ),
        (
            "before_launch",
            Count,
            "the launch before which the call was made; right after the allocation if there is none",
        ),
        ("bytes", Bytes, "what it is about"),
        ("outcome", Text, "made, or why not"),
    ];
    let parameters = parameters.map(|(name, kind, doc)| Column::parameter(name, kind, doc));
    let metrics = metrics.map(|(name, kind, doc)| Column::metric(name, kind, doc));
    parameters.into_iter().chain(metrics).collect()
}

fn identity(table: &str, report: &FrontReport, allocation: &str, call: &str) -> Row {
    Row::new()
        .parameter("table", table)
        .parameter("process", report.process.to_string())
        .parameter("allocation", allocation)
        .parameter("call", call)
}

fn process_row(report: &FrontReport) -> Row {
    identity(PROCESS_ROW, report, "", "")
        .metric("allocations", report.allocations.len())
        .metric("launches", report.launches)
        .metric("gpu_ns", report.gpu_ns)
}

fn hint_row(report: &FrontReport, hints: &Hints, call: &HintCall, outcome: &Outcome) -> Row {
    let mut known = hints.allocations.iter();
    let allocation = known.find(|allocation| allocation.number == call.allocation);
    let name = allocation.map_or("", |allocation| allocation.name.as_str());
    let bytes = match call.ranges.as_slice() {
        [] => allocation.map_or(0, |allocation| allocation.bytes),
        ranges => ranges.iter().map(|[start, end]| end - start).sum(),
    };
    let outcome = match outcome {
        Outcome::Made => "made",
        Outcome::NotReached => "its allocation or launch was not reached",
        Outcome::LeftOut(reason) => reason,
    };
    let row = identity(HINT_ROW, report, name, &call.action.to_string())
        .metric("bytes", bytes)
        .metric("outcome", outcome);
    match call.before_launch {
        Some(launch) => row.metric("before_launch", u64::from(launch)),
        None => row,
    }
}
