//! What can go wrong between a host program and its GPU.

use crate::gpu::sm::occupancy::Occupancy;
use pagemill_pages::SpecError;
use pagemill_ptx::{LaunchError, MemoryError, PtxError, Trap};
use std::fmt;

/// A request of the host that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The machine or the transfer mode cannot be.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// An allocation of nothing.
    #[error("cannot allocate 0 bytes for {name:?}: give it at least one")]
    EmptyAllocation {
        /// Name of the wanted buffer.
        name: String,
    },
    /// GPU memory is too small, and this transfer mode moves no pages out.
    #[error(
        "cannot allocate {bytes} bytes for {name:?}: {used} of the GPU's {capacity} bytes are taken; \
         raise machine.{key} or choose a transfer mode that migrates pages, such as whole-page"
    )]
    OutOfMemory {
        /// Name of the wanted buffer.
        name: String,
        /// Bytes wanted.
        bytes: u64,
        /// Bytes taken, rounded up to pages.
        used: u64,
        /// Bytes the GPU has.
        capacity: u64,
        /// The machine's key that has them.
        key: &'static str,
    },
    /// More pages than the simulator keeps state for.
    #[error(
        "{bytes} bytes for {name:?} would need {pages} pages in all, more than {most}: use a larger page"
    )]
    TooManyPages {
        /// Name of the wanted buffer.
        name: String,
        /// Bytes wanted.
        bytes: u64,
        /// Pages then in use.
        pages: u64,
        /// Pages that can be in use.
        most: u64,
    },
    /// Device memory refused.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A kernel asked for a copy or a fill that cannot be.
    #[error("a copy or fill that a kernel asked for: {0}")]
    DeviceCopy(Box<MemoryError>),
    /// PTX text that cannot be run.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// A module has no such kernel.
    #[error("module {module:?} has no kernel {kernel:?}: {known}")]
    UnknownKernel {
        /// The module's source name.
        module: String,
        /// What was asked for.
        kernel: String,
        /// What there is, as a phrase.
        known: String,
    },
    /// The wrong number of arguments.
    #[error("kernel {kernel}: {given} arguments were given, it takes {wanted}")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Arguments given.
        given: usize,
        /// Parameters it has.
        wanted: usize,
    },
    /// An argument of the wrong size.
    #[error("kernel {kernel}: argument {index} ({name}) has {given} bytes, its parameter {wanted}")]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// The parameter's name.
        name: String,
        /// Bytes given.
        given: usize,
        /// Bytes the parameter has.
        wanted: u32,
    },
    /// An impossible launch.
    #[error(transparent)]
    Refused(#[from] LaunchError),
    /// The kernel did something wrong.
    #[error(transparent)]
    Trap(Box<Trap>),
    /// A program that is no PTX kernel failed.
    #[error("kernel {kernel}: {message}")]
    Program {
        /// The kernel.
        kernel: String,
        /// What it says.
        message: String,
    },
    /// A module of another GPU.
    #[error("module {index} was not loaded into this GPU: use the Gpu that loaded it")]
    UnknownModule {
        /// Its number.
        index: u32,
    },
    /// A copy reaches past its buffer.
    #[error("bytes {start}..{end} are not within {name:?}, which has {bytes} bytes")]
    OutOfRange {
        /// Name of the buffer.
        name: String,
        /// First byte of the copy.
        start: u64,
        /// One past its last byte.
        end: u64,
        /// Size of the buffer.
        bytes: u64,
    },
    /// A buffer of another GPU.
    #[error("no buffer of this GPU starts at {address:#x}: use the Gpu that allocated it")]
    UnknownBuffer {
        /// Its address.
        address: u64,
    },
    /// The launch did not come to its end.
    #[error("kernel {kernel}: {failure}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What happened.
        failure: LaunchFailure,
    },
}

/// Why a launch did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchFailure {
    /// Not even one block fits into an SM.
    DoesNotFit(Occupancy),
    /// More thread instructions than `limits.thread_instructions`.
    InstructionLimit {
        /// The limit of the whole run.
        limit: u64,
    },
    /// The flag of [`Gpu::stop_when`](crate::gpu::Gpu::stop_when) was set.
    Stopped,
    /// More than 18 minutes of simulated time.
    TimeLimit,
    /// The warps of a block wait for each other.
    Deadlock {
        /// The block.
        block: u64,
    },
}

impl fmt::Display for LaunchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DoesNotFit(occupancy) => write!(
                f,
                "one block needs more {} than an SM of this machine has: use smaller blocks or a larger SM",
                occupancy.limiter
            ),
            Self::InstructionLimit { limit } => write!(
                f,
                "stopped after {limit} thread instructions in all: raise limits.thread_instructions if this is no endless loop"
            ),
            Self::Stopped => f.write_str("stopped on request"),
            Self::TimeLimit => {
                f.write_str("stopped after 18 minutes of simulated time in one launch")
            }
            Self::Deadlock { block } => write!(
                f,
                "the warps of block {block} wait for each other at a barrier that not all of them reach"
            ),
        }
    }
}
