//! What the memory management unit that moves ranges costs, how large it is, and which of several ways it goes.

use pagemill_policy::migration::Migration;
use pagemill_policy::residency::{EvictionEntry, LeastRecentlyUsed};
use pagemill_types::Picos;

/// What the unit costs and how large it is.
#[derive(Clone, Copy, Debug)]
pub struct RangesSpec {
    /// Migration buffers: one for each memory partition.
    pub buffers: u32,
    /// Entries of each.
    pub buffer_entries: u32,
    /// To look up a page that is not wholly on the GPU.
    pub query: Picos,
    /// To change a page when a migration ends.
    pub update: Picos,
    /// Before each transfer.
    pub fault_overhead: Picos,
    /// Which requests share a migration under way.
    pub merge: MergeScope,
    /// What a CPU request brings back.
    pub cpu_return: CpuReturn,
    /// Migrations under way at a time, if they are limited.
    pub concurrent: Option<u32>,
    /// GPU memory in bytes, if it is limited.
    pub memory_bytes: Option<u64>,
    /// Which page leaves when it is full.
    pub eviction: &'static EvictionEntry,
    /// How the bytes of a migration go over the link; `None` for in one burst.
    pub transactions: Option<TransactionChain>,
    /// When a migration changes the valid ranges of its page.
    pub validity: Validity,
    /// What a request does that waited for an entry of a full buffer.
    pub after_full_buffer: AfterFullBuffer,
}

impl RangesSpec {
    /// A unit that costs nothing and is never full, with `memory_bytes` of GPU memory if it is limited.
    pub fn free(memory_bytes: Option<u64>) -> Self {
        Self {
            buffers: 1,
            buffer_entries: u32::MAX,
            query: Picos::ZERO,
            update: Picos::ZERO,
            fault_overhead: Picos::ZERO,
            merge: MergeScope::Gpu,
            cpu_return: CpuReturn::Valid,
            concurrent: None,
            memory_bytes,
            eviction: &LeastRecentlyUsed::ENTRY,
            transactions: None,
            validity: Validity::AtRequest,
            after_full_buffer: AfterFullBuffer::Moves,
        }
    }

    /// The least time in which `bytes` move, however fast the link is.
    pub(super) fn chain_time(&self, bytes: u64, migration: &Migration) -> Picos {
        let unit_bytes = migration.bytes_moved_as_one();
        let chain = self.transactions;
        chain.map_or(Picos::ZERO, |chain| chain.time_for(bytes, unit_bytes))
    }
}

/// How much of a page a CPU request brings back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CpuReturn {
    /// The whole page, as Zhang et al. 2019, section 3.2 has it.
    #[default]
    WholePage,
    /// Only what is valid on the GPU.
    Valid,
}

/// Which requests for bytes on their way to the GPU wait for that migration instead of starting one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeScope {
    /// Requests of the whole GPU: bytes move once.
    #[default]
    Gpu,
    /// Requests of the same memory partition: each partition that asks before the bytes are there moves them for itself.
    Partition,
    /// Requests of the same SM: each SM that asks before the bytes are there moves them for itself.
    Sm,
    /// None: every request that comes before the bytes are there moves them once more.
    Nothing,
}

/// What a request does that found its migration buffer full, once an entry is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterFullBuffer {
    /// It moves what it found missing when it arrived.
    #[default]
    Moves,
    /// It looks its page up again: what arrived meanwhile does not move for it, and another request may have the entry.
    LooksUpAgain,
}

/// When a migration changes the valid ranges of its page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validity {
    /// When it is decided: later requests see what is on its way, and ask for nothing of it.
    #[default]
    AtRequest,
    /// When it ends: requests until then plan by what has arrived.
    AtArrival,
}

/// A migration as chains of transactions: a new one starts when an earlier one has been answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionChain {
    /// Bytes of one transaction.
    pub bytes: u32,
    /// From the start of a transaction to its answer.
    pub round_trip: Picos,
    /// Transactions of one migration unit under way at a time.
    pub in_flight: u32,
    /// Units of one migration under way at a time. A whole page is one unit.
    pub units_in_flight: u32,
}

impl TransactionChain {
    /// The least time in which `bytes` move, in units of `unit_bytes`.
    pub fn time_for(&self, bytes: u64, unit_bytes: u64) -> Picos {
        let at_a_time = u64::from(self.bytes) * u64::from(self.in_flight);
        // Units beside each other are chains of their own: as many chains in a row as are left, each as long as a unit.
        let units_in_a_row = bytes.div_ceil(unit_bytes * u64::from(self.units_in_flight));
        let trips = bytes.min(unit_bytes).div_ceil(at_a_time) * units_in_a_row;
        Picos(self.round_trip.0.saturating_mul(trips))
    }
}
