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
    /// Of a host page whose mapping is taken from the CPU.
    pub host_page_unmap: Picos,
    /// Of a host page that the first touch of the GPU allocates.
    pub host_page_populate: Picos,
    /// Of setting up a copy. Pages without a gap between them are one copy; the link moves nothing meanwhile.
    pub copy: Picos,
    /// Of an evicted block, without its copy.
    pub eviction: Picos,
    /// Whether the driver waits for the copy of an evicted block before it goes on.
    pub eviction_waits: bool,
    /// From the end of a batch to the repeated accesses.
    pub replay: Picos,
}

impl DriverCosts {
    /// Of setting up the copies of `pages`.
    pub(super) fn setup(&self, pages: &PageMask) -> Picos {
        Picos(self.copy.0 * u64::from(pages.runs()))
    }
}

impl DriverMachine {
    /// Checks what cannot work on a GPU with `memory_bytes` of memory, of which no program gets `reserved_bytes`.
    pub(crate) fn check(
        &self,
        memory_bytes: Option<u64>,
        reserved_bytes: u64,
    ) -> Result<(), SpecError> {
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
