//! Which calls would make a CUDA program faster: its allocations, hints tried for each of them, and what they gain.
//!
//! The program is run as it is, then with one change at a time. Its results have to stay the same.

mod allocations;
mod hints;
mod judge;
mod rows;
mod search;
mod trial;

pub use allocations::Allocation;
pub use hints::{Change, Configuration};
pub use judge::Judge;
pub use rows::{ALLOCATION_ROW, CHANGE_ROW, calls_to_add, result_set, table_of};
pub use search::{Answer, Progress, Tried, Verdict};

use std::sync::atomic::AtomicBool;

use pagemill_scenario::CudaPoint;
use pagemill_sim::Allocated;

use crate::Stdout;
use crate::kind::cuda::{divide, memory_of};
use crate::pool::PointError;
use trial::Program;
pub use trial::read;

/// What is asked about a program.
#[derive(Debug)]
pub struct Question<'a> {
    /// The program, its machine and its GPU memory.
    pub spec: &'a CudaPoint,
    /// Most runs, the first one included.
    pub runs: usize,
    /// Lines of standard output with one of these texts may differ from run to run.
    pub ignored: &'a [String],
    /// Set once no more runs are wanted: what is known by then is the answer.
    pub stop: &'a AtomicBool,
}

/// Tries hints for the program, and says what each gains.
///
/// # Errors
/// The program cannot be run, fails, or allocates no managed memory.
pub fn advise(question: &Question<'_>, progress: &mut Progress<'_>) -> Result<Answer, PointError> {
    let program = Program::new(question.spec, memory_of(question.spec)?);
    search::search(question, &mut |how| program.run(how), progress)
}

/// Runs the program with the calls of `configuration` added, as the user sees it; answers with its exit code and its time.
///
/// # Errors
/// It cannot be run.
pub fn apply(
    spec: &CudaPoint,
    gpu_memory_bytes: Option<u64>,
    configuration: &Configuration,
    stdout: Stdout,
) -> Result<(u8, u64), PointError> {
    Program::new(spec, gpu_memory_bytes).show(configuration, stdout)
}

/// GPU memory that the program of `answer` has `factor` times of at its peak, in whole pages.
///
/// # Errors
/// Memory that cannot leave the GPU does not fit it.
pub fn capacity(answer: &Answer, factor: f64, page_bytes: u64) -> Result<u64, String> {
    let peak = Allocated {
        peak_bytes: answer.peak_bytes,
        fixed_peak_bytes: answer.fixed_bytes,
        ..Allocated::default()
    };
    divide(&peak, factor, page_bytes)
}

/// The time that the program takes with the calls of `configuration` added.
///
/// # Errors
/// It cannot be run.
pub fn time_ns(spec: &CudaPoint, configuration: &Configuration) -> Result<u64, PointError> {
    let program = Program::new(spec, memory_of(spec)?);
    Ok(program.run(configuration)?.time_ns())
}
