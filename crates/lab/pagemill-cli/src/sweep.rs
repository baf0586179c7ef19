//! `pagemill run --keep`: a scenario whose points are kept one by one, so that a killed run resumes where it stopped.

use std::path::Path;

use pagemill_report::OutputDir;
use pagemill_run::{PointError, RunOptions, Store, result_set, run_all, run_point, terminal_view};
use pagemill_scenario::{Point, load};

use crate::failure::Failure;
use crate::output::{RunFormat, note, print_results};
use crate::run::{Progress, RunArguments, show_output};
use crate::values::Cores;

/// Runs the points that the folder does not hold, then writes the results of all.
pub fn sweep(arguments: &RunArguments, folder: &Path) -> Result<(), Failure> {
    let scenario = &load(&arguments.scenario, &arguments.laid.sets()?)?;
    if scenario.points[0].spec.kind() == "cuda" {
        return Err(Failure::Usage(format!(
            "{} runs a program of this machine, whose results are not known by the scenario alone: leave out --keep",
            scenario.name
        )));
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::Usage(format!(
            "--keep {}: it is no folder; name one that is there or can be made",
            folder.display()
        )));
    }
    let store = Store::open(folder)?;
    OutputDir::check(&store.results_folder()).map_err(Failure::BadOutput)?;
    let missing: Vec<&Point> = store
        .missing(&scenario.points)
        .into_iter()
        .map(|index| &scenario.points[index])
        .collect();
    let there = scenario.points.len() - missing.len();
    if there > 0 {
        note(&format!(
            "{there} of {} points are in {} already",
            scenario.points.len(),
            folder.display()
        ));
    }
    let other = store.of_other_builds(&scenario.points);
    if other > 0 {
        note(&format!(
            "{other} of {} points in {} are of another build of pagemill, and are run again",
            scenario.points.len(),
            folder.display()
        ));
    }
    run_points(&missing, arguments.cores, &store).map_err(|(index, message)| {
        Failure::Run(format!(
            "{} of {}: {message}; what was done is kept in {}",
            missing[index],
            scenario.name,
            folder.display()
        ))
    })?;

    let rows = store.rows(&scenario.points)?;
    let set = result_set(scenario, rows.into_iter());
    let shown = match arguments.format {
        RunFormat::Table => print_results(&terminal_view(&set, scenario), arguments.format),
        RunFormat::Json | RunFormat::Csv => print_results(&set, arguments.format),
    };
    store.write_results(&set)?;
    shown
}

/// Runs `points` on `cores`, and keeps each when it has ended.
fn run_points(points: &[&Point], cores: Cores, store: &Store) -> Result<(), (usize, PointError)> {
    let progress = Progress::new(points.len(), points.iter().copied());
    let options = RunOptions {
        threads: cores.threads(points.len()),
        progress: Some(progress.of_points()),
        ..RunOptions::default()
    };
    let done = run_all(points, cores.jobs(), |point| {
        let _shown = progress.begin(point);
        let outcome = run_point(point, &options)?;
        let rows: Vec<_> = outcome.rows().cloned().collect();
        let kept = store.put_rows(point, &rows);
        kept.map_err(|error| PointError::Failed(error.to_string()))?;
        Ok(outcome)
    });
    progress.finish();
    for (point, outcome) in points.iter().zip(&done?) {
        show_output(point, outcome);
    }
    Ok(())
}
