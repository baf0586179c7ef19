//! `pagemill report compare`: two results side by side.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use pagemill_report::{ResultSet, Terms, read};
use pagemill_trace::unpacked;

use crate::failure::Failure;
use crate::output::{RunFormat, print_results};

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

/// Larger files are no results that can be compared by reading.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Compares the two files.
pub fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let first = results(&arguments.first)?;
    let second = results(&arguments.second)?;
    let name = |path: &Path| path.display().to_string();
    let terms = Terms {
        metrics: arguments.metrics.clone(),
        ignored: arguments.ignored.clone(),
    };
    let comparison = pagemill_report::compare(
        (&name(&arguments.first), &first),
        (&name(&arguments.second), &second),
        &terms,
    )
    .map_err(|error| Failure::Usage(error.to_string()))?;
    print_results(&comparison.set, arguments.format)
}

/// The results that a file holds.
pub fn results(path: &Path) -> Result<ResultSet, Failure> {
    let text = text(path)
        .map_err(|reason| Failure::Usage(format!("cannot read {}: {reason}", path.display())))?;
    read(&text).map_err(|error| {
        Failure::Usage(format!(
            "{}: {error}; `pagemill run` and `pagemill doctor gpu` write results.json with --out DIR",
            path.display()
        ))
    })
}

fn text(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let (_, unpacked) = unpacked(file).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    unpacked
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20));
    }
    String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 text ({error})"))
}
