//! What moved: for TLBs, caches and the host side, and in sum.

use pagemill_types::Picos;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Managed bytes that changed sides since the last look.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// Whole pages that got their first bytes on the GPU.
    pub came: Vec<Range<u64>>,
    /// Whole pages that left the GPU: their translations and cached lines are void.
    pub left: Vec<Range<u64>>,
}

impl Moves {
    /// Whether nothing moved.
    pub fn is_empty(&self) -> bool {
        self.came.is_empty() && self.left.is_empty()
    }

    /// `pages` arrived on the GPU.
    pub fn came(&mut self, pages: Range<u64>) {
        join(&mut self.came, pages);
    }

    /// `pages` left the GPU.
    pub fn left(&mut self, pages: Range<u64>) {
        join(&mut self.left, pages);
    }

    /// Forgets what moved.
    pub fn clear(&mut self) {
        self.came.clear();
        self.left.clear();
    }
}

/// Counts of all migration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationCounts {
    /// Ranges moved to the GPU on demand, each with its own transfer and buffer entry.
    pub migrations: u64,
    /// Bytes moved to the GPU on demand.
    pub migrated_bytes: u64,
    /// Bytes moved back to the CPU, by CPU requests and evictions.
    pub returned_bytes: u64,
    /// Pages that CPU requests brought back.
    pub returned_pages: u64,
    /// Pages moved out of GPU memory to make room.
    pub evictions: u64,
    /// Those of `migrated_bytes` that were on the way already when they were asked for once more.
    pub repeated_bytes: u64,
    /// Those of `migrated_bytes` that had been on the GPU before, and had left it.
    pub refetched_bytes: u64,
    /// Requests that found bytes they need on the way, and waited for them.
    pub joined_requests: u64,
    /// Bytes allocated in GPU memory at their first touch: nothing moved for them.
    pub populated_bytes: u64,
    /// Bytes that left GPU memory without a copy, because CPU memory had them as well.
    pub dropped_bytes: u64,
    /// Accesses that faulted and slept for the driver.
    pub faults: u64,
    /// Pages of 4 KiB that faults asked for, each once for each time that its block was served.
    pub faulted_pages: u64,
    /// Entries of the fault buffer that batches held, over all of them.
    pub fault_entries: u64,
    /// Batches that the driver served.
    pub batches: u64,
    /// Blocks of 2 MiB served, over all batches.
    pub block_services: u64,
    /// Time the driver was at work.
    pub driver_busy: Picos,
    /// Faults put off because their page thrashes.
    pub throttles: u64,
    /// Pages pinned in CPU memory because they thrash.
    pub pins: u64,
    /// Blocks moved because access counters reported them.
    pub counter_migrations: u64,
    /// Bytes that the GPU used in CPU memory, over the link.
    pub remote_bytes: u64,
    /// Bytes of GPU memory that the CPU used where they are, over the link.
    pub host_remote_bytes: u64,
    /// Migrations that found their partition's buffer full.
    pub buffer_stalls: u64,
    /// How long those waited for an entry, summed over them.
    pub buffer_stalled: Picos,
}

/// Appends `next`, to the last range where it goes on.
fn join(ranges: &mut Vec<Range<u64>>, next: Range<u64>) {
    match ranges.last_mut() {
        // Most moves go up through the addresses, so one look at the last range is enough to keep the list short.
        Some(last) if last.end == next.start => last.end = next.end,
        _ => ranges.push(next),
    }
}
