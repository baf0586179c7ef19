//! What a machine with unified memory is made of.

use pagemill_policy::residency::BLOCK_BYTES;
use pagemill_types::{Bandwidth, Clock, Picos};

use crate::SpecError;
use crate::managers::DriverMachine;
use crate::parts::event_heap::WARP_BITS;
use crate::parts::link::LinkSpec;
use crate::parts::translation::TranslationSpec;

/// A GPU, its link, and the driver that moves its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UvmMachine {
    /// The name of the machine file.
    pub name: String,
    /// The cores.
    pub sm: UvmSm,
    /// GPU memory.
    pub memory: UvmMemory,
    /// The connection to CPU memory.
    pub link: LinkSpec,
    /// How addresses become places.
    pub translation: TranslationSpec,
    /// The driver, and how faults get to it.
    pub driver: DriverMachine,
}

/// The cores of a GPU, as far as they make reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UvmSm {
    /// Streaming multiprocessors.
    pub count: u32,
    /// Clock of the cores.
    pub clock: Clock,
    /// Most resident threads of an SM.
    pub max_threads: u32,
    /// Most resident thread blocks of an SM.
    pub max_blocks: u32,
    /// From the data of an iteration to the reads of the next one.
    pub iteration: Picos,
    /// Reads that a warp without a barrier has outstanding: the compiler's unrolling. At most 4.
    pub unrolled_reads: u32,
}

/// GPU memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UvmMemory {
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes of it that no program gets.
    pub reserved_bytes: u64,
    /// What reads achieve.
    pub bandwidth: Bandwidth,
    /// From a read to its data, translated and unloaded.
    pub latency: Picos,
}

impl UvmMachine {
    /// Bytes of GPU memory that a program gets when `ballast` of it (0 to 1) is taken already; whole blocks.
    pub fn free_bytes(&self, ballast: f64) -> u64 {
        let all = self.memory.bytes.saturating_sub(self.memory.reserved_bytes);
        let free = (all as f64 * (1.0 - ballast)) as u64;
        free / BLOCK_BYTES * BLOCK_BYTES
    }

    /// Thread blocks of `threads` threads that are resident at once.
    pub fn resident_blocks(&self, threads: u32) -> u32 {
        let of_an_sm = (self.sm.max_threads / threads.max(1)).min(self.sm.max_blocks);
        of_an_sm * self.sm.count
    }

    /// First-level TLBs.
    pub fn utlbs(&self) -> u32 {
        self.translation.utlbs(self.sm.count)
    }

    /// Checks what patterns cannot work with, of a machine that is sound.
    ///
    /// # Errors
    /// The first value that is refused.
    pub fn check(&self) -> Result<(), SpecError> {
        let reads = self.link.reads;
        let at_least_one = [
            ("patterns.unrolled_reads", self.sm.unrolled_reads),
            ("link.read", reads.map_or(0, |reads| reads.packet_bytes)),
            ("link.copy", self.link.payload_bytes),
            (
                "link.outstanding_reads",
                reads.map_or(0, |reads| reads.outstanding),
            ),
        ];
        for (key, value) in at_least_one {
            require(value >= 1, key, value, "must be at least 1")?;
        }
        let most_warps = (1 << WARP_BITS) - 1;
        let warps = u64::from(self.sm.count) * u64::from(self.sm.max_threads) / 32;
        let too_many = "gives more than 16383 resident warps";
        require(warps <= most_warps, "sm.count", self.sm.count, too_many)?;
        let unrolled = self.sm.unrolled_reads;
        require(
            unrolled <= 4,
            "patterns.unrolled_reads",
            unrolled,
            "must be at most 4",
        )
    }
}

fn require(holds: bool, key: &str, value: u32, allowed: &str) -> Result<(), SpecError> {
    match holds {
        true => Ok(()),
        false => Err(SpecError::new(key, value, allowed)),
    }
}
