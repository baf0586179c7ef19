use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pagemill_policy::replacement::ReplacementEntry;
use pagemill_policy::residency::{AccessPattern, StrategyEntry, Variant};
use pagemill_run::mrc::policies::CacheSize;

use crate::values;

/// Simulates page-level memory management: which pages move, when, and at what cost.
#[derive(Parser, Debug)]
#[command(
    name = "pagemill",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit codes: 0 done, 1 the run failed, 2 bad usage or input, 3 the GPU, kernel module or virtual machine that was asked for is not there."
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a scenario and show its results
    Run(RunArguments),
    /// Run a scenario point by point into a folder; a killed run resumes where it stopped
    Sweep(SweepArguments),
    /// Find the memory hints that make a CUDA program faster, or rank placements of data
    Advise(Box<crate::advise::AdviseArguments>),
    /// Search for the settings that come nearest to published values
    Fit(crate::fit::FitArguments),
    /// Rank policies by their time over several programs, with confidence
    Rank(crate::rank::RankArguments),
    /// Compare two results, with the error of each point
    Compare(CompareArguments),
    /// Show where the pages of a run were, when and why: one HTML page that needs no network
    View(ViewArguments),
    /// Make a static site of several runs, which filters and compares them in the browser
    Report(ReportArguments),
    /// List machines, workloads, policies and scenarios
    List(ListArguments),
    /// Show which real backends this machine has, and how to enable the others
    Doctor(DoctorArguments),
    /// Run an unmodified CUDA program on a simulated GPU
    Cuda(CudaArguments),
    /// Run an MPI program over the simulated network interface
    Mpi(MpiArguments),
    /// Write the messages of a scenario in the GOAL format of other network simulators
    Goal(crate::goal::GoalArguments),
    /// Run benchmarks on the real GPU of this machine
    #[command(subcommand)]
    Gpu(GpuCommand),
    /// Compute the miss curve of a trace or a program
    Mrc(MrcArguments),
    /// Use or serve huge pages that are cleared in advance
    Zero(crate::zero::ZeroArguments),
    /// Run programs with less memory than they use
    Pager(crate::pager::PagerArguments),
    /// Give programs their own part of a shared cache
    Color(crate::color::ColorArguments),
    /// Write the completions of a shell, such as bash
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual page, for man -l -
    Manual,
}

// No doc comment: it would become that of the command.
#[derive(Args, Clone, Copy, Debug)]
pub struct Jobs {
    /// Points to run at the same time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl Jobs {
    /// How many that are.
    pub fn count(self) -> usize {
        self.jobs
            .map_or_else(pagemill_run::available_cores, NonZeroUsize::get)
    }
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

    #[command(flatten)]
    pub jobs: Jobs,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also write results.json, results.csv, results.parquet, report.html and timeline.pftrace there
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Points that the folder holds already are not run again. `pagemill.sweep` of Python uses the same folder, on any number of
/// machines.
#[derive(Args, Debug)]
pub struct SweepArguments {
    /// A scenario file, or the name of a built-in scenario
    pub scenario: String,

    /// The folder: parts/ has a file for each point, results/ the results of all at the end
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Replace a value or a sweep of the scenario or its machine; a list sweeps
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    #[command(flatten)]
    pub jobs: Jobs,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,
}

/// The program is started with pagemill's CUDA libraries in its library path. It has to contain PTX, which nvcc includes by default;
/// its runtime may be shared or linked statically. The exit code is the program's.
#[derive(Args, Debug)]
pub struct CudaArguments {
    /// The machine, by name or by file
    #[arg(long, value_name = "MACHINE", default_value = pagemill_cudart::DEFAULT_MACHINE)]
    pub machine: String,

    /// How managed memory gets to the GPU: a transfer mode of `pagemill list policies`. Without it, `on-demand` on machines
    /// that have a unified-memory driver, and `multi-range` on others
    #[arg(long, alias = "policy", value_name = "MODE")]
    pub mode: Option<String>,

    /// Set a value of the scenario or its machine; a list runs the program once for each
    ///
    /// Examples: --set machine.dram.capacity="2 GiB", --set transfer.page_size="64 KiB"
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Give the GPU as much memory as the program has at its peak, divided by F
    ///
    /// The program runs twice: first without simulated time or output, to see how much it allocates. Standard input is read twice if it
    /// is a file, and is empty in the first run if it is not. With --set 'program.oversubscribe=[0.8, 1.5]', one row for each
    /// factor.
    #[arg(long, value_name = "F", value_parser = values::factor, allow_negative_numbers = true)]
    pub oversubscribe: Option<f64>,

    /// GPU memory for the program, such as 16GiB, instead of what the machine has
    #[arg(long = "gpu-memory", value_name = "SIZE", value_parser = values::size, conflicts_with = "oversubscribe")]
    pub gpu_memory_bytes: Option<u64>,

    /// Only execute the kernels, without simulated time: the fastest way to the program's results
    #[arg(long, conflicts_with = "oversubscribe")]
    pub functional: bool,

    /// Find bugs in kernels: out-of-bounds, freed and uninitialized memory, races, lanes that miss a barrier
    ///
    /// Each is a line of standard error, once for each source line, and the exit code is 1 if there are any. Compile with
    /// -lineinfo to see source lines. Without simulated time, as with --functional.
    #[arg(long, conflicts_with = "oversubscribe")]
    pub check: bool,

    /// How much to time: full (every launch), sampled (some of them, for an estimate with an error bar), or pages (page
    /// traffic alone, with a lower bound for time)
    #[arg(long, value_name = "DETAIL", value_parser = ["full", "sampled", "pages"], default_value = "full", conflicts_with_all = ["functional", "check"])]
    pub detail: String,

    /// Print the environment variables of the program to standard error
    #[arg(long)]
    pub verbose: bool,

    /// Write results to standard output in this form, and the program's output to standard error
    ///
    /// Without it, standard output is the program's, and a table goes to standard error.
    #[arg(long, value_enum)]
    pub format: Option<RunFormat>,

    /// Also write results.json, results.csv, results.parquet, report.html and timeline.pftrace there
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

/// Rows are matched by the parameters that both files have. An error is the first value over the second, minus one.
#[derive(Args, Debug)]
pub struct CompareArguments {
    /// The results.json to judge, such as that of a simulation
    #[arg(value_name = "FIRST.json")]
    pub first: PathBuf,

    /// The results.json to judge it by, such as that of a measurement
    #[arg(value_name = "SECOND.json")]
    pub second: PathBuf,

    /// A metric to compare; may be repeated [default: the first time or transfer rate that both have]
    #[arg(long = "metric", value_name = "COLUMN")]
    pub metrics: Vec<String>,

    /// A parameter to ignore in matching rows; may be repeated
    #[arg(long = "ignore", value_name = "COLUMN")]
    pub ignored: Vec<String>,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,
}

/// `run --out` and `cuda --out` record where pages are if pages migrate; their report.html shows the same map.
#[derive(Args, Debug)]
pub struct ViewArguments {
    /// A folder of results, or a page map
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,

    /// The HTML file to write [default: beside RESULT]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Open the page in the browser of the desktop
    #[arg(long)]
    pub open: bool,
}

/// The site needs no server and no network.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// A folder with runs (results.json) at any depth
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// The folder of the site; files of an earlier site are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Title of the site
    #[arg(long, value_name = "TEXT", default_value = "Runs of pagemill")]
    pub title: String,
}

#[derive(Subcommand, Debug)]
pub enum GpuCommand {
    /// Read managed memory that is larger than the GPU's, under every pattern and strategy
    Bench(GpuBenchArguments),
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

/// Where the virtual time of computing is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComputeArgument {
    None,
    Measured,
    File(PathBuf),
}

impl std::str::FromStr for ComputeArgument {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "none" => Self::None,
            "measured" => Self::Measured,
            path => Self::File(path.into()),
        })
    }
}

/// Bytes really move between the processes; the time they take is the simulated interface's, and MPI_Wtime shows it.
#[derive(Args, Debug)]
pub struct MpiArguments {
    /// A machine file of kind "nic", or the name of a built-in one
    #[arg(long, default_value = "pni")]
    pub machine: String,

    /// Print the counters of each rank's interface to standard error
    #[arg(long)]
    pub report: bool,

    /// Ranks per node: they share one simulated interface, and exchange messages through shared memory
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks_per_node: u32,

    /// Latency in nanoseconds of a message between ranks of a node, without copies and overheads
    #[arg(long = "node-latency", value_name = "NS", default_value_t = 220, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub node_latency_ns: u64,

    /// Which clocks of the program show virtual time
    #[arg(long, value_enum, default_value_t = Clock::Mpi)]
    pub clock: Clock,

    /// Virtual time of computation between calls: none, measured (its CPU time), or a file written by --compute-out, for the same times in every run
    #[arg(long, value_name = "none|measured|FILE", default_value = "none")]
    pub compute: ComputeArgument,

    /// With --compute measured: virtual seconds per second of CPU time; 2 stands for a processor of half the speed [default: 1]
    #[arg(long, value_name = "FACTOR")]
    pub cpu_factor: Option<f64>,

    /// Write the times of computation to a file
    #[arg(long, value_name = "FILE")]
    pub compute_out: Option<PathBuf>,

    /// Write a timeline of all ranks for ui.perfetto.dev: calls, waits with their causes, messages
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,

    /// Real seconds to wait for a process that makes no progress; then others go on without it, or, if it is stopped, the job ends [default: 20;
    /// 600 with --compute]
    #[arg(long = "patience", value_name = "SECONDS")]
    pub patience_seconds: Option<u64>,

    /// Set a value of the machine; a list runs the program once for each
    ///
    /// Example: --set 'machine.att.page=["8 KiB", "2 MiB"]'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Write results to standard output in this form, and the program's output to standard error
    #[arg(long, value_enum)]
    pub format: Option<RunFormat>,

    /// Write results.json, results.csv, results.parquet and report.html there: a row for each rank and kind of call
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The command, such as: mpirun -n 2 ./program
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// MPI_Wtime
    Mpi,
    /// MPI_Wtime, and gettimeofday where the program itself calls it
    Program,
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

/// Without --policy: exact for every number of page colors, in one pass. Colors change the number of sets of a cache, not its ways: the usual
/// curve by stack distances is an approximation, which --stack-distance adds. With --policy: the misses of replacement
/// policies for a list of sizes, exact or of a sample.
#[derive(Args, Debug)]
pub struct MrcArguments {
    /// A trace: pagemill's format, text of `valgrind --tool=lackey --trace-mem=yes` or of DynamoRIO's view tool, or another format by name
    #[arg(required_unless_present = "program", conflicts_with = "program")]
    pub trace: Option<PathBuf>,

    /// Instead of a trace, a program and its arguments, whose heap is traced in a virtual machine
    ///
    /// It has to be dynamically linked. Its libraries, and files that its arguments name, are copied into the virtual machine,
    /// which has no network and no disk. What it writes goes to standard error.
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,

    /// A file for the program's standard input [default: nothing]
    #[arg(long, value_name = "FILE", requires = "program")]
    pub stdin: Option<PathBuf>,

    /// A further file or folder that the program reads
    #[arg(long, value_name = "PATH", requires = "program")]
    pub with: Vec<PathBuf>,

    /// Record every reference, not only those that miss a first cache of 32 KiB, 8 ways
    #[arg(long, requires = "program")]
    pub all_references: bool,

    /// Memory of the virtual machine
    #[arg(long = "memory", value_name = "SIZE", value_parser = values::size, default_value = "1GiB", requires = "program")]
    pub memory_bytes: u64,

    /// End the virtual machine after this many seconds
    #[arg(
        long = "time-limit",
        value_name = "S",
        default_value_t = 600,
        requires = "program"
    )]
    pub time_limit_s: u32,

    /// Keep the trace in this file
    #[arg(long, value_name = "FILE", requires = "program")]
    pub keep_trace: Option<PathBuf>,

    /// Format of the trace [default: recognized by its first bytes]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub trace_format: Option<TraceFormat>,

    /// The columns of a table of comma-separated values, from 1
    ///
    /// As object=2,bytes=3,header,delimiter=; for requests of objects by name, number=2 by number, or address=1 for memory.
    #[arg(long, value_name = "COLUMNS", conflicts_with = "trace_format")]
    pub csv: Option<pagemill_trace::Columns>,

    /// Show the curves of these policies of `pagemill list policies`, with commas between, instead of colors
    #[arg(long = "policy", value_name = "LIST", value_delimiter = ',', value_parser = values::replacement,
          conflicts_with_all = ["cache_bytes", "page_bytes", "sample", "stack_distance"])]
    pub policies: Vec<&'static ReplacementEntry>,

    /// With --policy: capacities, with commas between, in bytes or as a share of all, as 64KiB or 10% [default: 12 shares]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::cache_size, requires = "policies")]
    pub sizes: Vec<CacheSize>,

    /// With --policy: count every object as 1, so that sizes are numbers of objects
    #[arg(long, requires = "policies")]
    pub ignore_sizes: bool,

    /// With --policy: watch this share of all objects, chosen by hash, as 0.01
    #[arg(
        long,
        value_name = "SHARE",
        requires = "policies",
        conflicts_with = "sample_objects"
    )]
    pub sample_rate: Option<f64>,

    /// With --policy: watch this many objects, chosen by hash; memory does not grow with the trace
    #[arg(long, value_name = "N", requires = "policies")]
    pub sample_objects: Option<NonZeroUsize>,

    /// Capacity of the shared cache
    #[arg(long = "cache", value_name = "SIZE", value_parser = values::size, default_value = "6MiB")]
    pub cache_bytes: u64,

    /// Lines of a set
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub ways: u32,

    /// Size of a line
    #[arg(long = "line", value_name = "SIZE", value_parser = values::size, default_value = "64B")]
    pub line_bytes: u64,

    /// Size of a page
    #[arg(long = "page", value_name = "SIZE", value_parser = values::size, default_value = "4KiB")]
    pub page_bytes: u64,

    /// Watch every n-th line of a page only; exact for those lines
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub sample: u32,

    /// With a sample: also compute the exact curve, and the error of the sample
    #[arg(long)]
    pub exact: bool,

    /// Add the approximation by stack distances, and its error
    #[arg(long)]
    pub stack_distance: bool,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also write results.json, results.csv, results.parquet and report.html to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// pagemill's own
    Native,
    /// Text of Valgrind's lackey
    Lackey,
    /// Text of the view tool of DynamoRIO's drcachesim
    Drcachesim,
    /// libCacheSim's binary format; for page colors, an object is a line
    OracleGeneral,
    /// Instructions of ChampSim
    Champsim,
}

impl MrcArguments {
    /// The format of the trace, if it was named.
    pub fn format_of_trace(&self) -> Option<pagemill_trace::Format> {
        let table = self.csv.map(pagemill_trace::Format::Csv);
        table.or(self.trace_format.map(Into::into))
    }
}

impl From<TraceFormat> for pagemill_trace::Format {
    fn from(format: TraceFormat) -> Self {
        match format {
            TraceFormat::Native => Self::Native,
            TraceFormat::Lackey => Self::Lackey,
            TraceFormat::Drcachesim => Self::DrCacheSim,
            TraceFormat::OracleGeneral => Self::OracleGeneral,
            TraceFormat::Champsim => Self::ChampSim,
        }
    }
}
