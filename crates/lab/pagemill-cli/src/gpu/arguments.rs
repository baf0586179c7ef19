//! The arguments of `pagemill doctor gpu`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use pagemill_policy::residency::{AccessPattern, StrategyEntry, Variant};

use crate::output::RunFormat;
use crate::values;

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
