//! `pagemill rank`: a tournament of policies over programs.

use std::path::PathBuf;

use clap::Args;
use pagemill_run::rank::{self, Terms};
use pagemill_run::{PointError, RunOptions, run_points};
use pagemill_scenario::load;

use crate::failure::Failure;
use crate::output::{RunFormat, check_out, hand_over, print_results};
use crate::run::{Progress, Stdout, interrupt};
use crate::values::{Cores, Laid};

/// Every combination of policy and program runs once; each combination of the other swept keys is a program. The table has the geometric
/// mean of each policy's time over that of the best one, with a 95 % interval from resampled programs.
#[derive(Args, Debug)]
pub struct RankArguments {
    /// A scenario file, or the name of a built-in scenario
    #[arg(default_value = "policies")]
    pub scenario: String,

    /// The swept key whose values compete, such as transfer.mode or machine.policy.eviction
    #[arg(long, value_name = "KEY", default_value = "transfer.mode")]
    pub by: String,

    /// The metric that is compared; less is better
    #[arg(long, value_name = "NAME", default_value = "time_ns")]
    pub metric: String,

    #[command(flatten)]
    pub laid: Laid,

    #[command(flatten)]
    pub cores: Cores,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also write results.json, results.csv, results.parquet and report.html to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Runs everything and prints the table.
pub fn rank(arguments: &RankArguments) -> Result<(), Failure> {
    check_out(arguments.out.as_deref())?;
    let scenario = load(&arguments.scenario, &arguments.laid.sets()?)?;
    let terms = Terms {
        by: arguments.by.clone(),
        metric: arguments.metric.clone(),
    };
    let refused = |error: rank::RankError| Failure::Usage(error.to_string());
    rank::check(&scenario.points, &terms).map_err(refused)?;
    interrupt::install();
    let jobs = arguments.cores.jobs();
    let progress = Progress::new(scenario.points.len(), scenario.points.iter());
    let options = RunOptions {
        events_max: 0,
        stdout: Stdout::Results,
        notes_allocations: false,
        stop: None,
        threads: arguments.cores.threads(scenario.points.len()),
        progress: Some(progress.of_points()),
    };
    let outcomes = run_points(&scenario.points, jobs, &options, |point| {
        progress.begin(point)
    });
    progress.finish();
    let outcomes = outcomes.map_err(|(index, error)| match error {
        PointError::Refused(message) => Failure::Usage(message),
        error => Failure::Run(format!("{}: {error}", scenario.points[index])),
    })?;
    let ranked = rank::rank(&scenario, &outcomes, &terms).map_err(refused)?;
    hand_over(arguments.out.as_deref(), &ranked, || {
        print_results(&ranked, arguments.format)
    })
}
