//! The arguments of `pagemill advise`, one struct for each question.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use pagemill_policy::residency::{AccessPattern, StrategyEntry, Variant};
use pagemill_report::ResultSet;

use crate::failure::Failure;
use crate::output::{RunFormat, TextFormat, check_out, hand_over, print_results};
use crate::values;

#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub struct AdviseArguments {
    #[command(subcommand)]
    pub question: Question,
}

#[derive(Subcommand, Debug)]
pub enum Question {
    /// Find the memory hints that make a CUDA program faster
    Program(Box<ProgramArguments>),
    /// Rank the ways to place data that is read in a pattern
    Pattern(PatternArguments),
    /// Say which program sizes a language model that GPU memory does not hold
    Model(ModelArguments),
    /// Find the settings of the pager for a program in less memory, and whether they pay
    Pager(PagerArguments),
    /// Run a program on each kind of pages, and recommend one
    Zero(ZeroArguments),
}

/// Where the answer goes.
#[derive(Args, Debug)]
pub struct Results {
    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also write results.json, results.csv, results.parquet and report.html there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl Results {
    /// Refuses a folder that cannot be made.
    pub fn check(&self) -> Result<(), Failure> {
        check_out(self.out.as_deref())
    }

    /// Writes `set`; `table` prints it for people.
    pub fn hand_over(
        &self,
        set: &ResultSet,
        table: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        hand_over(self.out.as_deref(), set, || match self.format {
            RunFormat::Table => table(),
            format => print_results(set, format),
        })
    }
}

/// Where changes are carried out.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// This machine's GPU.
    Gpu,
}

/// The program is run unchanged, then with one change at a time, at most --runs times; its output has to stay the same. The answer is a
/// table of allocations with what moves for each, and one of the calls to add, with the line and the time before and after. Lines need
/// debug information (`nvcc -g`).
#[derive(Args, Debug)]
pub struct ProgramArguments {
    /// The GPU, its link and its driver; `pagemill list machines` shows all
    #[arg(long, value_name = "NAME", default_value = pagemill_wire::DEFAULT_MACHINE)]
    pub machine: String,

    /// How managed memory gets to the GPU, as for pagemill cuda
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,

    /// Give the GPU as much memory as the program has at its peak, divided by F
    #[arg(long, value_name = "F", value_parser = values::factor, allow_negative_numbers = true)]
    pub oversubscribe: Option<f64>,

    /// GPU memory for the program, such as 16GiB
    #[arg(long = "gpu-memory", value_name = "SIZE", value_parser = values::size, conflicts_with = "oversubscribe")]
    pub gpu_memory_bytes: Option<u64>,

    /// Give the program managed memory where it asks for GPU memory, as for pagemill cuda
    #[arg(long, conflicts_with = "on")]
    pub managed: bool,

    /// Set a value of the scenario or its machine
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Most runs of the program, the first one included
    #[arg(long, value_name = "N", default_value = "24")]
    pub runs: NonZeroUsize,

    /// Lines of standard output with this text may differ from run to run, such as times that the program prints
    #[arg(long = "ignore-lines", value_name = "TEXT")]
    pub ignored: Vec<String>,

    /// Run the program once more with the advised calls; standard output is then the program's, and the tables go to standard error
    #[arg(long)]
    pub apply: bool,

    /// Also write the advised calls to this file, for `pagemill gpu run --hints FILE -- PROGRAM`
    #[arg(long, value_name = "FILE")]
    pub hints: Option<PathBuf>,

    /// Also carry every change out on this machine's GPU and time it there; --hints then gets what is fastest on it
    #[arg(long, value_enum, value_name = "WHAT")]
    pub on: Option<On>,

    /// Times that each change is run on the GPU; their median counts
    #[arg(long, value_name = "N", default_value = "3", requires = "on")]
    pub gpu_runs: NonZeroU32,

    /// Also run it on these machines, unchanged and with the calls: names, or `all` (those with a driver)
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub machines: Vec<String>,

    /// Also run it with these factors of its peak over GPU memory [default with --machines: 1,1.5,2]
    #[arg(long, value_name = "F,..", value_delimiter = ',', value_parser = values::factor)]
    pub factors: Vec<f64>,

    /// Slowdown over a run with all data on the GPU up to which a time is called bearable
    #[arg(long, value_name = "X", value_parser = values::factor, default_value = "2")]
    pub bearable: f64,

    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    #[command(flatten)]
    pub results: Results,

    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// Every strategy is simulated; the answer is their order, the bandwidth to expect of each, and why.
///
/// Data and free GPU memory are scaled down together until the answer takes seconds, and each row says by how much its
/// bandwidth changes when they are halved once more. --full simulates all of the data. The order is that of the time of all reads and of the calls before them. Strategies that rely on faults have the data in
/// the CPU's memory before each read, as in the published benchmark.
#[derive(Args, Debug)]
pub struct PatternArguments {
    /// Access pattern: grid-stride, block-stride, random-warp
    #[arg(value_name = "PATTERN", value_parser = values::pattern)]
    pub pattern: AccessPattern,

    /// Size of the data divided by the GPU memory free for it
    #[arg(long, value_name = "F", value_parser = values::factor)]
    pub factor: f64,

    /// The GPU, its link and its driver; `pagemill list machines` shows all
    #[arg(long, value_name = "NAME")]
    pub machine: String,

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

    #[command(flatten)]
    pub results: Results,
}

/// Exit code 2: the message has the line that does it.
#[derive(Args, Debug)]
pub struct ModelArguments {
    /// The model and its options
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "MODEL"
    )]
    pub words: Vec<String>,
}

/// Which page size, policies and store of `pagemill pager run` are fastest with so little memory.
///
/// The program is run once in an eighth of it, its page faults are replayed under each setting with costs measured on this computer,
/// and it is run under the best settings to measure the error of the prediction. Exit code 3: this user may not answer page faults.
#[derive(Args, Debug)]
pub struct PagerArguments {
    /// Memory budget of the program, as for pagemill pager run
    #[arg(long = "memory", value_name = "SIZE", value_parser = values::size)]
    pub memory_bytes: u64,

    /// A machine of kind "pager" [default: measured]
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,

    /// Stores to choose from: compressed, folder
    #[arg(long = "store", value_name = "NAME,..", value_delimiter = ',', default_value = "compressed,folder", value_parser = ["compressed", "folder"])]
    pub stores: Vec<String>,

    /// Folder for the store in a file
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub folder: PathBuf,

    /// Memory budget while page faults are recorded: a smaller one sees more of what the program touches, and takes longer [default: an eighth of --memory]
    #[arg(long = "record-memory", value_name = "SIZE", value_parser = values::size)]
    pub record_bytes: Option<u64>,

    /// Bytes that costs are measured with: records, numbers, noise
    #[arg(long, value_name = "KIND", default_value = "records")]
    pub data: String,

    /// Run the program without a pager, under the first N settings of the answer, and under what pagemill pager run has by itself; 0 only predicts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub checks: usize,

    /// Runs of each of these, of which the fastest counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,

    /// libpagemill_pager_preload.so [default: beside pagemill, or in ../lib/pagemill]
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,

    #[command(flatten)]
    pub results: Results,

    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

/// The program's standard input is empty, and its standard output is discarded.
#[derive(Args, Debug)]
pub struct ZeroArguments {
    /// Runs on each kind of pages
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub runs: u32,

    /// Add huge pages to the kernel's stock for the time of the comparison (root)
    #[arg(long)]
    pub reserve: bool,

    /// Huge pages of 2 MiB for the program [default: by its peak memory]
    #[arg(long, value_name = "N")]
    pub pages: Option<NonZeroUsize>,

    /// Socket of a running pool [default: the usual one if it serves, else a pool of this command]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// libpagemill_zero_preload.so [default: beside pagemill, or in ../lib/pagemill]
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub format: TextFormat,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}
