//! The GPU's memory management unit of a machine.

use crate::gpu::machine::{
    AfterFullBuffer, CpuReturn, GpuMachine, MergeScope, TransactionChain, Validity,
};
use pagemill_policy::migration::Migration;
use pagemill_policy::residency::{EvictionEntry, LeastRecentlyUsed};
use pagemill_types::Picos;

/// What the unit costs and how large it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangesSpec {
    /// Migration buffers: one for each memory partition.
    pub(crate) buffers: u32,
    /// Entries of each.
    pub(crate) buffer_entries: u32,
    /// To look up a page that is not wholly on the GPU.
    pub(crate) query: Picos,
    /// To change a page when a migration ends.
    pub(crate) update: Picos,
    /// Before each transfer.
    pub(crate) fault_overhead: Picos,
    pub(crate) merge: MergeScope,
    pub(crate) cpu_return: CpuReturn,
    /// Migrations under way at a time, if they are limited.
    pub(crate) concurrent: Option<u32>,
    /// GPU memory in bytes, if it is limited.
    pub(crate) memory_bytes: Option<u64>,
    /// Which page leaves when it is full.
    pub(crate) eviction: &'static EvictionEntry,
    /// How the bytes of a migration go over the link; `None` for in one burst.
    pub(crate) transactions: Option<TransactionChain>,
    /// When a migration changes the valid ranges of its page.
    pub(crate) validity: Validity,
    /// What a request does that waited for an entry of a full buffer.
    pub(crate) after_full_buffer: AfterFullBuffer,
}

impl RangesSpec {
    /// The unit of `machine`.
    pub(crate) fn of(machine: &GpuMachine) -> Self {
        let gmmu = &machine.gmmu;
        let cycles = |count: u32| machine.core_clock.cycles(u64::from(count));
        Self {
            buffers: machine.memory.partitions(),
            buffer_entries: gmmu.buffer_entries,
            query: cycles(gmmu.state_query_cycles),
            update: cycles(gmmu.state_update_cycles),
            fault_overhead: gmmu.fault_overhead,
            merge: gmmu.merge,
            cpu_return: gmmu.cpu_return,
            concurrent: gmmu.concurrent_migrations,
            memory_bytes: machine.program_bytes(),
            eviction: gmmu.eviction,
            transactions: gmmu.transactions,
            validity: gmmu.validity,
            after_full_buffer: gmmu.after_full_buffer,
        }
    }

    /// A unit that costs nothing and is never full, with `memory_bytes` of GPU memory.
    pub(crate) fn free(memory_bytes: u64) -> Self {
        Self {
            buffers: 1,
            buffer_entries: u32::MAX,
            query: Picos::ZERO,
            update: Picos::ZERO,
            fault_overhead: Picos::ZERO,
            merge: MergeScope::Gpu,
            cpu_return: CpuReturn::Valid,
            concurrent: None,
            memory_bytes: Some(memory_bytes),
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
