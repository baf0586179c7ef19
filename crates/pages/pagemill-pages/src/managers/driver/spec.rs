//! What a unified-memory driver costs, and how it decides.

use pagemill_policy::residency::{BLOCK_BYTES, DriverPolicy, PageMask};
use pagemill_types::Picos;

use crate::SpecError;

/// The driver of a machine, and how faults get to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverMachine {
    /// How faults get to the driver.
    pub faults: FaultSpec,
    /// What its work costs.
    pub costs: DriverCosts,
    /// How it decides.
    pub policy: DriverPolicy,
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
    /// Which faults a batch takes first.
    pub order: FaultOrder,
}

/// Which faults a batch takes first, and which waiting accesses get room in the table of their first-level TLB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultOrder {
    /// Those that were made first, of whatever TLB.
    #[default]
    Arrival,
    /// One of each first-level TLB in turn, as each sends its faults again after a flush. Waiting accesses try again
    /// together: chance says which warp gets room, and the others of that warp follow it.
    Turns,
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
    /// Of a host page that the CPU has mapped and gives up: its mappings here and there.
    pub host_page_unmap: Picos,
    /// Of a host page that the first touch of the GPU allocates.
    pub host_page_populate: Picos,
    /// Of deciding and queueing a copy, before it can begin. Pages without a gap that move for one reason are one copy.
    pub queue: Picos,
    /// Of setting up a copy; the link moves nothing meanwhile.
    pub copy: Picos,
    /// Of an evicted block, without its copy.
    pub eviction: Picos,
    /// Whether the driver waits for the copy of an evicted block before it goes on.
    pub eviction_waits: bool,
    /// From the end of a batch to the repeated accesses.
    pub replay: Picos,
    /// Of the first batch of a process, beside all others.
    pub first_batch: Picos,
    /// Of a fault of the CPU, without its copy.
    pub host_fault: Picos,
}

/// Host pages that move with the first fault of the CPU in a block: 64 KiB.
const FIRST_HOST_PAGES: u32 = 16;

/// The copies of a block in one direction: stretches of pages without a gap, each of pages that move for one reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copies(u64);

impl Copies {
    pub(super) fn count(self) -> u64 {
        self.0
    }

    /// Of pages that move for the same reason.
    pub(super) fn of(pages: &PageMask) -> Self {
        Self(u64::from(pages.runs()))
    }

    /// Of pages some of which were faulted on; the others are prefetched with them. The driver copies the first and then the
    /// others, even where they are neighbors.
    pub(super) fn by_cause(pages: &PageMask, faulted: &PageMask) -> Self {
        let along = pages.without(faulted);
        Self(u64::from(pages.and(faulted).runs() + along.runs()))
    }
}

impl DriverCosts {
    /// The driver's own time for copies.
    pub(super) fn queueing(&self, copies: Copies) -> Picos {
        Picos(self.queue.0 * copies.0)
    }

    /// The driver's time for the faults of a CPU that touches `pages` of a block in order. The driver grows them as those
    /// of the GPU: 64 KiB with the first, then as much as is there already, so that 2 MiB take six.
    pub(super) fn host_faults(&self, pages: u32) -> Picos {
        // nvprof counts six of them for each 2 MiB that a CPU initializes: 64 KiB and five doublings.
        let doublings = pages.div_ceil(FIRST_HOST_PAGES).next_power_of_two().ilog2();
        Picos(self.host_fault.0 * u64::from(1 + doublings))
    }

    /// How long the link moves nothing while copies are set up.
    pub(super) fn setup(&self, copies: Copies) -> Picos {
        Picos(self.copy.0 * copies.0)
    }
}

impl DriverMachine {
    /// Checks what cannot work on a GPU with `memory_bytes` of memory, of which no program gets `reserved_bytes`.
    pub fn check(&self, memory_bytes: Option<u64>, reserved_bytes: u64) -> Result<(), SpecError> {
        let faults = &self.faults;
        for (key, value) in [
            ("faults.utlb_outstanding", faults.utlb_outstanding),
            ("faults.batch_entries", faults.batch_entries),
        ] {
            if value == 0 {
                return Err(SpecError::new(key, value, "must be at least 1"));
            }
        }
        let bytes = memory_bytes.unwrap_or(u64::MAX);
        if bytes.saturating_sub(reserved_bytes) < BLOCK_BYTES {
            let allowed = "must hold 2 MiB beside what is reserved";
            return Err(SpecError::new("memory.size", bytes, allowed));
        }
        let density = self.policy.density_percent;
        if !(1..=100).contains(&density) {
            let key = "policy.density_percent";
            return Err(SpecError::new(key, density, "must be from 1 to 100"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a100::a100_pcie4_x86;

    /// nvprof counts six faults of the CPU for each 2 MiB that it initializes (`hotspot`: 36 for 12 MiB).
    #[test]
    fn a_block_takes_the_cpu_six_faults() {
        let costs = DriverCosts {
            host_fault: Picos(1),
            ..a100_pcie4_x86().driver.costs
        };
        let faults = |pages| costs.host_faults(pages).0;
        assert_eq!([1, 16, 17, 32, 33, 512].map(faults), [1, 1, 2, 2, 3, 6]);
    }

    /// Copies of a trace of nvprof: 4 and 60 KiB for a fault on 64 KiB, five where three neighbors were there before.
    #[test]
    fn copies_are_counted_as_the_driver_makes_them() {
        let faulted = PageMask::range(0..1);
        let count = |pages: &PageMask| Copies::by_cause(pages, &faulted).count();
        assert_eq!(count(&PageMask::range(0..16)), 2);
        let islands = [0..16, 32..48, 64..80, 96..112].map(PageMask::range);
        let islands = islands.iter().fold(PageMask::EMPTY, |all, one| all.or(one));
        assert_eq!(count(&islands), 5);
        assert_eq!(Copies::of(&islands).count(), 4);
        assert_eq!(count(&faulted), 1);
        // The page that faulted is not copied.
        assert_eq!(count(&PageMask::range(1..16)), 1);
    }
}
