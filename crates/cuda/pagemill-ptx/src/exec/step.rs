//! What an advance of one warp answers.

use super::transfer::little_endian;
use pagemill_ptx_ir::code::{AccessKind, CacheHint};
use pagemill_ptx_ir::functions::mbarrier;
use pagemill_ptx_ir::line::LANES;

/// Why a warp stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepEnd {
    /// A global or local memory access is due, described in [`Step::access`]. It is checked and has had no
    /// effect; the next advance performs it. The instruction itself is already in this step's totals.
    Memory,
    /// A register is needed whose load is still under way: one of these slots. Advance again once all have arrived.
    Wait {
        /// Scoreboard slots, one bit each.
        slots: u64,
    },
    /// The warp has arrived at barrier `id` and waits. When `released` it was the last and goes on at once,
    /// with the warps in [`Step::released_warps`].
    Barrier {
        /// Which barrier: 0 to 15, or one of a warp group behind them.
        id: u32,
        /// Whether the barrier is complete.
        released: bool,
    },
    /// The loads of these slots count at a barrier object in this phase as soon as all have arrived. The warp goes on.
    Copies {
        /// Scoreboard slots, one bit each.
        slots: u64,
        /// Where they count.
        phase: BarrierPhase,
    },
    /// A lane has seen that a phase of a barrier object is over, which it is not before the copies that count there have
    /// arrived.
    Phase(BarrierPhase),
    /// The warp has seen that this phase is not over, and waits for it. It may be advanced before, and asks again.
    Suspended(BarrierPhase),
    /// The warp was at the barrier of its cluster.
    ClusterBarrier {
        /// Whether it arrived there; if not, it wants to leave it.
        arrives: bool,
        /// Whether it goes on. One that leaves has to wait for the others first.
        goes_on: bool,
    },
    /// Every thread of the warp has ended.
    Exit,
    /// The instruction budget of this advance is used up.
    #[default]
    Budget,
}

impl StepEnd {
    /// After an arrival: copies of `slots` count in `phase`, or without any, a lane has seen that it is over.
    pub(crate) fn of_arrival(slots: u64, phase: BarrierPhase) -> Self {
        match slots {
            0 => Self::Phase(phase),
            _ => Self::Copies { slots, phase },
        }
    }
}

/// A phase of a barrier object in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BarrierPhase {
    /// Which block of the cluster it lies in; `None` for the own one.
    pub rank: Option<u32>,
    /// Where it lies there.
    pub offset: u32,
    /// Whether it is an odd one.
    pub is_odd: bool,
}

impl BarrierPhase {
    /// Whether it is over by the object in the shared memory `shared`; so it is where there is no object.
    pub(crate) fn is_over(self, shared: &[u8]) -> bool {
        let object = shared.get(self.offset as usize..self.offset as usize + 8);
        object.is_none_or(|object| mbarrier::is_odd(little_endian(object)) != self.is_odd)
    }
}

/// What happened since the warp was last advanced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTotals {
    /// PTX instructions issued.
    pub instructions: u64,
    /// PTX instructions times the lanes that were active and whose guard held.
    pub thread_instructions: u64,
    /// Sum of the issue costs given.
    pub issue_cycles: u64,
    /// Sum of the latency costs given.
    pub latency_cycles: u64,
    /// Extra passes of shared memory accesses because of bank conflicts.
    pub shared_replays: u64,
    /// Accesses to shared memory of other blocks of the cluster.
    pub remote_shared_accesses: u64,
}

impl StepTotals {
    /// Adds `other` to this.
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.thread_instructions += other.thread_instructions;
        self.issue_cycles += other.issue_cycles;
        self.latency_cycles += other.latency_cycles;
        self.shared_replays += other.shared_replays;
        self.remote_shared_accesses += other.remote_shared_accesses;
    }
}

/// The space a [`MemoryAccess`] goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AccessSpace {
    /// Global memory, by whatever kind of address.
    #[default]
    Global,
    /// The threads' own memory.
    Local,
}

/// How a [`MemoryAccess`] gives its addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LanePlaces {
    /// One by one, in [`MemoryAccess::listed`].
    #[default]
    Listed,
    /// Lane `i` is `i` times [`MemoryAccess::lane_bytes`] behind `first`.
    Row {
        /// The address of lane 0, whether or not that takes part.
        first: u64,
    },
    /// All lanes are at one address.
    Together {
        /// Which one.
        at: u64,
    },
}

/// The lane addresses of one memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// What it does.
    pub kind: AccessKind,
    /// Where it goes.
    pub space: AccessSpace,
    /// Bytes each lane touches from its address on.
    pub lane_bytes: u32,
    /// Lanes that take part.
    pub mask: u32,
    /// How [`MemoryAccess::address`] finds addresses.
    pub places: LanePlaces,
    /// Byte address per lane where they are listed, and meaningless elsewhere and outside `mask`.
    pub listed: [u64; LANES],
    /// Scoreboard slot that the result arrives under; `None` without a result.
    pub slot: Option<u8>,
    /// Cache operator.
    pub cache_hint: CacheHint,
    /// The instruction, counted as in [`Entry::instructions`](crate::Entry::instructions).
    pub instruction: u32,
    /// Whether the timing model may join lanes at one address into one change. The executor leaves it alone.
    pub combines: bool,
}

impl MemoryAccess {
    /// That of the first lane that takes part.
    pub(crate) fn first_address(&self) -> u64 {
        self.address(self.mask.trailing_zeros() as usize % LANES)
    }

    /// Byte address of each lane; means nothing for one outside `mask`.
    pub fn addresses(&self) -> [u64; LANES] {
        std::array::from_fn(|lane| self.address(lane))
    }

    /// Byte address of a lane; means nothing for one outside `mask`.
    #[inline]
    pub fn address(&self, lane: usize) -> u64 {
        match self.places {
            LanePlaces::Listed => self.listed[lane],
            LanePlaces::Row { first } => {
                first.wrapping_add(lane as u64 * u64::from(self.lane_bytes))
            }
            LanePlaces::Together { at } => at,
        }
    }
}

impl Default for MemoryAccess {
    fn default() -> Self {
        Self {
            kind: AccessKind::Load,
            space: AccessSpace::Global,
            lane_bytes: 0,
            mask: 0,
            places: LanePlaces::Listed,
            listed: [0; LANES],
            slot: None,
            cache_hint: CacheHint::Default,
            instruction: 0,
            combines: false,
        }
    }
}

/// The answer of one advance. Re-used by the caller from step to step.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// What was executed.
    pub totals: StepTotals,
    /// Why it stopped.
    pub end: StepEnd,
    /// The access that is due when `end` is [`StepEnd::Memory`].
    pub access: MemoryAccess,
    /// Warps, one bit each, that may run again because of this step: a barrier was completed by an arrival or an exit.
    pub released_warps: u64,
    /// Whether this step was the last that the barrier of the cluster waited for: all warps that wait there may run again.
    pub opens_cluster_barrier: bool,
}
