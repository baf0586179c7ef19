//! How to run a program in less memory than it uses: its page faults, replayed under each setting of the pager.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use pagemill_linux::children::{AtKill, measure};
use pagemill_linux::process::Usage;
use pagemill_linux::scratch::Scratch;
use pagemill_pager::Setup;
use pagemill_policy::paging::{Trace, TraceEvent};
use pagemill_report::ColumnKind::{Bytes, Count, Rate, Ratio, Text, TimeNs};
use pagemill_report::metric::{self, Metric};
use pagemill_report::table::{TableStyle, render};
use pagemill_report::{Column, Fact, ResultSet, Row, human};
use pagemill_run::{Outcome, RunOptions, available_cores, run_points};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{Scenario, load_given};

use super::arguments::PagerArguments;
use super::question::failure;
use crate::failure::Failure;
use crate::output::{note, print_text};
use crate::pager::{probe, run};
use crate::shell::typed;

/// Page sizes that are compared, as far as four of them fit the memory. With the policies, this bounds the points.
const PAGE_SIZES_KIB: [u64; 3] = [64, 256, 2048];

const POLICIES: [&str; 2] = ["multi-range", "whole-page"];

const READ_AHEADS: [&str; 2] = ["streams", "none"];

/// The least that works with pages of 64 KiB.
const LEAST_BYTES: u64 = 512 << 10;

/// Predictions that are further from their runs than this are no ground for advice.
const MOST_ERROR: f64 = 0.25;

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

/// Records the program, replays it under each setting, and runs it without a pager, as `pagemill pager run` does by itself, and under the
/// best.
pub fn advise(arguments: &PagerArguments) -> Result<(), Failure> {
    arguments.results.check()?;
    let data = probe::data_kind(&arguments.data)?;
    let place = place(arguments, &arguments.stores[0]);
    let asked = Setup::new(arguments.memory_bytes, &place);
    asked.config().map_err(usage)?;
    drop(asked.store().map_err(usage)?);
    run::check_kernel()?;
    let library = run::library(arguments.library.as_deref())?;
    let folder = Scratch::new("advise").map_err(|error| Failure::Run(error.to_string()))?;
    check_machine(arguments, folder.path())?;
    let plain = match arguments.checks {
        0 => None,
        _ => Some(run_plainly(arguments)?),
    };
    let recorded = record(arguments, &library, folder.path())?;
    if let Some((status, _)) = &plain {
        check_status(arguments, *status, "without a pager", &recorded)?;
    }
    let measured = match arguments.machine {
        Some(_) => None,
        None => {
            note(
                "pagemill: measuring what the pager costs on this computer, which takes about 20 s",
            );
            Some(probe::machine(data, &arguments.folder)?)
        }
    };
    let scenario = scenario(arguments, &recorded.trace, measured.as_deref())?;
    let mut candidates = replayed(arguments, &scenario, &recorded)?;
    check(arguments, &library, &recorded, &mut candidates)?;
    let plain = plain.map(|(_, usage)| usage);
    let set = results(arguments, &recorded, plain, &candidates, scenario.seed);
    arguments
        .results
        .hand_over(&set, || print(arguments, &set, plain, &candidates))
}

/// A machine that is not there is found out before the program runs.
fn check_machine(arguments: &PagerArguments, folder: &Path) -> Result<(), Failure> {
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
fn place(arguments: &PagerArguments, store: &str) -> String {
    match store {
        "folder" => arguments.folder.display().to_string(),
        other => other.to_owned(),
    }
}

/// Runs the program with few frames and nothing read ahead, which shows most of what it touches.
fn record(arguments: &PagerArguments, library: &Path, folder: &Path) -> Result<Recorded, Failure> {
    let memory_bytes = arguments
        .record_bytes
        .unwrap_or(arguments.memory_bytes / 8)
        .max(LEAST_BYTES);
    let mut setup = Setup::new(memory_bytes, &place(arguments, &arguments.stores[0]));
    setup.read_ahead = "none".to_owned();
    setup.record = Some(folder.join("trace"));
    note(&format!(
        "pagemill: recording the page faults of {} in {} KiB of frames",
        arguments.command[0],
        memory_bytes >> 10
    ));
    let (status, row) = ran(arguments, &mut setup, library)?;
    let (trace, parsed) = largest_trace(folder)?;
    let is_fault = |event: &&TraceEvent| matches!(event, TraceEvent::Fault { .. });
    let faults = parsed.events.iter().filter(is_fault).count() as u64;
    if faults == 0 {
        return Err(no_memory(&arguments.command[0]));
    }
    let number = |name: &str| row.number(name).unwrap_or_default() as u64;
    Ok(Recorded {
        trace,
        faults,
        memory_bytes,
        rest_ns: number("time_ns").saturating_sub(number("recorded_ns")),
        exit_code: status.code(),
    })
}

fn no_memory(program: &str) -> Failure {
    Failure::Run(format!(
        "{program} touched no memory that the pager takes (allocations of 128 KiB or more): it needs no pager"
    ))
}

/// Runs the program; how it ended, and what was counted.
fn ran(
    arguments: &PagerArguments,
    setup: &mut Setup,
    library: &Path,
) -> Result<(ExitStatus, Row), Failure> {
    let command = &arguments.command;
    let ran = run::ran(setup, library.to_owned(), command, true, None)?;
    let status = ran
        .status
        .map_err(|error| cannot_run(&command[0], &error))?;
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Err(Failure::Run(format!(
            "{} was ended by signal {signal} under the pager; nothing was compared",
            command[0]
        )));
    }
    let row = ran.set.rows.into_iter().next().unwrap_or_default();
    Ok((status, row))
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
    arguments: &PagerArguments,
    trace: &Path,
    measured: Option<&str>,
) -> Result<Scenario, Failure> {
    let memory_bytes = arguments.memory_bytes;
    // A JSON string is a TOML string.
    let string = |text: &str| serde_json::Value::from(text).to_string();
    let text = format!(
        "title = {}\nkind = \"pager\"\nmachine = {}\n\n[workload]\nname = \"trace\"\nfile = {}\n\n[pager]\nmemory = \"{memory_bytes} B\"\n",
        string(&arguments.command.join(" ")),
        string(arguments.machine.as_deref().unwrap_or(HERE)),
        string(&trace.display().to_string()),
    );
    let sizes = PAGE_SIZES_KIB
        .into_iter()
        .filter(|kib| kib << 12 <= memory_bytes);
    let list = |names: Vec<String>| format!("[\"{}\"]", names.join("\", \""));
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let sets = [
        ("store", arguments.stores.clone()),
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
        &SourceText::of_options("advise", &text),
        &sets,
        &machines,
    )?)
}

/// A setting of the pager.
struct Candidate {
    setup: Setup,
    /// What the replay says of it.
    predicted_ns: u64,
    faults: u64,
    fetched_bytes: u64,
    written_bytes: u64,
    /// Time and peak memory of the program under it, if it was run.
    measured: Option<(u64, u64)>,
}

impl Candidate {
    fn new(arguments: &PagerArguments, outcome: &Outcome, recorded: &Recorded) -> Self {
        let number = |name: &str| outcome.row.number(name).unwrap_or_default();
        let text = |name: &str| {
            let value = outcome.row.get(name);
            value.map_or_else(String::new, ToString::to_string)
        };
        let mut setup = Setup::new(arguments.memory_bytes, &text("to"));
        setup.page_bytes = number("page_bytes") as u64;
        setup.policy = text("policy");
        setup.read_ahead = text("read_ahead");
        Self {
            setup,
            predicted_ns: number("time_ns").round() as u64 + recorded.rest_ns,
            faults: (number("read_faults") + number("write_faults")) as u64,
            fetched_bytes: number("fetched_bytes") as u64,
            written_bytes: number("written_bytes") as u64,
            measured: None,
        }
    }

    /// The prediction over the measurement.
    fn ratio(&self) -> Option<f64> {
        let (time_ns, _) = self.measured?;
        Some(self.predicted_ns as f64 / (time_ns as f64).max(1.0))
    }

    fn row(&self) -> Row {
        let row = Row::new()
            .parameter("to", self.setup.to.as_str())
            .parameter("page_bytes", self.setup.page_bytes)
            .parameter("policy", self.setup.policy.as_str())
            .parameter("read_ahead", self.setup.read_ahead.as_str());
        metric::add(row, METRICS, self)
    }

    /// The same with the folder that the store is in.
    fn placed(&self, arguments: &PagerArguments) -> Setup {
        Setup {
            to: place(arguments, &self.setup.to),
            ..self.setup.clone()
        }
    }
}

#[rustfmt::skip]
const METRICS: &[Metric<Candidate>] = &[
    Metric::new("predicted_ns", TimeNs, "from the program's start to its end", |one| one.predicted_ns.into()),
    Metric::new("faults", Count, "page faults", |one| one.faults.into()),
    Metric::new("fetched_bytes", Bytes, "bytes read from the store", |one| one.fetched_bytes.into()),
    Metric::new("written_bytes", Bytes, "bytes written to the store", |one| one.written_bytes.into()),
    Metric::sometimes("measured_ns", TimeNs, "time of a run under this setting", |one| Some(one.measured?.0.into())),
    Metric::sometimes("predicted_over_measured", Ratio, "the prediction over it", |one| Some(one.ratio()?.into())),
    Metric::sometimes("peak_bytes", Bytes, "most memory that one of its processes had at once in this run, a store in memory included", |one| Some(one.measured?.1.into())),
];

/// Every setting, the fastest first.
fn replayed(
    arguments: &PagerArguments,
    scenario: &Scenario,
    recorded: &Recorded,
) -> Result<Vec<Candidate>, Failure> {
    let options = RunOptions::default();
    let outcomes = run_points(&scenario.points, available_cores(), &options, |_| {});
    let outcomes = outcomes.map_err(|(_, error)| failure(error))?;
    let candidates = outcomes.iter();
    let mut candidates: Vec<Candidate> = candidates
        .map(|one| Candidate::new(arguments, one, recorded))
        .collect();
    candidates.sort_by_key(|one| one.predicted_ns);
    Ok(candidates)
}

/// Runs the program as it is.
fn run_plainly(arguments: &PagerArguments) -> Result<(ExitStatus, Usage), Failure> {
    let command = &arguments.command;
    let mut fastest: Option<(ExitStatus, Usage)> = None;
    for number in 1..=arguments.runs {
        let of = arguments.runs;
        note(&format!(
            "pagemill: running {} without a pager, {number} of {of}",
            command[0]
        ));
        let mut plain = Command::new(&command[0]);
        plain
            .args(&command[1..])
            .stdout(Stdio::from(std::io::stderr()));
        let (status, mut usage) = measure(&mut plain, AtKill::Terminate)
            .map_err(|error| cannot_run(&command[0], &error))?;
        if let Some((_, best)) = fastest.as_ref() {
            usage.wall_ns = usage.wall_ns.min(best.wall_ns);
            usage.peak_bytes = usage.peak_bytes.max(best.peak_bytes);
        }
        fastest = Some((status, usage));
    }
    // There is one run at least.
    Ok(fastest.unwrap_or_default())
}

fn cannot_run(program: &str, error: &std::io::Error) -> Failure {
    usage(format!(
        "cannot run {program}: {error}; name a program that this user can run"
    ))
}

/// A program that ends otherwise does something else.
fn check_status(
    arguments: &PagerArguments,
    status: ExitStatus,
    how: &str,
    recorded: &Recorded,
) -> Result<(), Failure> {
    if status.code() == recorded.exit_code {
        return Ok(());
    }
    let shown = |code: Option<i32>| code.map_or("a signal".to_owned(), |code| code.to_string());
    Err(Failure::Run(format!(
        "{} ended with exit code {} {how}, and with {} while it was recorded: it does not do the same in every run",
        arguments.command[0],
        shown(status.code()),
        shown(recorded.exit_code)
    )))
}

/// Runs the program under the first settings, and under what `pagemill pager run` has by itself.
fn check(
    arguments: &PagerArguments,
    library: &Path,
    recorded: &Recorded,
    candidates: &mut [Candidate],
) -> Result<(), Failure> {
    let checks = arguments.checks;
    for (index, one) in candidates.iter_mut().enumerate() {
        let mut setup = one.placed(arguments);
        if index >= checks && (checks == 0 || !is_usual(arguments, &setup)) {
            continue;
        }
        let command = command_of(arguments, &setup);
        let (mut time_ns, mut peak_bytes) = (u64::MAX, 0);
        for number in 1..=arguments.runs {
            let of = arguments.runs;
            note(&format!("pagemill: running `{command}`, {number} of {of}"));
            let (status, measured) = ran(arguments, &mut setup, library)?;
            check_status(arguments, status, "under this setting", recorded)?;
            let number = |name| measured.number(name).unwrap_or_default() as u64;
            time_ns = time_ns.min(number("time_ns"));
            peak_bytes = peak_bytes.max(number("peak_bytes"));
        }
        one.measured = Some((time_ns, peak_bytes));
    }
    Ok(())
}

/// Whether it is what `pagemill pager run` has by itself, with the first store.
fn is_usual(arguments: &PagerArguments, setup: &Setup) -> bool {
    let store = place(arguments, &arguments.stores[0]);
    let usual = Setup::new(setup.budget_bytes, &store);
    command_of(arguments, setup) == command_of(arguments, &usual)
}

/// What a user types for a setting.
fn command_of(arguments: &PagerArguments, setup: &Setup) -> String {
    let words = arguments.command.iter();
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
fn error_to_expect(candidates: &[Candidate]) -> Option<f64> {
    let ratios = candidates.iter().filter_map(Candidate::ratio);
    ratios.map(|ratio| (ratio - 1.0).abs()).reduce(f64::max)
}

#[rustfmt::skip]
fn facts(recorded: &Recorded, plain: Option<Usage>, candidates: &[Candidate]) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("recorded_faults", recorded.faults, Count, "page faults of the recorded run"),
        Fact::new("recorded_memory_bytes", recorded.memory_bytes, Bytes, "frames of the recorded run"),
        Fact::new("rest_ns", recorded.rest_ns, TimeNs, "time that the page trace does not cover, in every prediction"),
    ];
    facts.extend(plain.into_iter().flat_map(|plain| [
        Fact::new("plain_ns", plain.wall_ns, TimeNs, "time of a run without a pager"),
        Fact::new("plain_peak_bytes", plain.peak_bytes, Bytes, "most memory that one of its processes had at once without a pager"),
    ]));
    facts.extend(error_to_expect(candidates).map(|error| {
        Fact::new("error_to_expect", error, Rate, "largest difference between a prediction and its run, over the run")
    }));
    facts
}

fn results(
    arguments: &PagerArguments,
    recorded: &Recorded,
    plain: Option<Usage>,
    candidates: &[Candidate],
    seed: u64,
) -> ResultSet {
    let mut columns = vec![
        Column::parameter("to", Text, "the store"),
        Column::parameter("page_bytes", Bytes, "what is evicted as one"),
        Column::parameter("policy", Text, "migration policy"),
        Column::parameter("read_ahead", Text, "read-ahead policy"),
    ];
    columns.extend(metric::columns(METRICS));
    let mut set = ResultSet {
        scenario: "pager-advise".to_owned(),
        title: format!("{} in less memory", arguments.command.join(" ")),
        about:
            "Predicted: page faults of one recorded run, replayed with the costs of this computer."
                .to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        seed,
        columns,
        rows: candidates.iter().map(Candidate::row).collect(),
        ..ResultSet::default()
    };
    set.summary.facts = facts(recorded, plain, candidates);
    set
}

/// The fastest setting of those that were run, or the first: without runs, that which is predicted to be the fastest.
fn best(candidates: &[Candidate]) -> Option<&Candidate> {
    let time = |one: &&Candidate| one.measured.map_or(u64::MAX, |(time_ns, _)| time_ns);
    candidates.iter().min_by_key(time)
}

fn print(
    arguments: &PagerArguments,
    set: &ResultSet,
    plain: Option<Usage>,
    candidates: &[Candidate],
) -> Result<(), Failure> {
    let mut shown = set.clone();
    shown.summary.facts.clear();
    let Some(best) = best(candidates) else {
        return Ok(());
    };
    let error = error_to_expect(candidates);
    let checked = candidates.iter().filter(|one| one.measured.is_some());
    let shown_error = match error {
        Some(error) => format!(
            "{:.0} %, the largest of the {} settings that were run",
            error * 100.0,
            checked.count()
        ),
        None => "not measured: --checks 1 measures it".to_owned(),
    };
    let (compared, is_better) = compared(plain, best);
    let advice = match error {
        _ if !is_better => "Run it without a pager: what was run saves no memory. A folder keeps bytes elsewhere (--store folder)".to_owned(),
        Some(error) if error > MOST_ERROR => format!(
            "No advice: with predictions that are off by more than {:.0} %, a setting that was not run may be the fastest. \
             --checks {} runs all; a program that does the same in every run, on a computer that does nothing else, is predicted better",
            MOST_ERROR * 100.0,
            candidates.len()
        ),
        _ => format!("Fastest: {}", command_of(arguments, &best.placed(arguments))),
    };
    print_text(&format!(
        "{}\n\nError of the predictions: {shown_error}\n{compared}{advice}\n",
        render(&shown, &TableStyle::for_stdout()).trim_end(),
    ))
}

/// The best setting beside the program without a pager, in words, if both were measured; and whether it saves memory.
fn compared(plain: Option<Usage>, best: &Candidate) -> (String, bool) {
    let (Some(plain), Some((time_ns, bytes))) = (plain, best.measured) else {
        return (String::new(), true);
    };
    let run = |time_ns: u64, bytes: u64| {
        let (time, bytes) = (human(&time_ns.into(), TimeNs), human(&bytes.into(), Bytes));
        format!("{time}, {bytes} of memory at most")
    };
    let times = |own: u64, plain: u64| own as f64 / (plain as f64).max(1.0);
    let text = format!(
        "Without a pager: {}\nWith the fastest setting that was run: {}: {:.2} times the time, {:.2} times the memory\n",
        run(plain.wall_ns, plain.peak_bytes),
        run(time_ns, bytes),
        times(time_ns, plain.wall_ns),
        times(bytes, plain.peak_bytes)
    );
    // Memory is what a pager is for. A run that happened to be faster without saving any is chance.
    (text, bytes < plain.peak_bytes)
}
