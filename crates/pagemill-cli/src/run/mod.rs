//! `pagemill run`: every point of a scenario, then its results.

mod interrupt;
mod kind;
mod pool;
mod progress;
mod results;
mod timeline;

use std::io::Write;
use std::path::Path;

use pagemill_report::table::TableStyle;
use pagemill_report::{OutputDir, OutputDirError, ResultSet, Row, perfetto, table};
use pagemill_scenario::{Point, Scenario, load};

use crate::args::{RunArguments, RunFormat};
use crate::failure::Failure;
use crate::output::{print_results, stage_results};
use kind::View;
use progress::Progress;

/// Events of all points together that a timeline keeps: as much as Perfetto shows fluently.
const TIMELINE_EVENTS_MAX: usize = 2_000_000;

/// What one point came to.
pub struct Outcome {
    row: Row,
    /// Rows about parts of what `row` is about, which follow it.
    details: Vec<Row>,
    /// The exit code of the user's own program; 0 where there is none.
    exit_code: u8,
    /// What happened, where the kind keeps events.
    events: Option<Box<dyn kind::PointEvents>>,
    /// What the program printed.
    output: String,
}

impl Outcome {
    /// A row, and nothing else to tell.
    fn of(row: Row) -> Self {
        Self {
            row,
            details: Vec::new(),
            exit_code: 0,
            events: None,
            output: String::new(),
        }
    }
}

/// Where results go.
pub struct Results<'a> {
    /// The form of what is printed.
    pub format: RunFormat,
    /// Who has standard output.
    pub stdout: Stdout,
    /// The directory for files.
    pub out: Option<&'a Path>,
}

/// Who has standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdout {
    /// Results; what a program prints goes to standard error.
    Results,
    /// The user's program; the table goes to standard error.
    Program,
}

/// Runs a scenario: all points, or an error and no results.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let scenario = load(&arguments.scenario, &arguments.sets)?;
    let jobs = arguments
        .jobs
        .map_or_else(pool::available_cores, std::num::NonZero::get);
    let results = Results {
        format: arguments.format,
        stdout: Stdout::Results,
        out: arguments.out.as_deref(),
    };
    run_scenario(&scenario, jobs, &results)
}

/// Runs all points, `jobs` at a time, or gives an error and no results.
pub fn run_scenario(scenario: &Scenario, jobs: usize, to: &Results<'_>) -> Result<(), Failure> {
    interrupt::install();
    if let Some(out) = to.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    let events_max = match to.out {
        Some(_) => TIMELINE_EVENTS_MAX / scenario.points.len(),
        None => 0,
    };
    let progress = Progress::new(scenario.points.len());
    let outcomes = pool::run_all(&scenario.points, jobs, |point| {
        let _shown = progress.begin(point);
        kind::run(point, events_max, to.stdout)
    });
    progress.finish();
    let outcomes = outcomes.map_err(|(index, error)| {
        Failure::Run(format!(
            "{} of {}: {error}; no results were written",
            scenario.points[index], scenario.name
        ))
    })?;

    results::show_output(&scenario.points, &outcomes);
    let set = results::result_set(
        scenario,
        outcomes
            .iter()
            .flat_map(|outcome| std::iter::once(&outcome.row).chain(&outcome.details))
            .cloned(),
    );
    if let Some(out) = to.out {
        write_files(out, &set, &scenario.points, &outcomes)
            .map_err(|error| Failure::Run(error.to_string()))?;
    }
    show(&set, kind::view(&scenario.points[0].spec), to)?;
    match outcomes.iter().map(|outcome| outcome.exit_code).max() {
        None | Some(0) => Ok(()),
        Some(code) => Err(Failure::Program(code)),
    }
}

fn show(set: &ResultSet, view: &View, to: &Results<'_>) -> Result<(), Failure> {
    if to.stdout == Stdout::Program {
        let table = table::render(&results::headline(set, view), &TableStyle::for_stdout());
        // There is nobody left to tell when standard error is closed.
        let _ = write!(std::io::stderr(), "{table}");
        return Ok(());
    }
    match to.format {
        RunFormat::Table => print_results(&results::headline(set, view), to.format),
        RunFormat::Json | RunFormat::Csv => print_results(set, to.format),
    }
}

fn write_files(
    out: &Path,
    set: &ResultSet,
    points: &[Point],
    outcomes: &[Outcome],
) -> Result<(), OutputDirError> {
    let timeline = timeline::build(
        points,
        outcomes.iter().map(|outcome| outcome.events.as_deref()),
    );
    let _uninterrupted = interrupt::hold();
    let mut files = stage_results(out, set)?;
    files.write("timeline.pftrace", |file| perfetto::write(&timeline, file))?;
    files.commit()
}
