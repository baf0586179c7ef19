//! The arguments of `pagemill advise`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use pagemill_policy::residency::{AccessPattern, StrategyEntry, Variant};

use crate::args::RunFormat;
use crate::values;

/// With a program after `--`: what moves for each of its allocations, and which hints make it faster. The program is run unchanged,
/// then with one change at a time, at most --runs times; its output has to stay the same. The answer is a table of
/// allocations, and one of the calls to add, with the line and the time before and after. Lines need debug information (`nvcc -g`).
///
/// With --memory and a program after `--`: which page size, policies and store of `pagemill pager run` are fastest with so little memory.
/// The program is run once in an eighth of it, its page faults are replayed under each setting with costs measured on this computer,
/// and it is run under the best settings to measure the error of the prediction. Exit code 3: this user may not answer page faults.
///
/// With a language model: its table of tensors is read, and the weights of a token are simulated on demand, as zero-copy, with
/// layers split, with prefetch across blocks and with partial pages; the answer is tokens a second on --machine NAME, or `all`.
///
/// With --pattern, --factor and --machine: every strategy is simulated; the answer is their order, the bandwidth to expect of each, and why.
///
/// Data and free GPU memory are scaled down together until the answer takes seconds, and each row says by how much its
/// bandwidth changes when they are halved once more. --full simulates all of the data. The order is that of the time of all reads and of the calls before them. Strategies that rely on faults have the data in
/// the CPU's memory before each read, as in the published benchmark.
#[derive(Args, Debug)]
pub struct AdviseArguments {
    /// A language model, as GGUF or safetensors: tokens a second on a GPU that it does not fit
    #[arg(value_name = "MODEL", conflicts_with = "command")]
    pub model: Option<PathBuf>,

    /// Access pattern: grid-stride, block-stride, random-warp
    #[arg(long, value_name = "NAME", value_parser = values::pattern, required_unless_present_any = ["command", "model", "memory_bytes"], conflicts_with_all = ["command", "model"])]
    pub pattern: Option<AccessPattern>,

    /// Size of the data divided by the GPU memory free for it
    #[arg(long, value_name = "F", value_parser = values::factor, required_unless_present_any = ["command", "model", "memory_bytes"], conflicts_with_all = ["command", "model"])]
    pub factor: Option<f64>,

    /// The GPU, its link and its driver; `pagemill list machines` shows all; for a model also `all` [default for a program: a100-pcie4-x86]
    #[arg(long, value_name = "NAME", required_unless_present_any = ["command", "memory_bytes"])]
    pub machine: Option<String>,

    /// How often the data is read
    #[arg(long, value_name = "N", default_value = "1")]
    pub reuse: NonZeroU32,

    /// Whether warps of a block wait for each other: lock-step, free-running
    #[arg(long, value_name = "NAME", value_parser = values::variant, default_value = "lock-step")]
    pub variant: Variant,

    /// Strategies to choose from [default: all]
    #[arg(long = "strategy", value_name = "NAME,..", value_delimiter = ',', value_parser = values::strategy)]
    pub strategies: Vec<&'static StrategyEntry>,

    /// Size of a stripe
    #[arg(long = "stripe", value_name = "SIZE", value_parser = values::size, default_value = "2MiB")]
    pub stripe_bytes: u64,

    /// Seed of random reads
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Simulate all of the data, which may take minutes
    #[arg(long)]
    pub full: bool,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    #[command(flatten)]
    pub program: ProgramArguments,

    #[command(flatten)]
    pub paging: PagingArguments,
}

/// What is asked about a program in less memory than it uses.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options for a program with a memory budget")]
pub struct PagingArguments {
    /// Memory budget of the program, as for pagemill pager run; --machine is then a machine of kind "pager" [default: measured]
    #[arg(long = "memory", value_name = "SIZE", value_parser = values::size, requires = "command",
        conflicts_with_all = ["mode", "oversubscribe", "gpu_memory_bytes", "sets", "ignored", "apply", "machines", "factors"])]
    pub memory_bytes: Option<u64>,

    /// Stores to choose from: compressed, folder
    #[arg(long = "store", value_name = "NAME,..", value_delimiter = ',', default_value = "compressed,folder", requires = "memory_bytes", value_parser = ["compressed", "folder"])]
    pub stores: Vec<String>,

    /// Folder for the store in a file
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/var/tmp",
        requires = "memory_bytes"
    )]
    pub folder: PathBuf,

    /// Memory budget while page faults are recorded: a smaller one sees more of what the program touches, and takes longer [default: an eighth of --memory]
    #[arg(long = "record-memory", value_name = "SIZE", value_parser = values::size, requires = "memory_bytes")]
    pub record_bytes: Option<u64>,

    /// Bytes that costs are measured with: records, numbers, noise
    #[arg(
        long,
        value_name = "KIND",
        default_value = "records",
        requires = "memory_bytes"
    )]
    pub data: String,

    /// Run the program without a pager, under the first N settings of the answer, and under what pagemill pager run has by itself; 0 only predicts
    #[arg(long, value_name = "N", default_value_t = 1, requires = "memory_bytes")]
    pub checks: usize,

    /// libpagemill_pager_preload.so [default: beside pagemill, or in ../lib/pagemill]
    #[arg(long, value_name = "PATH", requires = "memory_bytes")]
    pub library: Option<PathBuf>,
}

/// What is asked about a program.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options for a program")]
pub struct ProgramArguments {
    /// How managed memory gets to the GPU, as for pagemill cuda
    #[arg(long, value_name = "MODE", requires = "command")]
    pub mode: Option<String>,

    /// Give the GPU as much memory as the program has at its peak, divided by F
    #[arg(long, value_name = "F", value_parser = values::factor, allow_negative_numbers = true, requires = "command")]
    pub oversubscribe: Option<f64>,

    /// GPU memory for the program, such as 16GiB
    #[arg(long = "gpu-memory", value_name = "SIZE", value_parser = values::size, conflicts_with = "oversubscribe", requires = "command")]
    pub gpu_memory_bytes: Option<u64>,

    /// Set a value of the scenario or its machine
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "command")]
    pub sets: Vec<String>,

    /// Most runs of the program, the first one included
    #[arg(long, value_name = "N", default_value = "24", requires = "command")]
    pub runs: NonZeroUsize,

    /// Lines of standard output with this text may differ from run to run, such as times that the program prints
    #[arg(long = "ignore-lines", value_name = "TEXT", requires = "command")]
    pub ignored: Vec<String>,

    /// Run the program once more with the advised calls; standard output is then the program's, and the tables go to standard error
    #[arg(long, requires = "command")]
    pub apply: bool,

    /// Also run it on these machines, unchanged and with the calls: names, or `all` (those with a driver)
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        requires = "command"
    )]
    pub machines: Vec<String>,

    /// Also run it with these factors of its peak over GPU memory [default with --machines: 1,1.5,2]
    #[arg(long, value_name = "F,..", value_delimiter = ',', value_parser = values::factor, requires = "command")]
    pub factors: Vec<f64>,

    /// Slowdown over a run with all data on the GPU up to which a time is called bearable
    #[arg(long, value_name = "X", value_parser = values::factor, default_value = "2", requires = "command")]
    pub bearable: f64,

    /// Also write results.json, results.csv, results.parquet and report.html there
    #[arg(long, value_name = "DIR", requires = "command")]
    pub out: Option<PathBuf>,

    /// The program and its arguments, after `--`
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}
