use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Simulates page-level memory management: what moves, when, and what it costs.
#[derive(Parser, Debug)]
#[command(
    name = "pagemill",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = "Exit codes: 0 done, 1 the run failed, 2 bad usage or input.")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a scenario and show its results
    Run(RunArguments),
    /// List what can be named in a scenario
    List(ListArguments),
    /// Show which real backends this machine has, and what would enable the others
    Doctor(DoctorArguments),
    /// Huge pages that are clean before anyone waits for them
    Zero(crate::zero::ZeroArguments),
}

/// Every point of the sweep runs on its own; results are the same for any number of jobs.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// A scenario file, or the name of a built-in scenario
    pub scenario: String,

    /// Replace a value or a sweep of the scenario or its machine; a list sweeps
    ///
    /// Examples: --set transfer.mode=whole-page, --set 'transfer.unit=["1 KiB", "4 KiB"]'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Points to run at the same time [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also write results.json, results.csv, report.html and timeline.pftrace to this directory
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    Table,
    Json,
    Csv,
}

#[derive(Args, Debug)]
pub struct ListArguments {
    /// What to list
    #[arg(value_enum)]
    pub what: Listing,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub format: TextFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    Machines,
    Workloads,
    Policies,
    Scenarios,
}

#[derive(Args, Debug)]
pub struct DoctorArguments {
    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub format: TextFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    Table,
    Json,
}
