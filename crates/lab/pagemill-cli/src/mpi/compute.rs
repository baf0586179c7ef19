//! Where the virtual time of computing is from, and the file that keeps it.

use std::path::Path;

use pagemill_fabric::compute::Record;
use pagemill_fabric::launch::{ComputeTime, Job};
use pagemill_linux::library::emulator;

use super::arguments::ComputeArgument;
use super::arguments::MpiArguments;
use crate::failure::Failure;
use crate::output::write_file;

/// Picoseconds of an instruction: a processor of 2 GHz that executes one in each cycle.
const INSTRUCTION_PS: u64 = 500;

/// What `--compute`, `--cpu-factor` and `--instruction-ps` ask for.
///
/// # Errors
/// The factor has no meaning, the file is no record, or QEMU is not there.
pub fn time_of(arguments: &MpiArguments) -> Result<ComputeTime, Failure> {
    if let Some(factor) = arguments.cpu_factor {
        if arguments.compute != ComputeArgument::Measured {
            return Err(Failure::Usage(
                "--cpu-factor goes with --compute measured only".to_owned(),
            ));
        }
        if !factor.is_finite() || factor <= 0.0 {
            return Err(Failure::Usage(format!(
                "--cpu-factor is {factor}; it has to be a number above 0"
            )));
        }
    }
    if arguments.instruction_ps.is_some() && arguments.compute != ComputeArgument::Counted {
        return Err(Failure::Usage(
            "--instruction-ps goes with --compute counted only".to_owned(),
        ));
    }
    match &arguments.compute {
        ComputeArgument::None => Ok(ComputeTime::None),
        ComputeArgument::Counted => Ok(ComputeTime::Counted {
            instruction_ps: arguments.instruction_ps.unwrap_or(INSTRUCTION_PS),
            emulator: emulator("--compute counted").map_err(Failure::Usage)?,
        }),
        ComputeArgument::Measured => Ok(ComputeTime::Measured(arguments.cpu_factor.unwrap_or(1.0))),
        ComputeArgument::File(path) => recorded(path),
    }
}

fn recorded(path: &Path) -> Result<ComputeTime, Failure> {
    let unusable = |error: String| {
        Failure::Usage(format!(
            "--compute {}: {error}; it is `none`, `counted`, `measured`, or a file that --compute-out wrote",
            path.display()
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
    text.parse::<Record>().map_err(unusable)?;
    let whole = path
        .canonicalize()
        .map_err(|error| unusable(error.to_string()))?;
    Ok(ComputeTime::Recorded(whole))
}

/// Writes what the job's processes computed; the file is whole or not there.
///
/// # Errors
/// A rank left no record, or the file cannot be written.
pub fn keep(job: &Job, path: &Path) -> Result<(), Failure> {
    let text = job.compute_record().map_err(Failure::Run)?;
    write_file(path, |out| out.write_all(text.as_bytes()))
}
