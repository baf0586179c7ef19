//! The arguments of `pagemill gpu` and `pagemill doctor gpu`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use pagemill_policy::residency::{AccessPattern, StrategyEntry, Variant};

use crate::output::RunFormat;
use crate::values;

#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub struct GpuArguments {
    #[command(subcommand)]
    pub command: GpuCommand,
}

#[derive(Subcommand, Debug)]
pub enum GpuCommand {
    /// Run a program with memory hints that it does not give itself
    Run(GpuRunArguments),
    /// Run a program and record what moved, by CUPTI: rows and a page map to set beside a simulation
    Record(GpuRecordArguments),
}

/// The program is started with a library in front of NVIDIA's driver, which sees its managed allocations and launches, and makes the
/// calls of the hints for them: cudaMemAdvise after an allocation, cudaMemPrefetchAsync before a launch and in its stream. The exit code
/// is the program's.
///
/// Hints are found by `pagemill advise program --hints FILE` or `pagemill cuda --hints FILE`. Allocations and launches are counted in the
/// order of the program; one whose size is not that of the file is left alone, and standard error says so.
#[derive(Args, Debug)]
pub struct GpuRunArguments {
    /// The hints [default: none; times are measured all the same]
    #[arg(long, value_name = "FILE")]
    pub hints: Option<PathBuf>,

    /// Give the program managed memory where it asks for GPU memory, so that it may have more than the card
    ///
    /// cudaMalloc, cuMemAlloc and memory pools; what a pool gives back waits for its stream. Memory mapped by cuMemMap, arrays of
    /// textures and nodes of graphs stay on the GPU, and such memory cannot be shared with other processes.
    #[arg(long)]
    pub managed: bool,

    #[command(flatten)]
    pub shown: ShownArguments,
}

// No doc comment: it would become that of the command.
#[derive(Args, Debug)]
pub struct ShownArguments {
    /// Write results to standard output in this form, and the program's output to standard error
    ///
    /// Without it, standard output is the program's, and a table goes to standard error.
    #[arg(long, value_enum)]
    pub format: Option<RunFormat>,

    /// Also write results.json, results.csv, results.parquet and report.html to this directory
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The program and its arguments, after `--`
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// Kernels, transfers of unified memory with their causes, and faults, in the columns of a simulated program: compare with
/// `pagemill report compare simulated/results.json recorded/results.json`. CUPTI is loaded if it is there: install NVIDIA's Python package
/// nvidia-cuda-cupti or CUDA's toolkit, or name the library in PAGEMILL_CUPTI. The exit code is the program's; 3 if there is no GPU or no
/// CUPTI.
#[derive(Args, Debug)]
pub struct GpuRecordArguments {
    #[command(flatten)]
    pub shown: ShownArguments,
}

/// The patterns and strategies are those of the simulator, and so are the columns of the results.
///
/// Exit code 3: there is no GPU or no driver; the message says what is missing and how to get it.
#[derive(Args, Debug)]
pub struct GpuBenchArguments {
    /// Access pattern [default: all patterns]
    #[arg(long = "pattern", value_name = "NAME,..", value_delimiter = ',', value_parser = values::pattern)]
    pub patterns: Vec<AccessPattern>,

    /// Whether warps of a block wait for each other: lock-step, free-running
    #[arg(long = "variant", value_name = "NAME,..", value_delimiter = ',', value_parser = values::variant, default_value = "lock-step")]
    pub variants: Vec<Variant>,

    /// Placement of the data: on-demand, zero-copy, stripe, stripe-even, bulk-prefetch, read-mostly
    #[arg(long = "strategy", value_name = "NAME,..", value_delimiter = ',', value_parser = values::strategy, default_value = "on-demand,zero-copy,stripe,bulk-prefetch")]
    pub strategies: Vec<&'static StrategyEntry>,

    /// Size of the data divided by the GPU memory available to it
    #[arg(long = "factor", value_name = "F,..", value_delimiter = ',', value_parser = values::factor, default_value = "0.5,1,1.5")]
    pub factors: Vec<f64>,

    /// Size of a stripe: 4KiB, 64KiB, 2MiB
    #[arg(long = "stripe", value_name = "SIZE,..", value_delimiter = ',', value_parser = values::size, default_value = "2MiB")]
    pub stripes_bytes: Vec<u64>,

    /// Times that each point is run
    #[arg(long = "repeat", value_name = "N", default_value = "3")]
    pub loops: NonZeroU32,

    /// Number of the GPU, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: u32,

    /// Leave only this much GPU memory to the benchmark, such as 16GiB [default: all that is free, or less where the
    /// host's memory could not hold the data]
    #[arg(long = "gpu-memory", value_name = "SIZE", value_parser = values::size)]
    pub gpu_memory_bytes: Option<u64>,

    /// Name of this machine in the rows, such as the simulated machine to compare with [default: the GPU's name]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,

    /// Seed of random reads: added to thread numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Shorten a random run if the rest of a loop would take longer than this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = values::factor, default_value = "60")]
    pub time_limit: f64,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also write results.json, results.csv, results.parquet and report.html to this directory
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
