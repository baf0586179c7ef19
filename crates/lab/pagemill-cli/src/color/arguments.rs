use std::ffi::OsString;
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::output::TextFormat;

#[derive(Args, Debug)]
pub struct ColorArguments {
    #[command(subcommand)]
    pub command: ColorCommand,
}

#[derive(Subcommand, Debug)]
pub enum ColorCommand {
    /// Run a program whose heap is in pages of its own cache colors
    Run(RunArguments),
    /// Serve as coordinator: divide the colors among tasks, again whenever a task starts or ends
    Serve(ServeArguments),
    /// Show which tasks run, and which colors they have
    Status(StatusArguments),
    /// The companion of a task
    #[command(hide = true)]
    Hold(HoldArguments),
}

/// Needs the kernel module pagemill_color, or a processor that divides its cache and resctrl. Exit code 3: neither is there; the message says what is missing. Otherwise the exit code is the
/// program's.
#[derive(Args, Debug)]
pub struct RunArguments {
    #[command(flatten)]
    pub need: NeedArguments,

    #[command(flatten)]
    pub memory: MemoryArguments,

    /// Where the coordinator listens [default: $PAGEMILL_COLOR_SOCKET, else /run/pagemill/color.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// libpagemill_color_preload.so [default: beside pagemill, or in ../lib/pagemill]
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// What the task asks for.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub struct NeedArguments {
    /// Number of colors, whatever other tasks need
    #[arg(long, value_name = "N")]
    pub colors: Option<NonZeroU16>,

    /// Class of the task: A, B (misses follow the share), C (a stream), D (few misses)
    #[arg(long, value_name = "CLASS", ignore_case = true, value_parser = ["A", "B", "C", "D"])]
    pub class: Option<String>,

    /// Its miss curve: results.json of `pagemill mrc --out DIR`
    #[arg(long, value_name = "FILE")]
    pub curve: Option<PathBuf>,
}

/// What the task's pages are made of.
#[derive(Args, Clone, Debug)]
pub struct MemoryArguments {
    /// What happens when a color has no frame left
    #[arg(long, value_enum, default_value_t = WhenEmpty::Any)]
    pub when_empty: WhenEmpty,

    /// What gives the program its colors
    #[arg(long, value_enum, default_value_t = Backend::Auto, conflicts_with = "stand_in")]
    pub backend: Backend,

    /// Where resctrl is mounted
    #[arg(long, value_name = "PATH", default_value = pagemill_linux::resctrl::MOUNT, hide = true)]
    pub resctrl: PathBuf,

    /// For tests: use a file in place of the module, with this many colors, none of them real
    #[arg(long, value_name = "COLORS", hide = true)]
    pub stand_in: Option<NonZeroU16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The module if it is loaded, else resctrl
    Auto,
    /// The kernel module pagemill_color: pages
    Module,
    /// The kernel's resctrl (Intel CAT, AMD QoS, Arm MPAM): ways
    Resctrl,
}

impl Backend {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Module => "module",
            Self::Resctrl => "resctrl",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhenEmpty {
    /// Another color of the task, then any frame
    Any,
    /// Another color of the task, then a bus error
    Set,
    /// A bus error
    Fail,
}

#[derive(Args, Debug)]
pub struct HoldArguments {
    #[arg(long)]
    pub process: u32,
    #[arg(long)]
    pub name: String,
    #[arg(long)]
    pub need: Option<String>,
    #[arg(long)]
    pub socket: PathBuf,
    #[arg(long)]
    pub detached: bool,
    #[command(flatten)]
    pub memory: MemoryArguments,
}

/// When it ends, tasks keep their colors and reconnect to the next coordinator.
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// What gives programs their colors
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub backend: Backend,

    /// Where resctrl is mounted
    #[arg(long, value_name = "PATH", default_value = pagemill_linux::resctrl::MOUNT, hide = true)]
    pub resctrl: PathBuf,

    /// Colors of the cache [default: what the module or resctrl says]
    #[arg(long, value_name = "N")]
    pub colors: Option<NonZeroU16>,

    /// How colors are divided: a quota policy of `pagemill list policies`
    #[arg(long, value_name = "NAME", default_value = "best-quota")]
    pub policy: String,

    /// Where tasks connect [default: $PAGEMILL_COLOR_SOCKET, else /run/pagemill/color.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// Who may connect, as the octal mode of the socket
    #[arg(long, value_name = "MODE", default_value = "666")]
    pub socket_mode: String,

    /// After the start, wait this long for tasks of a former coordinator before colors change
    #[arg(long = "grace", value_name = "MS", default_value_t = 1500)]
    pub grace_ms: u32,

    /// After the end of a task, wait this long for another before its colors go to the others
    #[arg(long = "settle", value_name = "MS", default_value_t = 200)]
    pub settle_ms: u32,
}

#[derive(Args, Debug)]
pub struct StatusArguments {
    /// Where the coordinator listens [default: $PAGEMILL_COLOR_SOCKET, else /run/pagemill/color.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub format: TextFormat,
}

/// Only root can read frame numbers; without them, it remains unknown whether colors follow physical addresses.
#[derive(Args, Debug)]
pub struct ProbeArguments {
    /// The cache to probe: 2 or 3
    #[arg(long, value_name = "LEVEL", default_value = "2")]
    pub level: NonZeroU32,

    /// Number of pages to sort by color
    #[arg(long, value_name = "N", default_value = "128")]
    pub pages: NonZeroU32,

    /// What to write to standard output
    #[arg(long, value_enum, default_value_t = TextFormat::Table)]
    pub format: TextFormat,

    /// Also write results.json, results.csv, results.parquet and report.html to this directory
    ///
    /// Replaced as a whole at the end; refused if it holds anything but earlier results.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
