//! How a launch ends.

use crate::gpu::sm::occupancy::Occupancy;
use crate::gpu::stats::ExecutionStats;
use pagemill_types::Picos;

/// Why a launch did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError<E> {
    /// Not even one block fits into an SM.
    DoesNotFit(Occupancy),
    /// The program failed.
    Stream(E),
    /// More thread instructions than allowed.
    InstructionLimit,
    /// The stop flag was set.
    Stopped,
    /// More simulated time than a launch can have.
    TimeLimit,
    /// Blocks are left whose warps all wait for each other.
    Deadlock {
        /// The first such block.
        block: u64,
    },
}

/// What a launch did.
#[derive(Clone, Debug)]
pub(crate) struct RunOutcome {
    pub(crate) end: Picos,
    pub(crate) execution: ExecutionStats,
    pub(crate) occupancy: Occupancy,
    /// For how long warps stood still for each instruction; empty where lines are not known.
    pub(crate) waits: Vec<Picos>,
}
