//! What a run of the benchmark gives.

use pagemill_types::Picos;

/// What most of the time went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// GPU memory delivers as fast as it can.
    GpuMemory,
    /// The link is busy.
    Link,
    /// The driver works on faults and evictions.
    FaultHandling,
    /// Page walks are the bottleneck.
    Translation,
    /// None of them: too few reads are outstanding for the latency they meet.
    Concurrency,
}

impl Bound {
    /// The word that results use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GpuMemory => "gpu-memory",
            Self::Link => "link",
            Self::FaultHandling => "fault-handling",
            Self::Translation => "translation",
            Self::Concurrency => "concurrency",
        }
    }
}

/// Times and counts of all loops of a run; `time` is the mean of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UvmReport {
    /// Bytes of GPU memory that were free for the allocation.
    pub gpu_bytes: u64,
    /// Bytes of the allocation.
    pub allocated_bytes: u64,
    /// Thread blocks of the grid.
    pub blocks: u32,
    /// Runs of the kernel.
    pub loops: u32,
    /// Mean time of the kernel.
    pub time: Picos,
    /// Time of the program's calls before the first loop.
    pub setup: Picos,
    /// Reads of a warp.
    pub reads: u64,
    /// Accesses of a step to a page that faulted; neighboring warps count once.
    pub faults: u64,
    /// Entries of the fault buffer.
    pub fault_entries: u64,
    /// Batches that the driver served.
    pub batches: u64,
    /// Blocks of 2 MiB served, over all batches.
    pub block_services: u64,
    /// Bytes copied to GPU memory while kernels ran.
    pub migrated_bytes: u64,
    /// Bytes copied back to CPU memory while kernels ran.
    pub evicted_bytes: u64,
    /// Bytes that the GPU read in its own memory.
    pub local_bytes: u64,
    /// Bytes that the GPU read over the link.
    pub remote_bytes: u64,
    /// Lookups of the first-level TLBs.
    pub tlb_lookups: u64,
    /// Page walks.
    pub page_walks: u64,
    /// Faults that were put off because their page thrashes.
    pub throttles: u64,
    /// Pages pinned because they thrash.
    pub pins: u64,
    /// Blocks moved because access counters reported them.
    pub counter_migrations: u64,
    /// What most of the time went to.
    pub bound: Bound,
}

impl UvmReport {
    /// Allocated bytes over the mean time: the published measure, which counts useful bytes alone.
    pub fn bandwidth_bytes_per_second(&self) -> u64 {
        let bytes = u128::from(self.allocated_bytes);
        let time = u128::from(self.time.0.max(1));
        (bytes * 1_000_000_000_000 / time).min(u128::from(u64::MAX)) as u64
    }

    /// Page walks over lookups.
    pub fn tlb_miss_rate(&self) -> f64 {
        if self.tlb_lookups == 0 {
            return 0.0;
        }
        self.page_walks as f64 / self.tlb_lookups as f64
    }
    /// Says in a sentence where the time goes.
    pub fn why(&self) -> String {
        let remote = percent(self.remote_bytes, self.remote_bytes + self.local_bytes);
        let moved = self.migrated_bytes + self.evicted_bytes;
        let read = u64::from(self.loops) * self.allocated_bytes;
        let ratio = moved as f64 / read.max(1) as f64;
        match self.bound {
            Bound::GpuMemory => {
                format!("GPU memory is the limit; {remote} % of the bytes come over the link")
            }
            Bound::Link if moved == 0 => {
                format!("the link is the limit: {remote} % of the bytes are read over it")
            }
            Bound::Link => {
                format!(
                    "the link is the limit: it moves {ratio:.2} bytes for each byte of the data"
                )
            }
            Bound::FaultHandling => format!(
                "the driver is the limit: {} faults in {} batches, {ratio:.2} bytes moved for each byte of the data",
                self.faults, self.batches
            ),
            Bound::Translation => format!(
                "page walks are the limit: {:.0} % of the look-ups miss, {remote} % of the bytes come over the link",
                self.tlb_miss_rate() * 100.0
            ),
            Bound::Concurrency => {
                format!(
                    "latency is the limit: too few reads are under way; {remote} % of the bytes come over the link"
                )
            }
        }
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 / u128::from(whole.max(1))) as u64
}
