//! What the parts counted, summed over loops.

use pagemill_types::Picos;

use super::machine::UvmMachine;
use super::memory::Memory;
use super::report::{Bound, UvmReport};
use crate::gpu::pages::Manager;

/// From this share of the time on, a part is said to be busy all the time.
const BUSY: f64 = 0.7;

/// Counts of the parts, and what is summed of them. The names are those of [`UvmReport`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub reads: u64,
    pub time: Picos,
    counts: [u64; COUNTS],
}

const FAULTS: usize = 0;
const ENTRIES: usize = 1;
const BATCHES: usize = 2;
const BLOCKS: usize = 3;
const MIGRATED: usize = 4;
const EVICTED: usize = 5;
const LOCAL: usize = 6;
const REMOTE: usize = 7;
const LOOKUPS: usize = 8;
const WALKS: usize = 9;
const THROTTLES: usize = 10;
const PINS: usize = 11;
const COUNTER_MIGRATIONS: usize = 12;
const DRIVER_BUSY: usize = 13;
const MEMORY_BUSY: usize = 14;
const TO_GPU_BUSY: usize = 15;
const TO_CPU_BUSY: usize = 16;
const COUNTS: usize = 17;

impl Totals {
    /// What the parts have counted since they were made.
    pub(super) fn so_far(memory: &Memory) -> Self {
        let mut counts = [0; COUNTS];
        match &memory.manager {
            Manager::Driver(pages) => {
                let all = pages.counts();
                let did = all.handler;
                counts[FAULTS] = all.faults;
                counts[ENTRIES] = all.entries;
                counts[BATCHES] = did.batches;
                counts[BLOCKS] = did.blocks;
                counts[MIGRATED] = all.copied_in_bytes;
                counts[EVICTED] = all.copied_out_bytes;
                counts[THROTTLES] = did.throttles;
                counts[PINS] = did.pins;
                counts[COUNTER_MIGRATIONS] = did.counter_migrations;
                counts[DRIVER_BUSY] = did.busy.0;
            }
            Manager::Ranges(ranges) => {
                let did = ranges.counts();
                counts[FAULTS] = did.migrations;
                counts[MIGRATED] = did.migrated_bytes;
                counts[EVICTED] = did.returned_bytes;
            }
            Manager::Fixed => {}
        }
        counts[LOCAL] = memory.paths.local_bytes;
        counts[REMOTE] = memory.paths.remote_bytes;
        let (first, second) = memory.translations.counts();
        counts[LOOKUPS] = first.lookups;
        counts[WALKS] = second.misses;
        let busy = memory.paths.busy();
        counts[MEMORY_BUSY] = busy[0].0;
        counts[TO_GPU_BUSY] = busy[1].0;
        counts[TO_CPU_BUSY] = busy[2].0;
        Self {
            counts,
            ..Self::default()
        }
    }

    /// Adds what was counted from `before` to `after`.
    pub(super) fn add(&mut self, before: &Self, after: &Self) {
        let spans = before.counts.iter().zip(&after.counts);
        for (sum, (before, after)) in self.counts.iter_mut().zip(spans) {
            *sum += after - before;
        }
    }

    /// The report, but for what the point itself says.
    pub(super) fn report(&self, machine: &UvmMachine, loops: u32) -> UvmReport {
        let counts = &self.counts;
        UvmReport {
            gpu_bytes: 0,
            allocated_bytes: 0,
            blocks: 0,
            loops,
            time: Picos(self.time.0 / u64::from(loops.max(1))),
            setup: Picos::ZERO,
            reads: self.reads,
            faults: counts[FAULTS],
            fault_entries: counts[ENTRIES],
            batches: counts[BATCHES],
            block_services: counts[BLOCKS],
            migrated_bytes: counts[MIGRATED],
            evicted_bytes: counts[EVICTED],
            local_bytes: counts[LOCAL],
            remote_bytes: counts[REMOTE],
            tlb_lookups: counts[LOOKUPS],
            page_walks: counts[WALKS],
            throttles: counts[THROTTLES],
            pins: counts[PINS],
            counter_migrations: counts[COUNTER_MIGRATIONS],
            bound: self.bound(machine),
        }
    }

    /// The part that was busiest; the driver, whose work includes copies, counts only if no wire was busy throughout.
    fn bound(&self, machine: &UvmMachine) -> Bound {
        let time = self.time.0.max(1) as f64;
        let share = |count: usize| self.counts[count] as f64 / time;
        let walks = self.counts[WALKS] as f64 * machine.translation.walk_latency.0 as f64;
        let parts = [
            (Bound::GpuMemory, share(MEMORY_BUSY)),
            (Bound::Link, share(TO_GPU_BUSY).max(share(TO_CPU_BUSY))),
            (
                Bound::Translation,
                walks / f64::from(machine.translation.concurrent_walks) / time,
            ),
        ];
        let busiest =
            parts.into_iter().fold(
                parts[0],
                |busiest, part| {
                    if part.1 > busiest.1 { part } else { busiest }
                },
            );
        let driver = share(DRIVER_BUSY);
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
