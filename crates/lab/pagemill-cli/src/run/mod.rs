//! `pagemill run`: every point of a scenario, then its results.

pub mod interrupt;
mod progress;

pub use pagemill_run::Stdout;
pub use progress::Progress;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use pagemill_report::table::TableStyle;
use pagemill_report::{OutputDir, OutputDirError, ResultSet, Row, perfetto, table};
use pagemill_run::{
    Outcome, PointError, RECORDED_EVENTS_MAX, RunOptions, result_set, run_points, stage_results,
    terminal_view,
};
use pagemill_scenario::{Point, PointSpec, Scenario, load};

use crate::failure::Failure;
use crate::output::{RunFormat, print_results, write_file};
use crate::values::{Cores, Laid};

/// Every point of the sweep runs on its own; results are the same for any number of jobs and threads.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// A scenario file, or the name of a built-in scenario
    pub scenario: String,

    #[command(flatten)]
    pub laid: Laid,

    #[command(flatten)]
    pub cores: Cores,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also write results.json, results.csv, results.parquet, report.html and timeline.pftrace there
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Keep each point there as it ends (parts/), and the results of all at the end (results/)
    ///
    /// Points that the folder holds are not run again: a killed run resumes where it stopped. `pagemill.sweep` of Python uses the same
    /// folder, on any number of machines.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub keep: Option<PathBuf>,
}

/// Where results go.
pub struct Results<'a> {
    /// The form of what is printed.
    pub format: RunFormat,
    /// Who has standard output.
    pub stdout: Stdout,
    /// The directory for files.
    pub out: Option<&'a Path>,
    /// The file for what moved before each launch of a user's program.
    pub hints: Option<&'a Path>,
}

/// Runs a scenario: all points, or an error and no results beside the points that are kept.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let scenario = load(&arguments.scenario, &arguments.laid.sets()?)?;
    let results = Results {
        format: arguments.format,
        stdout: Stdout::Results,
        out: arguments.out.as_deref(),
        hints: None,
    };
    let (jobs, threads) = (
        arguments.cores.jobs(),
        arguments.cores.threads(scenario.points.len()),
    );
    run_scenario(&scenario, (jobs, threads), &results)
}

/// Runs all points, `jobs` at a time on `threads` threads each, or gives an error and no results.
pub fn run_scenario(
    scenario: &Scenario,
    (jobs, threads): (usize, usize),
    to: &Results<'_>,
) -> Result<(), Failure> {
    interrupt::install();
    if let Some(out) = to.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    let events_max = match (to.out, to.hints) {
        (None, None) => 0,
        _ => RECORDED_EVENTS_MAX / scenario.points.len(),
    };
    let progress = Progress::new(scenario.points.len(), scenario.points.iter());
    let options = RunOptions {
        events_max,
        stdout: to.stdout,
        notes_allocations: to.hints.is_some(),
        stop: None,
        threads,
        progress: Some(progress.of_points()),
    };
    let outcomes = run_points(&scenario.points, jobs, &options, |point| {
        progress.begin(point)
    });
    progress.finish();
    let outcomes = outcomes.map_err(|(index, error)| match error {
        PointError::Refused(message) => Failure::Usage(message),
        error => Failure::Run(format!(
            "{} of {}: {error}; no results were written",
            scenario.points[index], scenario.name
        )),
    })?;

    for (point, outcome) in scenario.points.iter().zip(&outcomes) {
        show_output(point, outcome);
    }
    let mut set = result_set(scenario, outcomes.iter().flat_map(Outcome::rows).cloned());
    set.maps = pagemill_run::maps(&scenario.points, &outcomes);
    set.findings = pagemill_run::findings(&scenario.points, &outcomes);
    // Neither is lost if the other fails.
    let shown = show(&set, scenario, to);
    if let Some(out) = to.out {
        write_files(out, &set, &scenario.points, &outcomes)
            .map_err(|error| Failure::Run(error.to_string()))?;
    }
    shown?;
    if let Some(path) = to.hints {
        write_hints(path, &scenario.points, &outcomes)?;
    }
    match outcomes.iter().map(|outcome| outcome.exit_code).max() {
        None | Some(0) => no_defects(outcomes.iter().flat_map(Outcome::rows)),
        Some(code) => Err(Failure::Program(code)),
    }
}

/// Writes what moved before each launch.
fn write_hints(path: &Path, points: &[Point], outcomes: &[Outcome]) -> Result<(), Failure> {
    let ([point], [outcome]) = (points, outcomes) else {
        return Err(Failure::Usage(
            "a list of values is more than one program, and a file of hints is for one: give --set one value for each key"
                .to_owned(),
        ));
    };
    let PointSpec::Cuda(spec) = &point.spec else {
        return Err(Failure::Usage("the scenario is of another kind".to_owned()));
    };
    let hints = pagemill_run::hints::of_moves(spec, outcome).map_err(Failure::Run)?;
    let text = hints.text().map_err(Failure::Run)?;
    write_file(path, |out| out.write_all(text.as_bytes()))
}

/// Mistakes of kernels that were looked for and found are a failure, even if the program is content.
fn no_defects<'a>(rows: impl Iterator<Item = &'a Row>) -> Result<(), Failure> {
    let found: f64 = rows.filter_map(|row| row.number("findings")).sum();
    match found {
        0.0 => Ok(()),
        found => Err(Failure::Run(format!(
            "findings of --check: {found}; each has a line above and a row in the results"
        ))),
    }
}

fn show(set: &ResultSet, scenario: &Scenario, to: &Results<'_>) -> Result<(), Failure> {
    if to.stdout == Stdout::Program {
        let table = table::render(&terminal_view(set, scenario), &TableStyle::for_stderr());
        // A closed standard error leaves no place for a message.
        let _ = write!(std::io::stderr(), "{table}");
        return Ok(());
    }
    match to.format {
        RunFormat::Table => print_results(&terminal_view(set, scenario), to.format),
        RunFormat::Json | RunFormat::Csv => print_results(set, to.format),
    }
}

fn write_files(
    out: &Path,
    set: &ResultSet,
    points: &[Point],
    outcomes: &[Outcome],
) -> Result<(), OutputDirError> {
    let timeline = pagemill_run::timeline(points, outcomes);
    let _uninterrupted = interrupt::hold();
    let mut files = stage_results(out, set)?;
    files.write("timeline.pftrace", |file| perfetto::write(&timeline, file))?;
    files.commit()
}

/// Shows on standard error what the program of a point printed.
pub fn show_output(point: &Point, outcome: &Outcome) {
    let mut err = std::io::stderr().lock();
    for line in outcome.output.lines() {
        // A closed standard error leaves no place for a message.
        let _ = writeln!(err, "{point}: {line}");
    }
}
