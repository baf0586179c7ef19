//! The file that a recorded process of a real GPU leaves. Times are nanoseconds of CUPTI's clock, addresses those of the program.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::left;

/// The variable by which a program is recorded: `1`.
pub const RECORD: &str = "PAGEMILL_GPU_RECORD";

/// How the files of recordings begin.
const FILES: &str = "record";

/// What [`Recording::version`] is in files of this form.
pub const VERSION: u32 = 1;

/// `record-PID.json`: what a process did on its GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Of the file's form.
    pub version: u32,
    /// The number that `cuptiGetVersion` gave; none if there is no CUPTI that was recorded by.
    pub cupti_version: Option<u32>,
    /// Records that CUPTI had no room for.
    pub dropped: u64,
    /// Records that there was room for, but not in this file.
    pub left_out: u64,
    /// Records of kinds that are not read.
    pub others: u64,
    /// In CUPTI's order, which is not that of time.
    pub kernels: Vec<Kernel>,
    /// Movements of managed memory.
    pub transfers: Vec<Transfer>,
    /// Faults of GPUs in managed memory.
    pub fault_groups: Vec<FaultGroup>,
    /// Faults of CPUs in managed memory.
    pub cpu_faults: Vec<CpuFault>,
    /// How often the driver found that processors fight for memory.
    pub thrashing: u64,
    /// How often it had a processor wait for that reason.
    pub throttling: u64,
    /// How often it mapped memory of another processor instead of moving it.
    pub remote_maps: u64,
    /// Copies and fills that the program asked for.
    pub copies: Vec<Copy>,
    /// Calls of CUPTI that failed, each text once: what is missing above.
    pub failed: Vec<String>,
}

/// A launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// As the compiler mangled it; launches of a kernel share it.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub name: Arc<str>,
    /// Zero, as the end, where CUPTI could not take the time.
    pub start_ns: u64,
    /// When its last thread ended.
    pub end_ns: u64,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads in x, y and z.
    pub block: [u32; 3],
    /// Of a thread.
    pub registers: u32,
    /// CUPTI's number of the stream.
    pub stream: u32,
    /// CUPTI's number of the call that launched it.
    pub correlation: u32,
}

/// Managed memory that moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// From where to where.
    pub kind: Direction,
    /// When the GPU began to move it.
    pub start_ns: u64,
    /// When it had moved.
    pub end_ns: u64,
    /// Of the first byte.
    pub address: u64,
    /// How much moved.
    pub bytes: u64,
    /// Why.
    pub cause: Cause,
}

/// Where managed memory moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From memory of the CPU to a GPU.
    ToGpu,
    /// From a GPU to memory of the CPU.
    ToCpu,
}

/// Why managed memory moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// CUPTI does not say.
    Unknown,
    /// A call of the program, such as `cudaMemPrefetchAsync`.
    User,
    /// A fault.
    Coherence,
    /// The driver's guess.
    Prefetch,
    /// Another part of memory needed the room.
    Eviction,
    /// The GPU counted accesses from afar.
    AccessCounters,
}

/// Faults of a GPU in one page that the driver answered at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultGroup {
    /// When the driver began.
    pub start_ns: u64,
    /// When it let the accesses go on.
    pub end_ns: u64,
    /// Of the page.
    pub address: u64,
    /// Their number.
    pub faults: u64,
    /// What the accesses were.
    pub access: Access,
}

/// What a GPU wanted to do where it faulted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// CUPTI does not say.
    Unknown,
    /// To read.
    Read,
    /// To write.
    Write,
    /// Both at once.
    Atomic,
    /// To have it there later.
    Prefetch,
}

/// A fault of a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuFault {
    /// When the driver began to answer it.
    pub at_ns: u64,
    /// Of the page.
    pub address: u64,
}

/// A copy, or a fill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// From where to where.
    pub kind: CopyKind,
    /// When it began.
    pub start_ns: u64,
    /// When it was done.
    pub end_ns: u64,
    /// How much was written.
    pub bytes: u64,
}

/// From where to where a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyKind {
    /// From memory of the CPU to a GPU.
    CpuToGpu,
    /// From a GPU to memory of the CPU.
    GpuToCpu,
    /// From a GPU to a GPU, which may be the same.
    GpuToGpu,
    /// From memory of the CPU to memory of the CPU.
    CpuToCpu,
    /// A fill of memory with one value.
    Fill,
    /// With CUDA arrays, and what CUPTI does not know.
    Other,
}

fn as_text<S: Serializer>(name: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Arc::from)
}

impl Recording {
    /// Writes that of `process` into `folder`, whole or not at all.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write(&self, folder: &Path, process: u32) -> std::io::Result<()> {
        left::write(folder, FILES, process, self)
    }
}

/// The recordings in `folder`, each with its process.
///
/// # Errors
/// One cannot be read, or is of another version of pagemill.
pub fn read_all(folder: &Path) -> Result<Vec<(u32, Recording)>, String> {
    left::read_all(folder, FILES, |recording: &Recording| {
        (recording.version, VERSION)
    })
}
