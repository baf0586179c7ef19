//! What a kernel did wrong, and where.

use crate::memory::error::Nearest;
use pagemill_ptx_ir::code::warp_group::group_at;
use std::fmt;

/// A kernel that was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Kernel name.
    pub kernel: String,
    /// Name of the PTX text.
    pub source_name: String,
    /// Line of the PTX text.
    pub line: u32,
    /// CUDA source file and line, when the PTX carries `.loc`.
    pub source: Option<(String, u32)>,
    /// The line that a user wrote: `source`, or the one that calls what was inlined.
    pub users_line: Option<(String, u32)>,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index, when one thread is to blame.
    pub thread: Option<[u32; 3]>,
    /// What happened.
    pub kind: TrapKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrapKind {
    /// An access outside every allocation.
    OutOfBounds {
        /// What was tried, such as "load".
        access: &'static str,
        /// First byte.
        address: u64,
        /// Bytes the thread wanted.
        bytes: u32,
        /// What lies nearest.
        near: Nearest,
    },
    /// An access outside the block's shared memory, the thread's local memory or the parameters.
    OutsideWindow {
        /// What was tried.
        access: &'static str,
        /// Which space.
        space: &'static str,
        /// Offset in it.
        offset: u64,
        /// Bytes the thread wanted.
        bytes: u32,
        /// Size of the space in bytes.
        size: u64,
    },
    /// An address that is no multiple of the access size.
    Misaligned {
        /// What was tried.
        access: &'static str,
        /// The address.
        address: u64,
        /// The alignment needed.
        bytes: u32,
    },
    /// A store to constant memory or to parameters.
    ReadOnly {
        /// The address.
        address: u64,
    },
    /// Barrier number or thread count that is not allowed.
    BadBarrier {
        /// Barrier number.
        id: u32,
        /// Thread count given.
        threads: u32,
        /// What is wrong.
        reason: &'static str,
    },
    /// Only some threads of a warp arrived at a barrier.
    DivergedBarrier {
        /// Lanes that came.
        arrived: u32,
        /// Lanes that were expected.
        expected: u32,
    },
    /// Every warp waits and no barrier can complete.
    Deadlock {
        /// Barrier number, threads arrived and threads expected, of each that is waited for.
        barriers: Vec<(u32, u32, u32)>,
    },
    /// Every warp of a cluster waits or has ended, and its barrier cannot complete.
    ClusterDeadlock {
        /// Warps that have arrived or ended.
        arrived: u32,
        /// Warps of the cluster.
        warps: u32,
    },
    /// The barrier of the cluster, used in a wrong order.
    BadClusterBarrier {
        /// What is wrong.
        reason: &'static str,
    },
    /// An address in shared memory of a block that the cluster does not have.
    NoSuchRank {
        /// The rank that the address names.
        rank: u32,
        /// Blocks of the cluster.
        blocks: u32,
    },
    /// An exchange among lanes of which some are elsewhere.
    AbsentLanes {
        /// Lanes named by the member mask.
        members: u32,
        /// Lanes that execute the instruction.
        active: u32,
    },
    /// The warp executed more instructions than the launch allows: probably an endless loop.
    InstructionLimit {
        /// The limit.
        limit: u64,
    },
    /// The warp repeats itself, and nothing that it reads changes.
    NoProgress {
        /// Instructions of all warps together during which nothing changed; 0 where the loop reads no memory.
        instructions: u64,
    },
    /// `brx.idx` with an index past its table.
    BranchIndex {
        /// The index.
        index: u32,
        /// Entries of the table.
        targets: u32,
    },
    /// Calls nest too deep, or `alloca` takes too much.
    StackOverflow {
        /// Bytes of local memory that the thread would need.
        bytes: u64,
        /// Bytes it may have.
        limit: u64,
    },
    /// A call of an address that is no function which the call could mean.
    BadCall {
        /// The address.
        address: u64,
    },
    /// `free` of what `malloc` did not return, or a second time.
    BadFree {
        /// The address.
        address: u64,
        /// Whether it is on the heap of `malloc`.
        on_heap: bool,
    },
    /// A texture or surface instruction with a handle that stands for nothing.
    NoTexture {
        /// The handle.
        handle: u64,
    },
    /// An access outside of a surface.
    OutsideSurface {
        /// What was tried.
        access: &'static str,
        /// Byte of the row, row and slice.
        place: [i64; 3],
        /// Bytes of a row, rows and slices.
        extent: [u64; 3],
    },
    /// An integer divided by zero.
    DivisionByZero,
    /// `trap`.
    Trap,
    /// A failed `assert`.
    Assert {
        /// The condition as written.
        message: String,
        /// Function, file and line as the compiler recorded them.
        place: String,
    },
    /// A launch handed a block something that belongs to another launch, or a warp that does not exist, or an instruction got
    /// what it cannot work with.
    Misuse {
        /// What.
        reason: &'static str,
    },
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(
            f,
            "kernel {} stopped at {}:{}",
            self.kernel, self.source_name, self.line
        )?;
        if let Some((file, line)) = &self.source {
            write!(f, " ({file}:{line})")?;
        }
        write!(f, ", block ({x}, {y}, {z})")?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl std::error::Error for Trap {}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds {
                access,
                address,
                bytes,
                near,
            } => {
                write!(
                    f,
                    "{access} of {bytes} bytes at {address:#x} is out of bounds; {near}"
                )
            }
            Self::OutsideWindow {
                access,
                space,
                offset,
                bytes,
                size,
            } => {
                write!(
                    f,
                    "{access} of {bytes} bytes at offset {offset:#x} is outside the {size} bytes of {space} memory"
                )
            }
            Self::Misaligned {
                access,
                address,
                bytes,
            } => {
                write!(
                    f,
                    "{access} at {address:#x} is misaligned: it needs a multiple of {bytes}"
                )
            }
            Self::ReadOnly { address } => write!(f, "store to read-only memory at {address:#x}"),
            Self::BadBarrier {
                id,
                threads,
                reason,
            } => write!(f, "barrier {id} for {threads} threads: {reason}"),
            Self::DivergedBarrier { arrived, expected } => {
                write!(
                    f,
                    "only lanes {arrived:#010x} of {expected:#010x} reached the barrier; move it out of the divergent branch"
                )
            }
            Self::Deadlock { barriers } => write_deadlock(f, barriers),
            Self::ClusterDeadlock { arrived, warps } => write!(
                f,
                "deadlock: every warp of the cluster waits; {arrived} of its {warps} warps have arrived at its barrier or ended"
            ),
            Self::BadClusterBarrier { reason } => write!(f, "barrier of the cluster: {reason}"),
            Self::NoSuchRank { rank, blocks } => write!(
                f,
                "the address names shared memory of block {rank} of the cluster, which has {blocks} blocks"
            ),
            Self::AbsentLanes { members, active } => {
                write!(
                    f,
                    "the member mask {members:#010x} names lanes that never come here (lanes {active:#010x} wait)"
                )
            }
            Self::InstructionLimit { limit } => {
                write!(
                    f,
                    "the warp executed {limit} instructions and more; if that is no endless loop, set limits.thread_instructions to what \
                     the whole run may execute"
                )
            }
            Self::NoProgress { instructions: 0 } => write!(
                f,
                "endless loop: the warp is where it was before with the same registers, and its loop reads no memory"
            ),
            Self::NoProgress { instructions } => write!(
                f,
                "endless loop: for {instructions} instructions, no thread has changed memory or done anything that it had not done before; \
                 this warp waits for a value that is never written"
            ),
            Self::BranchIndex { index, targets } => {
                write!(f, "branch index {index} of {targets} targets")
            }
            Self::StackOverflow { bytes, limit } => write!(
                f,
                "stack overflow: the thread needs {bytes} bytes of local memory and may have {limit}; \
                 raise the limit (cudaDeviceSetLimit with cudaLimitStackSize), or recurse less deeply"
            ),
            Self::BadCall { address } => write!(
                f,
                "call of {address:#x}, which is no device function with the parameters of this call"
            ),
            Self::BadFree { address, .. } => write!(
                f,
                "free of {address:#x}, which malloc did not return, or which is free already"
            ),
            Self::NoTexture { handle } => {
                write!(f, "there is no texture or surface object {handle:#x}")
            }
            Self::OutsideSurface {
                access,
                place: [x, y, z],
                extent: [width, height, depth],
            } => {
                write!(
                    f,
                    "{access} at byte {x} of row {y} of slice {z} is outside of the surface: its rows are {width} bytes, \
                     it has {height} rows and {depth} slices"
                )
            }
            Self::DivisionByZero => write!(f, "integer division by zero"),
            Self::Trap => write!(f, "trap instruction"),
            Self::Assert { message, place } => write!(f, "assertion `{message}` failed at {place}"),
            Self::Misuse { reason } => f.write_str(reason),
        }
    }
}

fn write_deadlock(f: &mut fmt::Formatter<'_>, barriers: &[(u32, u32, u32)]) -> fmt::Result {
    f.write_str("deadlock: every warp waits")?;
    barriers.iter().try_for_each(|(id, arrived, expected)| {
        match group_at(*id) {
            Some(group) => write!(f, "; wgmma of warp group {group}")?,
            None => write!(f, "; barrier {id}")?,
        }
        write!(f, " has {arrived} of {expected} threads")
    })
}

/// A fault inside the step loop, before it is known which kernel and block it belongs to.
#[derive(Debug)]
pub(crate) struct Fault {
    pub lane: Option<u32>,
    pub kind: TrapKind,
}

impl Fault {
    #[cold]
    pub(crate) fn at_lane(lane: u32, kind: TrapKind) -> Box<Self> {
        Box::new(Self {
            lane: Some(lane),
            kind,
        })
    }

    #[cold]
    pub(crate) fn of_warp(kind: TrapKind) -> Box<Self> {
        Box::new(Self { lane: None, kind })
    }
}
