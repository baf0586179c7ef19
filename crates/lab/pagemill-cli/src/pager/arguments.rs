use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::output::RunFormat;
use crate::values;

#[derive(Args, Debug)]
pub struct PagerArguments {
    #[command(subcommand)]
    pub command: PagerCommand,
}

#[derive(Subcommand, Debug)]
pub enum PagerCommand {
    /// Run a program with a memory budget; the rest of its memory is compressed, in a folder or on a server
    Run(Box<RunArguments>),
    /// Serve as page server: keep memory of other programs and machines
    Serve(ServeArguments),
    /// Show the pagers that run on this computer: faults, bytes each way, waiting
    Top(TopArguments),
    /// Show the counters of a page server, in the text format of Prometheus
    Status(StatusArguments),
}

/// Large allocations and anonymous mappings of the program are paged. The exit code is the program's. Exit code 3: this user may not
/// answer page faults, or the kernel is too old; the message says what would help.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// The budget: frames for paged memory
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub memory: u64,

    /// Where the rest goes: compressed, a folder, tcp://HOST:PORT, unix:PATH, or compressed:SIZE,WHERE for two
    #[arg(long, value_name = "WHERE", default_value = "compressed")]
    pub to: String,

    /// Most bytes that the rest may take up
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub limit: Option<u64>,

    /// Unit of eviction, 64 KiB to 2 MiB
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "64KiB")]
    pub page_size: u64,

    /// Which ranges of a page move: a migration policy of `pagemill list policies`
    #[arg(long, value_name = "NAME", default_value = "multi-range")]
    pub policy: String,

    /// Also move gaps smaller than this
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub gap_threshold: Option<u64>,

    /// How a fault grows within its page: host-page, big-page, access-aware, density-tree
    #[arg(long, value_name = "NAME", default_value = "host-page")]
    pub growth: String,

    /// Read-ahead policy: streams, none
    #[arg(long, value_name = "NAME", default_value = "streams")]
    pub read_ahead: String,

    /// Eviction policy
    #[arg(long, value_name = "NAME", default_value = "migration-order")]
    pub eviction: String,

    /// Threads that answer faults
    #[arg(long, value_name = "N", default_value = "2")]
    pub handlers: NonZeroUsize,

    /// What happens to the program when the store fails or is full
    #[arg(long, value_enum, default_value_t = WhenStoreFails::Stop)]
    pub when_store_fails: WhenStoreFails,

    /// Do not check bytes that come from the store
    #[arg(long)]
    pub no_verify: bool,

    /// Smallest allocation that is paged
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "128KiB")]
    pub least: u64,

    #[command(flatten)]
    pub tenant: TenantArguments,

    /// Write the page trace of the program there, for scenarios of kind "pager". One thread answers faults then
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// libpagemill_pager_preload.so [default: beside pagemill, or in ../lib/pagemill]
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,

    /// Also write results to standard output in this form, and the program's output to standard error
    #[arg(long, value_enum)]
    pub format: Option<RunFormat>,

    /// Also write results.json, results.csv, results.parquet and report.html there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhenStoreFails {
    /// It ends with a message
    Stop,
    /// It waits until the store works again
    Wait,
}

/// Who a client is at a page server.
#[derive(Args, Debug)]
pub struct TenantArguments {
    /// Name at the page server
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub tenant: String,

    /// File that holds the secret of the page server
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Let bytes go to another computer as they are: all who can read the network can read them
    #[arg(long)]
    pub trust_network: bool,
}

/// Bytes go over the wire as they are: use it on one machine, through a tunnel, or with --trust-network in a network of your own.
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// Where clients connect: tcp://HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDRESS", default_value = "tcp://127.0.0.1:7470")]
    pub listen: String,

    /// Where the bytes are kept: compressed, or a folder
    #[arg(long, value_name = "WHERE", default_value = "compressed")]
    pub to: String,

    /// Most bytes that all tenants may take up there
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub limit: Option<u64>,

    /// Most bytes of memory that each tenant may keep
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub quota: Option<u64>,

    /// How long to keep a client's memory after its connection broke
    #[arg(long = "grace", value_name = "SECONDS", default_value_t = 60)]
    pub grace_seconds: u64,

    #[command(flatten)]
    pub tenant: TenantArguments,

    /// A further tenant, with a secret of its own; may be repeated
    #[arg(long = "also", value_name = "NAME=FILE")]
    pub others: Vec<String>,
}

/// Costs of faults, of moving units, of hashing and compressing, and of the stores: compressed memory, a folder, and a page server on
/// this computer. Takes about 20 seconds. Exit code 3: this user may not answer page faults, or the kernel is too old.
#[derive(Args, Debug)]
pub struct ProbeArguments {
    /// Folder for the store in a file
    #[arg(long, value_name = "DIR", default_value = "/var/tmp")]
    pub folder: PathBuf,

    /// Bytes that are kept: records, numbers, noise
    #[arg(long, value_name = "KIND", default_value = "records")]
    pub data: String,

    /// Write a machine file of kind "pager" there
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,

    /// The form of the results
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also write results.json, results.csv, results.parquet and report.html there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Programs of `pagemill pager run` and of the library for C and Python, those of this user only unless root looks. A server is shown
/// with --server. Rates are of the time since the last look.
#[derive(Args, Debug)]
pub struct TopArguments {
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub interval: Duration,

    /// Look for one interval, print, and end
    #[arg(long)]
    pub once: bool,

    /// The form of the results
    #[arg(long, value_enum, default_value_t = RunFormat::Table)]
    pub format: RunFormat,

    /// Also show the page server there
    #[arg(long, value_name = "ADDRESS", requires = "token_file")]
    pub server: Option<String>,

    #[command(flatten)]
    pub tenant: TenantArguments,

    /// Folder for temporary files of the programs
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    pub folder: PathBuf,
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    let valid = seconds.filter(|seconds| (0.01..=3600.0).contains(seconds));
    (valid.map(Duration::from_secs_f64)).ok_or_else(|| "use 0.01 to 3600 seconds".to_owned())
}

#[derive(Args, Debug)]
pub struct StatusArguments {
    /// Where the server listens
    #[arg(long, value_name = "ADDRESS", default_value = "tcp://127.0.0.1:7470")]
    pub server: String,

    #[command(flatten)]
    pub tenant: TenantArguments,
}
