//! What a simulated GPU is: plain values, checked once.

mod check;
mod patterns;

pub use crate::gpu::common::request::L1Loads;
use crate::gpu::common::stall::StallScope;
use pagemill_pages::managers::{
    AfterFullBuffer, CpuReturn, DriverMachine, MergeScope, TransactionChain, Validity,
};
use pagemill_pages::parts::cache::CacheSpec;
use pagemill_pages::parts::dram::DramSpec;
use pagemill_pages::parts::link::LinkSpec;
use pagemill_pages::parts::page_walk::WalkerSpec;
use pagemill_pages::parts::tlb::TlbSpec;
use pagemill_pages::parts::translation::TranslationSpec;
use pagemill_policy::residency::{EvictionEntry, LeastRecentlyUsed};
pub use pagemill_ptx::IssueOrder;
use pagemill_types::{Bandwidth, Clock, PageSize, Picos};

/// A GPU, its memory and its link to the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuMachine {
    /// Name for results.
    pub name: String,
    /// Clock of the streaming multiprocessors; cycles of `sm`, `tlb`, `walker`, `l1` and `gmmu` are its.
    pub core_clock: Clock,
    /// Clock of the interconnect and of L2; cycles of `interconnect` and `l2` are its.
    pub l2_clock: Clock,
    /// Page that the TLBs translate in transfer modes that do not migrate; a migration specification brings its own.
    pub page: PageSize,
    /// Streaming multiprocessors.
    pub sm: SmSpec,
    /// Address translation.
    pub translation: Translation,
    /// First-level cache of each SM.
    pub l1: CacheSpec,
    /// Second-level cache slice of each memory partition.
    pub l2: CacheSpec,
    /// How much of a copy from the CPU stays in the second-level cache, the last bytes of it; 0 where neither copies nor
    /// fills leave anything there. Of a fill, what there is room for stays.
    pub l2_kept_copy_bytes: u32,
    /// Where the second-level cache has two halves: further cycles until a line is there that only the other half has.
    pub l2_far_cycles: u32,
    /// Lines of a set of the second-level cache that may be dirty.
    pub l2_dirty_ways: u32,
    /// Bytes that a miss of a sector fetches from memory; `None` for its line.
    pub l2_fetch_bytes: Option<u32>,
    /// Between SMs and memory partitions.
    pub interconnect: InterconnectSpec,
    /// GPU memory behind the second-level cache.
    pub memory: Memory,
    /// CPU-GPU link.
    pub link: LinkSpec,
    /// GPU memory management unit: page state and migration.
    pub gmmu: GmmuSpec,
    /// The unified-memory driver, if the machine has one.
    pub driver: Option<DriverMachine>,
    /// Costs of the built-in access patterns, if the machine runs them.
    pub patterns: Option<PatternCosts>,
    /// Capacity of GPU memory; `None` for as much as is asked for.
    pub memory_bytes: Option<u64>,
    /// Bytes of it that no program gets.
    pub reserved_bytes: u64,
    /// From a launch by the host to the first block on an SM.
    pub launch_overhead: Picos,
    /// Where allocations begin.
    pub placement: Placement,
    /// What the CPU reads between two launches, whatever the program copies.
    pub host_reads: HostReads,
    /// What a programmer who manages transfers copies to the GPU.
    pub host_copies: HostCopies,
}

impl GpuMachine {
    /// GPU memory that programs can have, if it is limited.
    pub fn program_bytes(&self) -> Option<u64> {
        let all = self.memory_bytes?;
        Some(all.saturating_sub(self.reserved_bytes))
    }

    /// After how long a waiting request repeats its lookup in the TLB; zero if it does not.
    pub(crate) fn lookup_period(&self) -> Picos {
        let cycles = match self.translation {
            Translation::OneLevel { tlb, .. } => tlb.retry_cycles,
            Translation::TwoLevels(_) => 0,
        };
        self.core_clock.cycles(u64::from(cycles))
    }

    /// SMs that share a first-level TLB.
    pub(crate) fn sms_per_utlb(&self) -> u32 {
        match self.translation {
            Translation::OneLevel { .. } => 1,
            Translation::TwoLevels(spec) => spec.sms_per_utlb.max(1),
        }
    }

    /// First-level TLBs.
    pub(crate) fn utlbs(&self) -> u32 {
        self.sm.count.div_ceil(self.sms_per_utlb())
    }
}

impl GmmuSpec {
    /// A unit that costs nothing and is never full.
    pub fn ideal() -> Self {
        Self {
            buffer_entries: 1 << 20,
            state_query_cycles: 0,
            state_update_cycles: 0,
            fault_overhead: Picos::ZERO,
            cpu_return: CpuReturn::Valid,
            merge: MergeScope::Gpu,
            stall: StallScope::Requester,
            concurrent_migrations: None,
            eviction: &LeastRecentlyUsed::ENTRY,
            transactions: None,
            validity: Validity::AtRequest,
            after_full_buffer: AfterFullBuffer::Moves,
        }
    }
}

/// How addresses become places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// One level of TLBs and a walker that knows the levels of the table.
    OneLevel {
        /// A TLB.
        tlb: TlbSpec,
        /// Who owns one.
        scope: TlbScope,
        /// Page-table walker, shared by all SMs.
        walker: WalkerSpec,
    },
    /// TLBs of neighboring SMs, a second level for all, and walks of a fixed time.
    TwoLevels(TranslationSpec),
}

/// GPU memory, in one of two depths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// DRAM channels with banks and rows; each is a memory partition with a slice of the second-level cache.
    Channels {
        /// The channels.
        dram: DramSpec,
        /// Consecutive bytes that lie in the same memory partition, a power of two.
        partition_bytes: u32,
        /// Whether consecutive stripes over the partitions are rotated by a hash, so that strides spread over all of them.
        partition_hash: bool,
    },
    /// What reads achieve.
    Rate {
        /// Bytes a second, of all slices together.
        bandwidth: Bandwidth,
        /// From a read to its data, translated and unloaded.
        latency: Picos,
        /// Memory partitions, each with a slice of the second-level cache.
        slices: u32,
        /// How writes share the bus with reads; `None` for as if they were reads.
        writes: Option<WriteBursts>,
    },
}

/// How the controller of a memory partition writes: it gathers lines, and the bus turns round for them and back again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBursts {
    /// Lines that are written together.
    pub lines: u32,
    /// For how long the bus moves nothing, turning from reads to writes and back.
    pub turn_round: Picos,
    /// Whether stores wait for the bus, which turns only where it has read since the last burst. Otherwise each burst turns it,
    /// and stores run ahead of it.
    pub hold_stores: bool,
}

impl Memory {
    /// Memory partitions.
    pub fn partitions(&self) -> u32 {
        match self {
            Self::Channels { dram, .. } => dram.channels,
            Self::Rate { slices, .. } => *slices,
        }
    }

    /// The key of a machine file that has its size.
    pub fn size_key(&self) -> &'static str {
        match self {
            Self::Channels { .. } => "dram.capacity",
            Self::Rate { .. } => "memory.size",
        }
    }

    pub(crate) fn bandwidth_key(&self) -> &'static str {
        match self {
            Self::Channels { .. } => "dram.bandwidth",
            Self::Rate { .. } => "memory.bandwidth",
        }
    }

    /// Bytes a second.
    pub fn bandwidth(&self) -> Bandwidth {
        match self {
            Self::Channels { dram, .. } => dram.bandwidth,
            Self::Rate { bandwidth, .. } => *bandwidth,
        }
    }
}

/// What the built-in access patterns cost beside their memory accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternCosts {
    /// From the data of an iteration to the reads of the next one.
    pub iteration: Picos,
    /// Reads that a warp without a barrier has outstanding: the compiler's unrolling. At most 4.
    pub unrolled_reads: u32,
}

/// Where allocations begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Each on a page of its own.
    #[default]
    OwnPage,
    /// Each where the one before ends, rounded up to 256 bytes: small ones share a page.
    Packed,
}

/// What the CPU reads between two launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostReads {
    /// What the program copies, and nothing else.
    #[default]
    Nothing,
    /// All buffers.
    Everything,
}

/// What a programmer who manages transfers copies to the GPU before the first launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostCopies {
    /// The program's inputs.
    #[default]
    Inputs,
    /// All buffers, outputs too.
    Everything,
}

/// Who owns a TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlbScope {
    /// One TLB in each SM.
    PerSm,
    /// One TLB that all SMs share.
    Shared,
}

/// Cost of one class of instruction for a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionTiming {
    /// Core cycles that the warp scheduler is occupied.
    pub issue_cycles: u32,
    /// Core cycles from issue until a dependent instruction can issue.
    pub latency_cycles: u32,
}

/// Costs of all classes whose latency does not depend on the memory path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionTimings {
    /// Integer and logic, moves, predicates.
    pub integer: InstructionTiming,
    /// Integer multiply, multiply-add, divide.
    pub integer_multiply: InstructionTiming,
    /// Single and half precision.
    pub float32: InstructionTiming,
    /// Double precision.
    pub float64: InstructionTiming,
    /// Reciprocal, square root, sine, exponential ...
    pub special: InstructionTiming,
    /// Conversions.
    pub convert: InstructionTiming,
    /// Shared memory without bank conflicts, shuffles.
    pub shared: InstructionTiming,
    /// Constant and parameter memory, assumed to hit its cache.
    pub constant: InstructionTiming,
    /// Issue of a global or local memory instruction; its latency is the memory path's.
    pub memory: InstructionTiming,
    /// Branches, barriers, exit.
    pub control: InstructionTiming,
    /// What is known of the machine code beyond its classes.
    pub machine_code: Option<MachineCode>,
}

/// Machine code of which more is known than what its classes cost: each pipe of a scheduler blocks only itself, a register
/// move or a parameter costs nothing, and some instructions are sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineCode {
    /// Population count, leading zeros, reversed bits.
    pub bit_count: InstructionTiming,
    /// Conversion of an integer to single precision.
    pub integer_to_float: InstructionTiming,
    /// Multiplication of 64-bit integers.
    pub wide_multiply: InstructionTiming,
    /// Division of 32-bit integers, and its remainder.
    pub integer_divide: InstructionTiming,
    /// Rounded division in single precision.
    pub float32_divide: InstructionTiming,
    /// Rounded root or reciprocal in single precision.
    pub float32_root: InstructionTiming,
    /// Division, root or reciprocal in double precision.
    pub float64_divide: InstructionTiming,
    /// A fetch of texels for 32 lanes, by the texture unit of the scheduler.
    pub texture: InstructionTiming,
}

/// How a slice of L2 changes the words of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicSpec {
    /// Words of a line that it changes in a cycle.
    pub words_per_cycle: u32,
    /// Cycles for each further lane at a word where lanes are not joined before.
    pub repeat_cycles: u32,
}

/// A streaming multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmSpec {
    /// How many the GPU has.
    pub count: u32,
    /// Compute capability times ten: 75 for 7.5.
    pub compute_capability: u32,
    /// Warp schedulers of an SM; a warp belongs to one of them.
    pub schedulers: u32,
    /// Resident threads.
    pub max_threads: u32,
    /// Resident warps.
    pub max_warps: u32,
    /// Resident blocks.
    pub max_blocks: u32,
    /// Threads of one block.
    pub max_threads_per_block: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Registers are given to a warp in multiples of this.
    pub register_unit: u32,
    /// Registers a thread can have; what a kernel needs beyond would spill and is not counted.
    pub max_registers_per_thread: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Shared memory is given to a block in multiples of this many bytes.
    pub shared_unit: u32,
    /// Instruction costs.
    pub timings: InstructionTimings,
    /// Cycles the load-store unit needs for each 128-byte segment of a memory instruction.
    pub segment_cycles: u32,
    /// Whether a warp goes on behind an access that the load-store unit has not taken yet.
    pub queues_accesses: bool,
    /// Sectors of a segment that an access by 16 bytes a lane moves in a cycle; `None` where it is as fast as others.
    pub wide_sectors_per_cycle: Option<u32>,
    /// Cycles for each further pass of a shared-memory access with bank conflicts.
    pub shared_replay_cycles: u32,
    /// Cycles from the end of a block to the start of the one that takes its place.
    pub block_start_cycles: u32,
    /// Time between two block starts of the whole GPU; zero where they are not limited.
    pub block_interval: Picos,
    /// Which loads of global memory L1 keeps.
    pub l1_loads: L1Loads,
    /// How L2 changes words for atomics; `None` for a lane a cycle.
    pub atomics: Option<AtomicSpec>,
    /// In which order the instructions of a basic block issue.
    pub issue_order: IssueOrder,
}

/// The network between SMs and memory partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterconnectSpec {
    /// Cycles of one crossing without load.
    pub latency_cycles: u32,
    /// Bytes a cycle of each partition's port, and of what each SM sends.
    pub bytes_per_cycle: u32,
    /// Bytes a cycle that come back to each SM.
    pub sm_bytes_per_cycle: u32,
    /// Bytes a cycle that each partition's port takes of stores, by the sectors that they write; `None` where a store takes what a line
    /// does.
    pub store_bytes_per_cycle: Option<u32>,
    /// How stores leave each SM; `None` where they take of `bytes_per_cycle` what they write.
    pub sm_stores: Option<StoreWay>,
    /// The least cycles that the answer to a load takes of what its SM gets, where loads bring the sectors that they touch; `None` where
    /// they bring lines.
    pub answer_cycles: Option<u32>,
}

/// The way out of an SM for stores: a packet for each line that a store touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreWay {
    /// Bytes a cycle.
    pub bytes_per_cycle: u32,
    /// Bytes of a packet beside its sectors.
    pub header_bytes: u32,
}

/// The GPU's memory management unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GmmuSpec {
    /// Migration-buffer entries of each memory partition.
    pub buffer_entries: u32,
    /// Core cycles to look up the state and ranges of a page that is not wholly on the GPU.
    pub state_query_cycles: u32,
    /// Core cycles to change the state and ranges of a page when a migration ends.
    pub state_update_cycles: u32,
    /// Added before each migration's transfer: the handling of a fault by the host. Zero for migration by hardware.
    pub fault_overhead: Picos,
    /// What a CPU request brings back.
    pub cpu_return: CpuReturn,
    /// Which requests share a migration under way. What is moved once more takes a buffer entry and the link like the first.
    pub merge: MergeScope,
    /// Who stands still while a request waits for bytes on their way.
    pub stall: StallScope,
    /// Migrations to the GPU under way at a time, from their buffer entry to their arrival; `None` for as many as the
    /// buffers hold.
    pub concurrent_migrations: Option<u32>,
    /// Which page leaves when GPU memory is full.
    pub eviction: &'static EvictionEntry,
    /// How the bytes of a migration to the GPU go over the link; `None` for in one burst.
    pub transactions: Option<TransactionChain>,
    /// When a migration changes the valid ranges of its page.
    pub validity: Validity,
    /// What a request does that waited for an entry of a full buffer.
    pub after_full_buffer: AfterFullBuffer,
}
