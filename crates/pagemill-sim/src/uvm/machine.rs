//! What a machine with unified memory is made of.

use pagemill_policy::residency::{BLOCK_BYTES, DriverPolicy};
use pagemill_types::{Bandwidth, Clock, PageSize, Picos};

use crate::gpu::SpecError;
use crate::gpu::event_heap::WARP_BITS;

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
    pub link: UvmLink,
    /// How addresses become places.
    pub translation: TranslationSpec,
    /// How faults get to the driver.
    pub faults: FaultSpec,
    /// What the driver's work costs.
    pub driver: DriverCosts,
    /// How the driver decides.
    pub policy: DriverPolicy,
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

/// The link between CPU and GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UvmLink {
    /// Raw bandwidth to the GPU, headers included.
    pub to_gpu: Bandwidth,
    /// Raw bandwidth to the CPU, headers included.
    pub to_cpu: Bandwidth,
    /// From a read of CPU memory to its data, unloaded.
    pub read_latency: Picos,
    /// The most bytes of a read that one packet brings.
    pub read_bytes: u32,
    /// The most bytes of a copy that one packet brings.
    pub copy_bytes: u32,
    /// Bytes that each packet has beside its payload.
    pub header_bytes: u32,
    /// Reads of CPU memory that are outstanding at most.
    pub outstanding_reads: u32,
    /// From the start of a copy to its first byte.
    pub copy_latency: Picos,
}

/// Translation look-aside buffers and page walks of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslationSpec {
    /// SMs that share a first-level TLB.
    pub sms_per_utlb: u32,
    /// Entries of a first-level TLB.
    pub utlb_entries: u32,
    /// Entries of the second-level TLB.
    pub l2_entries: u32,
    /// Ways of the second-level TLB.
    pub l2_ways: u32,
    /// What a hit of the second level adds.
    pub l2_latency: Picos,
    /// Page walks at a time.
    pub concurrent_walks: u32,
    /// From a miss of the second level to its translation.
    pub walk_latency: Picos,
    /// Bytes that an entry translates in GPU memory.
    pub local_page: PageSize,
    /// Bytes that an entry translates in CPU memory.
    pub remote_page: PageSize,
}

/// From a faulting access to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSpec {
    /// Pages that the SMs of a first-level TLB may have faulted on at a time; further accesses wait.
    pub utlb_outstanding: u32,
    /// Entries that the driver takes at a time.
    pub batch_entries: u32,
    /// From the first entry to an idle driver at work.
    pub interrupt_latency: Picos,
}

/// What the driver's work costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverCosts {
    /// Of a batch.
    pub batch: Picos,
    /// Of an entry of a batch, duplicates included.
    pub entry: Picos,
    /// Of a block of 2 MiB that a batch touches.
    pub block: Picos,
    /// Of giving a block its root chunk.
    pub chunk: Picos,
    /// Of a host page whose mapping is taken from the CPU.
    pub host_page_unmap: Picos,
    /// Of an evicted block, without its copy.
    pub eviction: Picos,
    /// Whether the driver waits for the copy of an evicted block before it goes on.
    pub eviction_waits: bool,
    /// From the end of a batch to the repeated accesses.
    pub replay: Picos,
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
        self.sm.count.div_ceil(self.translation.sms_per_utlb.max(1))
    }

    /// Checks what the simulator cannot work with.
    ///
    /// # Errors
    /// The first value that is refused.
    pub fn check(&self) -> Result<(), SpecError> {
        let at_least_one: [(&str, u64); 12] = [
            ("sm.count", self.sm.count.into()),
            ("sm.max_threads", self.sm.max_threads.into()),
            ("sm.max_blocks", self.sm.max_blocks.into()),
            ("sm.unrolled_reads", self.sm.unrolled_reads.into()),
            ("link.read", self.link.read_bytes.into()),
            ("link.copy", self.link.copy_bytes.into()),
            ("link.outstanding_reads", self.link.outstanding_reads.into()),
            (
                "translation.sms_per_utlb",
                self.translation.sms_per_utlb.into(),
            ),
            (
                "translation.utlb_entries",
                self.translation.utlb_entries.into(),
            ),
            (
                "translation.concurrent_walks",
                self.translation.concurrent_walks.into(),
            ),
            (
                "faults.utlb_outstanding",
                self.faults.utlb_outstanding.into(),
            ),
            ("faults.batch_entries", self.faults.batch_entries.into()),
        ];
        for (key, value) in at_least_one {
            require(value >= 1, key, value, "must be at least 1")?;
        }
        let most_warps = (1 << WARP_BITS) - 1;
        let warps = u64::from(self.sm.count) * u64::from(self.sm.max_threads) / 32;
        require(
            warps <= most_warps,
            "sm.count",
            self.sm.count.into(),
            "gives more than 16383 resident warps",
        )?;
        require(
            self.sm.unrolled_reads <= 4,
            "sm.unrolled_reads",
            self.sm.unrolled_reads.into(),
            "must be at most 4",
        )?;
        let spare = self.memory.bytes.saturating_sub(self.memory.reserved_bytes);
        require(
            spare >= BLOCK_BYTES,
            "memory.size",
            self.memory.bytes,
            "must hold 2 MiB beside what is reserved",
        )?;
        let ways = self.translation.l2_ways;
        let fits = ways >= 1
            && self.translation.l2_entries.is_multiple_of(ways)
            && self.translation.l2_entries > 0;
        require(
            fits,
            "translation.l2_ways",
            ways.into(),
            "must be at least 1 and divide l2_entries",
        )?;
        let density = self.policy.density_percent;
        require(
            (1..=100).contains(&density),
            "policy.density_percent",
            density.into(),
            "must be from 1 to 100",
        )?;
        for (key, page) in [
            ("translation.local_page", self.translation.local_page),
            ("translation.remote_page", self.translation.remote_page),
        ] {
            let allowed = (4 << 10..=BLOCK_BYTES).contains(&page.bytes());
            require(allowed, key, page.bytes(), "must be from 4 KiB to 2 MiB")?;
        }
        Ok(())
    }
}

fn require(holds: bool, key: &str, value: u64, allowed: &str) -> Result<(), SpecError> {
    if holds {
        return Ok(());
    }
    Err(SpecError {
        key: key.to_owned(),
        value: value.to_string(),
        allowed: allowed.to_owned(),
    })
}
