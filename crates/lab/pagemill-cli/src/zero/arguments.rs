use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::output::TextFormat;

#[derive(Args, Debug)]
pub struct ZeroArguments {
    #[command(subcommand)]
    pub command: ZeroCommand,
}

#[derive(Subcommand, Debug)]
pub enum ZeroCommand {
    /// Serve as pool: clear huge pages in advance, and lend them over a socket
    Serve(ServeArguments),
    /// Show the state of the pool
    Status(StatusArguments),
    /// Run a program whose large allocations are served by the pool
    Run(PreloadArguments),
}

/// Needs huge pages in the kernel's stock; as root, --reserve adds them for the time of the run.
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// Huge pages to keep
    #[arg(long, value_name = "N", required_unless_present = "kernel")]
    pub pages: Option<NonZeroUsize>,

    /// Clear for the kernel module `pagemill_zero`, rather than for clients of a socket (root)
    #[arg(long, conflicts_with_all = ["pages", "size", "socket", "socket_mode", "shelves", "quota", "no_recycle", "reserve"])]
    pub kernel: bool,

    /// With --kernel: poll the ring without sleeping, which takes a whole CPU
    #[arg(long, conflicts_with = "pages")]
    pub busy: bool,

    /// With --kernel: most pieces of 2 MiB given to the engine at once
    #[arg(long, value_name = "N", default_value = "16", conflicts_with = "pages")]
    pub batch: NonZeroUsize,

    /// Size of a page: 2M or 1G
    #[arg(long, default_value = "2M")]
    pub size: String,

    /// Where clients connect [default: $PAGEMILL_ZERO_SOCKET, else /run/pagemill/zero.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// Who may connect, as the octal mode of the socket
    #[arg(long, value_name = "MODE", default_value = "666")]
    pub socket_mode: String,

    /// Keep files of this many pages, as PAGES=FILES; may be repeated
    ///
    /// Without it, seven eighths are files of 64 MiB, the rest single pages.
    #[arg(long = "shelf", value_name = "PAGES=FILES")]
    pub shelves: Vec<String>,

    /// Most pages of one user [default: half; all for root and the user who serves]
    #[arg(long, value_name = "N")]
    pub quota: Option<NonZeroUsize>,

    /// Engine that clears returned memory; see `pagemill doctor zero`
    #[arg(long, default_value = "auto")]
    pub engine: String,

    /// Return all memory to the kernel, rather than lend it to the same user again
    #[arg(long)]
    pub no_recycle: bool,

    /// Add the pages to the kernel's stock, and remove them at the end (root)
    #[arg(long)]
    pub reserve: bool,
}

#[derive(Args, Debug)]
pub struct StatusArguments {
    /// Where the pool listens [default: $PAGEMILL_ZERO_SOCKET, else /run/pagemill/zero.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = StatusFormat::Table)]
    pub format: StatusFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatusFormat {
    Table,
    Json,
    Prometheus,
}

/// Adds huge pages to the kernel's stock while it runs, so it must be root.
#[derive(Args, Debug)]
pub struct BenchArguments {
    /// What to measure [default: all]
    #[arg(value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,

    /// Huge pages of 2 MiB for each way of a comparison
    #[arg(long, value_name = "N", default_value = "128")]
    pub pages: NonZeroUsize,

    /// Memory of the start-up comparison, in MiB
    #[arg(long, value_name = "MIB", default_value = "2048")]
    pub startup: NonZeroUsize,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub format: TextFormat,

    /// Also write results.json, results.csv, results.parquet and report.html of each experiment to a folder of its name in this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct PreloadArguments {
    /// Where the pool listens [default: $PAGEMILL_ZERO_SOCKET, else /run/pagemill/zero.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// libpagemill_zero_preload.so [default: beside pagemill, or in ../lib/pagemill]
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,

    /// Source of large memory
    #[arg(long, value_enum, default_value_t = MemorySource::Pool)]
    pub source: MemorySource,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemorySource {
    /// Clean huge pages of the pool
    Pool,
    /// Huge pages of the kernel's stock, cleared at the first touch
    Hugetlb,
    /// The kernel, with transparent huge pages
    Thp,
    /// The kernel, populated and cleared when the allocation returns
    Populate,
}

impl MemorySource {
    /// As the preload library knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Hugetlb => "hugetlb",
            Self::Thp => "thp",
            Self::Populate => "populate",
        }
    }
}
