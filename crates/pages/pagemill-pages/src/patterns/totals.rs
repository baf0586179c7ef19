//! What the parts counted, summed over loops.

use pagemill_types::Picos;

use super::machine::UvmMachine;
use super::memory::Memory;
use super::report::{Bound, UvmReport};
use crate::MemoryStats;
use crate::managers::{Manager, MigrationCounts};
use crate::parts::link::Direction;
use crate::parts::translation::TranslationSpec;

/// From this share of the time on, a part is said to be busy all the time.
const BUSY: f64 = 0.7;

/// Counts of the parts, and what is summed of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub reads: u64,
    pub time: Picos,
    local_bytes: u64,
    memory_busy: Picos,
    stats: MemoryStats,
}

impl Totals {
    /// What the parts have counted since they were made.
    pub(super) fn so_far(memory: &Memory) -> Self {
        let paths = &memory.paths;
        let (first, second) = memory.translations.counts();
        let mut migration = MigrationCounts {
            remote_bytes: paths.remote_bytes,
            ..memory.manager.counts()
        };
        match &memory.manager {
            Manager::Driver(pages) => migration.fault_entries = pages.entries_made(),
            // A range that moves is what a fault is to a driver.
            _ => migration.faults = migration.migrations,
        }
        Self {
            local_bytes: paths.local_bytes,
            memory_busy: paths.memory_busy(),
            stats: MemoryStats {
                tlb_lookups: first.lookups,
                walks: second.misses,
                to_gpu: paths.host_link.link.traffic(Direction::ToGpu),
                to_cpu: paths.host_link.link.traffic(Direction::ToCpu),
                migration,
                ..MemoryStats::default()
            },
            ..Self::default()
        }
    }

    /// Adds what was counted from `before` to `after`.
    pub(super) fn add(&mut self, before: &Self, after: &Self) {
        self.local_bytes += after.local_bytes - before.local_bytes;
        self.memory_busy += after.memory_busy - before.memory_busy;
        self.stats.add(&after.stats.since(&before.stats));
    }

    /// The report, but for what the point itself says.
    pub(super) fn report(&self, machine: &UvmMachine, loops: u32) -> UvmReport {
        let did = &self.stats.migration;
        UvmReport {
            gpu_bytes: 0,
            allocated_bytes: 0,
            blocks: 0,
            loops,
            time: Picos(self.time.0 / u64::from(loops.max(1))),
            setup: Picos::ZERO,
            reads: self.reads,
            faults: did.faults,
            fault_entries: did.fault_entries,
            batches: did.batches,
            block_services: did.block_services,
            migrated_bytes: did.migrated_bytes,
            evicted_bytes: did.returned_bytes,
            local_bytes: self.local_bytes,
            remote_bytes: did.remote_bytes,
            tlb_lookups: self.stats.tlb_lookups,
            page_walks: self.stats.walks,
            throttles: did.throttles,
            pins: did.pins,
            counter_migrations: did.counter_migrations,
            bound: self.bound(&machine.translation),
        }
    }

    /// The part that was busiest; the driver, whose work includes copies, counts only if no wire was busy throughout.
    fn bound(&self, translation: &TranslationSpec) -> Bound {
        let time = self.time.0.max(1) as f64;
        let share = |busy: Picos| busy.0 as f64 / time;
        let walks = self.stats.walks as f64 * translation.walk_latency.0 as f64;
        let link = share(self.stats.to_gpu.busy).max(share(self.stats.to_cpu.busy));
        // As many walks as are possible at a time share their latency: 1 is a walker that is never idle.
        let walking = walks / f64::from(translation.concurrent_walks) / time;
        let parts = [(Bound::Link, link), (Bound::Translation, walking)];
        let memory = (Bound::GpuMemory, share(self.memory_busy));
        let busier = |busiest: (Bound, f64), part: (Bound, f64)| match part.1 > busiest.1 {
            true => part,
            false => busiest,
        };
        let busiest = parts.into_iter().fold(memory, busier);
        let driver = share(self.stats.migration.driver_busy);
        if busiest.1 >= BUSY {
            busiest.0
        } else if driver >= busiest.1.max(0.5) {
            Bound::FaultHandling
        } else if busiest.1 >= 0.5 {
            busiest.0
        } else {
            Bound::Concurrency
        }
    }
}
