//! The arguments of `pagemill mrc`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::output::RunFormat;
use crate::values;

/// Exact for every number of page colors, in one pass. Colors change the number of sets of a cache, not its ways: the usual curve by stack
/// distances is an approximation, which --stack-distance adds.
#[derive(Args, Debug)]
pub struct MrcArguments {
    /// A trace: pagemill's format, text of `valgrind --tool=lackey --trace-mem=yes` or of DynamoRIO's view tool, or another format by name
    #[arg(required_unless_present = "program", conflicts_with = "program")]
    pub trace: Option<PathBuf>,

    /// Instead of a trace, a program and its arguments, recorded as QEMU's user mode runs it
    ///
    /// All references of its own process to data are recorded: not those of programs that it starts. What it writes goes to standard error.
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,

    /// A file for the program's standard input [default: nothing]
    #[arg(long, value_name = "FILE", requires = "program")]
    pub stdin: Option<PathBuf>,

    /// Record every reference, not only those that miss a first cache of 32 KiB, 8 ways
    #[arg(long, requires = "program")]
    pub all_references: bool,

    /// Keep the trace in this file
    #[arg(long, value_name = "FILE", requires = "program")]
    pub keep_trace: Option<PathBuf>,

    /// Format of the trace [default: recognized by its first bytes]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub trace_format: Option<TraceFormat>,

    /// The columns of a table of comma-separated values, from 1
    ///
    /// As address=2,bytes=3,header,delimiter=;
    #[arg(long, value_name = "COLUMNS", conflicts_with = "trace_format")]
    pub csv: Option<pagemill_trace::Columns>,

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

impl MrcArguments {
    /// The format of the trace, if it was named.
    pub fn format_of_trace(&self) -> Option<pagemill_trace::Format> {
        let table = self.csv.map(pagemill_trace::Format::Csv);
        table.or(self.trace_format.map(Into::into))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// pagemill's own
    Native,
    /// Text of Valgrind's lackey
    Lackey,
    /// Text of the view tool of DynamoRIO's drcachesim
    Drcachesim,
    /// Instructions of ChampSim
    Champsim,
}

impl From<TraceFormat> for pagemill_trace::Format {
    fn from(format: TraceFormat) -> Self {
        match format {
            TraceFormat::Native => Self::Native,
            TraceFormat::Lackey => Self::Lackey,
            TraceFormat::Drcachesim => Self::DrCacheSim,
            TraceFormat::Champsim => Self::ChampSim,
        }
    }
}
