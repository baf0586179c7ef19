//! How to run a program in less memory than it uses: its page faults, replayed under each setting of the pager.

use std::path::{Path, PathBuf};

use pagemill_linux::scratch::Scratch;
use pagemill_pager::Setup;
use pagemill_policy::paging::{Trace, TraceEvent};
use pagemill_report::table::{TableStyle, render};
use pagemill_report::{Column, ColumnKind, Fact, OutputDir, ResultSet, Row, Value};
use pagemill_run::{Outcome, PointError, RunOptions, available_cores, run_points};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{Scenario, load_given};

use super::AdviseArguments;
use crate::args::RunFormat;
use crate::failure::Failure;
use crate::output::{note, print_results, print_text, write_results};
use crate::pager::{probe, run};
use crate::shell::typed;

/// Page sizes that are compared, as far as four of them fit the memory. With the policies, this bounds the points.
const PAGE_SIZES_KIB: [u64; 3] = [64, 256, 2048];

const POLICIES: [&str; 2] = ["multi-range", "whole-page"];

const READ_AHEADS: [&str; 2] = ["streams", "none"];

/// The least that works with pages of 64 KiB.
const LEAST_BYTES: u64 = 512 << 10;

/// The name of the machine that was measured.
const HERE: &str = "here";

/// One run of the program with few frames.
struct Recorded {
    /// Where the page trace is.
    trace: PathBuf,
    faults: u64,
    memory_bytes: u64,
    /// Time that the page trace does not cover: the program's start, and what follows its last fault.
    rest_ns: u64,
    exit_code: Option<i32>,
}

/// Records the program, replays it under each setting, and runs it under the best.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
    let paging = &arguments.paging;
    let memory_bytes = paging.memory_bytes.unwrap_or_default();
    if let Some(out) = &arguments.program.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    let data = probe::data_kind(&paging.data)?;
    let place = place(arguments, &paging.stores[0]);
    let asked = Setup::new(memory_bytes, &place);
    asked.config().map_err(usage)?;
    drop(asked.store().map_err(usage)?);
    run::check_kernel()?;
    let library = run::library(paging.library.as_deref())?;
    let folder = Scratch::new("advise").map_err(|error| Failure::Run(error.to_string()))?;
    check_machine(arguments, folder.path())?;
    let recorded = record(arguments, &library, folder.path())?;
    let measured = match arguments.machine {
        Some(_) => None,
        None => {
            note(
                "pagemill: measuring what the pager costs on this computer, which takes about 20 s",
            );
            Some(probe::machine(data, &paging.folder)?)
        }
    };
    let scenario = scenario(arguments, &recorded.trace, measured.as_deref())?;
    let mut rows = replayed(&scenario, &recorded)?;
    check(arguments, &library, &recorded, &mut rows)?;
    let set = results(arguments, &recorded, rows, scenario.seed);
    if let Some(out) = &arguments.program.out {
        write_results(out, &set)?;
    }
    print(arguments, &set)
}

/// A machine that is not there is found out before the program runs.
fn check_machine(arguments: &AdviseArguments, folder: &Path) -> Result<(), Failure> {
    if arguments.machine.is_none() {
        return Ok(());
    }
    let path = folder.join("no-trace-yet");
    let failed = |error: std::io::Error| Failure::Run(format!("{}: {error}", path.display()));
    std::fs::write(&path, "").map_err(failed)?;
    let checked = scenario(arguments, &path, None).map(drop);
    std::fs::remove_file(&path).map_err(failed)?;
    checked
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// `store` as `pagemill pager run --to` takes it.
fn place(arguments: &AdviseArguments, store: &str) -> String {
    match store {
        "folder" => arguments.paging.folder.display().to_string(),
        other => other.to_owned(),
    }
}

/// Runs the program with few frames and nothing read ahead, which shows most of what it touches.
fn record(arguments: &AdviseArguments, library: &Path, folder: &Path) -> Result<Recorded, Failure> {
    let paging = &arguments.paging;
    let memory_bytes = paging.memory_bytes.unwrap_or_default();
    let memory_bytes = paging
        .record_bytes
        .unwrap_or(memory_bytes / 8)
        .max(LEAST_BYTES);
    let mut setup = Setup::new(memory_bytes, &place(arguments, &paging.stores[0]));
    setup.read_ahead = "none".to_owned();
    setup.record = Some(folder.join("trace"));
    note(&format!(
        "pagemill: recording the page faults of {} in {} KiB of frames",
        arguments.program.command[0],
        memory_bytes >> 10
    ));
    let (exit_code, row) = ran(arguments, &mut setup, library)?;
    let (trace, parsed) = largest_trace(folder)?;
    let is_fault = |event: &&TraceEvent| matches!(event, TraceEvent::Fault { .. });
    let faults = parsed.events.iter().filter(is_fault).count() as u64;
    if faults == 0 {
        return Err(no_memory(&arguments.program.command[0]));
    }
    let number = |name: &str| row.number(name).unwrap_or_default() as u64;
    Ok(Recorded {
        trace,
        faults,
        memory_bytes,
        rest_ns: number("time_ns").saturating_sub(number("recorded_ns")),
        exit_code,
    })
}

fn no_memory(program: &str) -> Failure {
    Failure::Run(format!(
        "{program} touched no memory that the pager takes (allocations of 128 KiB or more): it needs no pager"
    ))
}

/// Runs the program; its exit code, and what was counted.
fn ran(
    arguments: &AdviseArguments,
    setup: &mut Setup,
    library: &Path,
) -> Result<(Option<i32>, Row), Failure> {
    let command = &arguments.program.command;
    let ran = run::ran(setup, library.to_owned(), command, true)?;
    let status = ran.status.map_err(|error| {
        let program = &command[0];
        usage(format!(
            "cannot run {program}: {error}; name a program that this user can run"
        ))
    })?;
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Err(Failure::Run(format!(
            "{} was ended by signal {signal} under the pager; nothing was compared",
            command[0]
        )));
    }
    let row = ran.set.rows.into_iter().next().unwrap_or_default();
    Ok((status.code(), row))
}

/// The page trace with the most events, of those that the processes of a program left.
fn largest_trace(folder: &Path) -> Result<(PathBuf, Trace), Failure> {
    let failed = |error: std::io::Error| Failure::Run(format!("{}: {error}", folder.display()));
    let mut found: Vec<(PathBuf, Trace)> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let bytes = std::fs::read(&path).map_err(failed)?;
        // One that is cut off is of a process that was ended while it wrote.
        if let Ok(trace) = Trace::parse(&bytes) {
            found.push((path, trace));
        }
    }
    found.retain(|(_, trace)| !trace.events.is_empty());
    if found.len() > 1 {
        note(&format!(
            "warning: {} processes have paged memory; the page faults of the busiest are replayed",
            found.len()
        ));
    }
    let largest = found
        .into_iter()
        .max_by_key(|(_, trace)| trace.events.len());
    largest.ok_or_else(|| no_memory("the program"))
}

/// Every setting that is compared, as points of a scenario.
fn scenario(
    arguments: &AdviseArguments,
    trace: &Path,
    measured: Option<&str>,
) -> Result<Scenario, Failure> {
    let memory_bytes = arguments.paging.memory_bytes.unwrap_or_default();
    // A JSON string is a TOML string.
    let string = |text: &str| serde_json::Value::from(text).to_string();
    let text = format!(
        "title = {}\nkind = \"pager\"\nmachine = {}\n\n[workload]\nname = \"trace\"\nfile = {}\n\n[pager]\nmemory = \"{memory_bytes} B\"\n",
        string(&arguments.program.command.join(" ")),
        string(arguments.machine.as_deref().unwrap_or(HERE)),
        string(&trace.display().to_string()),
    );
    let sizes = PAGE_SIZES_KIB
        .into_iter()
        .filter(|kib| kib << 12 <= memory_bytes);
    let list = |names: Vec<String>| format!("[\"{}\"]", names.join("\", \""));
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let sets = [
        ("store", arguments.paging.stores.clone()),
        ("page_size", sizes.map(|kib| format!("{kib} KiB")).collect()),
        ("policy", owned(&POLICIES)),
        ("read_ahead", owned(&READ_AHEADS)),
    ]
    .map(|(key, names)| format!("pager.{key}={}", list(names)));
    let machines: Vec<_> = measured
        .map(|text| (HERE.to_owned(), SourceText::built_in("here.toml", text)))
        .into_iter()
        .collect();
    Ok(load_given(
        &SourceText::built_in("advise.toml", &text),
        &sets,
        &machines,
    )?)
}

/// A row for each setting, the fastest first.
fn replayed(scenario: &Scenario, recorded: &Recorded) -> Result<Vec<Row>, Failure> {
    let options = RunOptions::default();
    let outcomes = run_points(&scenario.points, available_cores(), &options, |_| {});
    let outcomes = outcomes.map_err(|(_, error)| match error {
        PointError::Refused(message) => Failure::Usage(message),
        error => Failure::Run(error.to_string()),
    })?;
    let mut rows: Vec<Row> = outcomes
        .iter()
        .map(|one| predicted(one, recorded))
        .collect();
    rows.sort_by(|a, b| {
        let time = |row: &Row| row.number("predicted_ns").unwrap_or_default();
        time(a).total_cmp(&time(b))
    });
    Ok(rows)
}

fn predicted(outcome: &Outcome, recorded: &Recorded) -> Row {
    let number = |name: &str| outcome.row.number(name).unwrap_or_default();
    let mut row = Row::new();
    for name in ["to", "page_bytes", "policy", "read_ahead"] {
        let value = outcome.row.get(name).cloned();
        row = row.parameter(name, value.unwrap_or(Value::Text(String::new())));
    }
    let faults = number("read_faults") + number("write_faults");
    row.metric(
        "predicted_ns",
        number("time_ns").round() as u64 + recorded.rest_ns,
    )
    .metric("faults", faults as u64)
    .metric("fetched_bytes", number("fetched_bytes") as u64)
    .metric("written_bytes", number("written_bytes") as u64)
}

/// Runs the program under the first settings.
fn check(
    arguments: &AdviseArguments,
    library: &Path,
    recorded: &Recorded,
    rows: &mut [Row],
) -> Result<(), Failure> {
    for row in rows.iter_mut().take(arguments.paging.checks) {
        let mut setup = setup_of(arguments, row);
        note(&format!(
            "pagemill: running `{}`",
            command_of(arguments, &setup)
        ));
        let (exit_code, measured) = ran(arguments, &mut setup, library)?;
        if exit_code != recorded.exit_code {
            return Err(Failure::Run(format!(
                "{} ended with exit code {} after {} while it was recorded: it does not do the same in every run",
                arguments.program.command[0],
                exit_code.unwrap_or_default(),
                recorded.exit_code.unwrap_or_default()
            )));
        }
        let measured_ns = measured.number("time_ns").unwrap_or_default();
        let predicted_ns = row.number("predicted_ns").unwrap_or_default();
        let with_measured = std::mem::take(row)
            .metric("measured_ns", measured_ns as u64)
            .metric(
                "predicted_over_measured",
                predicted_ns / measured_ns.max(1.0),
            );
        *row = with_measured;
    }
    Ok(())
}

fn setup_of(arguments: &AdviseArguments, row: &Row) -> Setup {
    let text = |name: &str| row.get(name).map_or_else(String::new, ToString::to_string);
    let memory_bytes = arguments.paging.memory_bytes.unwrap_or_default();
    let mut setup = Setup::new(memory_bytes, &place(arguments, &text("to")));
    setup.page_bytes = row.number("page_bytes").unwrap_or_default() as u64;
    setup.policy = text("policy");
    setup.read_ahead = text("read_ahead");
    setup
}

/// What a user types for a setting.
fn command_of(arguments: &AdviseArguments, setup: &Setup) -> String {
    let words = arguments.program.command.iter();
    let words: Vec<String> = words.map(|word| typed(word)).collect();
    format!(
        "pagemill pager run --memory {}KiB --to {} --page-size {}KiB --policy {} --read-ahead {} -- {}",
        setup.budget_bytes >> 10,
        typed(&setup.to),
        setup.page_bytes >> 10,
        setup.policy,
        setup.read_ahead,
        words.join(" ")
    )
}

/// The largest difference between a prediction and its measurement, as a share of the latter.
fn error_to_expect(rows: &[Row]) -> Option<f64> {
    let ratios = rows
        .iter()
        .filter_map(|row| row.number("predicted_over_measured"));
    ratios.map(|ratio| (ratio - 1.0).abs()).reduce(f64::max)
}

fn results(
    arguments: &AdviseArguments,
    recorded: &Recorded,
    rows: Vec<Row>,
    seed: u64,
) -> ResultSet {
    use ColumnKind::{Bytes, Count, Rate, Ratio, Text, TimeNs};
    let fact = |name: &str, value: Value, kind, doc: &str| Fact {
        name: name.to_owned(),
        value,
        kind,
        doc: doc.to_owned(),
    };
    let mut set = ResultSet {
        scenario: "pager-advise".to_owned(),
        title: format!("{} in less memory", arguments.program.command.join(" ")),
        about:
            "Predicted: page faults of one recorded run, replayed with the costs of this computer."
                .to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        columns: vec![
            Column::parameter("to", Text, "the store"),
            Column::parameter("page_bytes", Bytes, "what is evicted as one"),
            Column::parameter("policy", Text, "migration policy"),
            Column::parameter("read_ahead", Text, "read-ahead policy"),
            Column::metric(
                "predicted_ns",
                TimeNs,
                "from the program's start to its end",
            ),
            Column::metric("faults", Count, "page faults"),
            Column::metric("fetched_bytes", Bytes, "bytes read from the store"),
            Column::metric("written_bytes", Bytes, "bytes written to the store"),
            Column::metric("measured_ns", TimeNs, "time of a run under this setting"),
            Column::metric("predicted_over_measured", Ratio, "the prediction over it"),
        ],
        ..ResultSet::default()
    };
    set.summary.facts = vec![
        fact(
            "recorded_faults",
            recorded.faults.into(),
            Count,
            "page faults of the recorded run",
        ),
        fact(
            "recorded_memory_bytes",
            recorded.memory_bytes.into(),
            Bytes,
            "frames of the recorded run",
        ),
        fact(
            "rest_ns",
            recorded.rest_ns.into(),
            TimeNs,
            "time that the page trace does not cover, in every prediction",
        ),
    ];
    if let Some(error) = error_to_expect(&rows) {
        let doc = "largest difference between a prediction and its run, over the run";
        let expected = fact("error_to_expect", error.into(), Rate, doc);
        set.summary.facts.push(expected);
    }
    set.rows = rows;
    set
}

fn print(arguments: &AdviseArguments, set: &ResultSet) -> Result<(), Failure> {
    if arguments.format != RunFormat::Table {
        return print_results(set, arguments.format);
    }
    let mut shown = set.clone();
    shown.summary.facts.clear();
    let Some(best) = set.rows.first() else {
        return Ok(());
    };
    let error = match error_to_expect(&set.rows) {
        Some(error) => format!(
            "{:.0} %, as measured on {} of these settings",
            error * 100.0,
            checked(set)
        ),
        None => "not measured: --checks 1 measures it".to_owned(),
    };
    print_text(&format!(
        "{}\n\nFastest: {}\nError to expect: {error}\n",
        render(&shown, &TableStyle::for_stdout()).trim_end(),
        command_of(arguments, &setup_of(arguments, best)),
    ))
}

fn checked(set: &ResultSet) -> usize {
    let measured = |row: &&Row| row.number("measured_ns").is_some();
    set.rows.iter().filter(measured).count()
}
