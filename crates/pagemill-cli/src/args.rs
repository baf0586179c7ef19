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
    /// Run an unmodified CUDA program on a simulated GPU
    Cuda(CudaArguments),
    /// List what can be named in a scenario
    List(ListArguments),
    /// Show which real backends this machine has, and what would enable the others
    Doctor(DoctorArguments),
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

/// The program is started with pagemill's CUDA runtime in its library path; it has to be linked with `-cudart shared`
/// and to have PTX in it. Its exit code is that of the command.
#[derive(Args, Debug)]
pub struct CudaArguments {
    /// The machine, by name or by file
    #[arg(long, value_name = "MACHINE", default_value = pagemill_cudart::DEFAULT_MACHINE)]
    pub machine: String,

    /// How managed memory gets to the GPU: a transfer mode of `pagemill list policies`
    #[arg(long, value_name = "MODE", default_value = "multi-range")]
    pub policy: String,

    /// Set a value of the scenario or its machine; a list runs the program once for each
    ///
    /// Examples: --set machine.dram.capacity="2 GiB", --set transfer.page_size="64 KiB"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Write results to standard output in this form, and the program's output to standard error
    ///
    /// Otherwise the program keeps standard output, and a table goes to standard error.
    #[arg(long, value_enum)]
    pub format: Option<RunFormat>,

    /// Also write results.json, results.csv, report.html and timeline.pftrace to this directory
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The program and its arguments, after `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
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
