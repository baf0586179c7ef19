//! The arguments of `pagemill mpi`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::output::RunFormat;

/// Where the virtual time of computing is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComputeArgument {
    None,
    Measured,
    Counted,
    File(PathBuf),
}

impl std::str::FromStr for ComputeArgument {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "none" => Self::None,
            "measured" => Self::Measured,
            "counted" => Self::Counted,
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

    /// Virtual time of computation between calls: none, counted (its instructions, the same in every run), measured (its CPU time), or a file
    /// written by --compute-out
    #[arg(
        long,
        value_name = "none|counted|measured|FILE",
        default_value = "none"
    )]
    pub compute: ComputeArgument,

    /// With --compute measured: virtual seconds per second of CPU time; 2 stands for a processor of half the speed [default: 1]
    #[arg(long, value_name = "FACTOR")]
    pub cpu_factor: Option<f64>,

    /// With --compute counted: picoseconds that an instruction takes; 500 stands for two thousand million a second [default: 500]
    #[arg(long, value_name = "PS", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub instruction_ps: Option<u64>,

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

    /// Write results.json, results.csv, results.parquet and report.html there: a row for each rank and kind of call, a map of each rank's
    /// translation table
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
