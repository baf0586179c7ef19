//! Loads just beyond an allocation, which GPUs let pass: they protect memory by pages, not by bytes.

use crate::exec::service::Output;
use crate::exec::trap::TrapKind;
use crate::memory::DeviceMemory;

impl DeviceMemory {
    /// From now on, loads beyond an allocation succeed up to the next multiple of `granule_bytes` behind its end, and read zeros
    /// there: one that ends on such a multiple has a whole granule more, as a neighbor on a mapped page would be. 0 traps at the
    /// first byte. Stores and atomics always trap.
    pub fn set_read_granule(&mut self, granule_bytes: u64) {
        self.beyond.granule = granule_bytes;
    }

    /// Loads of single threads that reached beyond an allocation, and succeeded.
    pub fn loads_beyond(&self) -> u64 {
        self.beyond.loads
    }

    /// Whether a load of `bytes` at `address`, which no allocation holds, succeeds.
    #[cold]
    pub(crate) fn reads_beyond(&self, address: u64, bytes: u64) -> bool {
        let granule = self.beyond.granule;
        if granule == 0 || !address.is_multiple_of(bytes) {
            return false;
        }
        let behind = self
            .allocations
            .partition_point(|allocation| allocation.address() <= address);
        let Some(before) = behind.checked_sub(1).map(|at| &self.allocations[at]) else {
            return false;
        };
        let end = before.address() + before.bytes();
        let limit = (end + 1).checked_next_multiple_of(granule).unwrap_or(end);
        address
            .checked_add(bytes)
            .is_some_and(|load_end| load_end <= limit)
    }

    /// Lets a load pass that would be `refused` elsewhere. The first is kept, to be named.
    pub(crate) fn pass_beyond(&mut self, refused: TrapKind) {
        if self.beyond.loads == 0 {
            self.beyond.unnamed = Some(Box::new(refused));
        }
        self.beyond.loads += 1;
    }

    /// Says that the first load beyond an allocation was `kernel`'s, if it is not named yet.
    #[inline]
    pub(crate) fn name_beyond(&mut self, kernel: &str, output: &mut Output) {
        if let Some(load) = self.beyond.unnamed.take() {
            output.note(format!(
                "kernel {kernel}: {load}. A card maps memory by larger pages than it is allocated in and lets it pass, with what lies \
                 there; here it reads zeros. `--check` stops at each such load and names its line"
            ));
        }
    }

    /// Reads `into.len()` bytes at `address`: what is allocated, then zeros.
    #[cold]
    pub(crate) fn read_beyond(&mut self, address: u64, into: &mut [u8]) {
        into.fill(0);
        let len = into.len() as u64;
        let there = (1..=len)
            .rev()
            .find(|bytes| self.bytes(address, *bytes).is_ok());
        if let Some(bytes) = there
            && let Ok(held) = self.bytes(address, bytes)
        {
            into[..held.len()].copy_from_slice(held);
        }
    }
}

#[cfg(test)]
mod tests;
