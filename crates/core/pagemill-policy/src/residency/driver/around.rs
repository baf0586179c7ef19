//! What lies around a block, for policies of growth and prefetch.

use std::fmt;
use std::ops::Range;

use super::Driver;
use crate::residency::PAGE_BYTES;
use crate::surroundings::{FaultHistory, Surroundings};

/// A block and the driver that asks about it.
pub(super) struct Around<'a> {
    driver: &'a Driver,
    block: u32,
}

impl Driver {
    pub(super) fn around(&self, block: u32) -> Around<'_> {
        Around {
            driver: self,
            block,
        }
    }
}

impl fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} of {:?}", self.block, self.allocation())
    }
}

impl Surroundings for Around<'_> {
    fn page(&self) -> u32 {
        self.block
    }

    fn allocation(&self) -> Range<u32> {
        let allocations = &self.driver.allocations;
        let after = allocations.partition_point(|it| it.start <= self.block);
        let allocation = after.checked_sub(1).map(|it| allocations[it].clone());
        allocation.unwrap_or(self.block..self.block + 1)
    }

    fn valid_bytes(&self, page: u32) -> u64 {
        match page < self.driver.blocks() {
            true => u64::from(self.driver.resident(page).count()) * PAGE_BYTES,
            false => 0,
        }
    }

    fn frames(&self) -> Option<u64> {
        Some(u64::from(self.driver.chunk_limit))
    }

    fn free_frames(&self) -> Option<u64> {
        let held = self.driver.chunks.len();
        Some(u64::from(self.driver.chunk_limit.saturating_sub(held)))
    }

    fn faults(&self) -> &FaultHistory {
        &self.driver.faults
    }
}
