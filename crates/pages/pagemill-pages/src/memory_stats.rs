//! What the way to memory counts, of whatever asks for pages.

use crate::managers::MigrationCounts;
use crate::parts::cache::CacheCounts;
use crate::parts::dram::DramCounts;
use crate::parts::link::Traffic;
use serde::{Deserialize, Serialize};

/// Counts of the memory side, summed over SMs and partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryStats {
    /// TLB lookups: one for each segment of each warp-wide access, and those that a waiting request repeats (`tlb.retry`).
    pub tlb_lookups: u64,
    /// Lookups that started a page walk, and all that were repeated.
    pub tlb_misses: u64,
    /// Lookups that found a walk for their page on the way.
    pub tlb_merged_misses: u64,
    /// Page walks.
    pub walks: u64,
    /// First-level caches.
    pub l1: CacheCounts,
    /// Second-level cache.
    pub l2: CacheCounts,
    /// DRAM channels.
    pub dram: DramCounts,
    /// Link, CPU to GPU: migrations and copies.
    pub to_gpu: Traffic,
    /// Link, GPU to CPU: pages that came back, evictions and copies.
    pub to_cpu: Traffic,
    /// Page migration.
    pub migration: MigrationCounts,
    /// Distinct 128-byte segments of managed memory that kernels touched, in bytes. Not a sum over launches.
    pub touched_bytes: u64,
}

impl MemoryStats {
    /// Lookups without a translation at hand, of all lookups; 0 without lookups.
    pub fn tlb_miss_rate(&self) -> f64 {
        ratio(self.tlb_misses + self.tlb_merged_misses, self.tlb_lookups)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Gives a struct of counts a sum and a difference, field by field.
#[macro_export]
macro_rules! fieldwise {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $type {
            /// Adds `other` field by field.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// What was counted since `earlier`.
            pub fn since(&self, earlier: &Self) -> Self {
                // Names every field: one that the list lacks does not compile.
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }
    };
}

fieldwise!(CacheCounts {
    load_hits,
    load_misses,
    store_hits,
    store_misses,
    writebacks
});
fieldwise!(DramCounts {
    row_hits,
    row_misses,
    bytes
});
fieldwise!(Traffic {
    transfers,
    bytes,
    busy
});
fieldwise!(MigrationCounts {
    migrations,
    migrated_bytes,
    returned_bytes,
    returned_pages,
    evictions,
    repeated_bytes,
    refetched_bytes,
    joined_requests,
    populated_bytes,
    dropped_bytes,
    faults,
    faulted_pages,
    batches,
    block_services,
    fault_entries,
    driver_busy,
    throttles,
    pins,
    counter_migrations,
    remote_bytes,
    host_remote_bytes,
    buffer_stalls,
    buffer_stalled,
});

impl MemoryStats {
    /// Adds `other` field by field.
    pub fn add(&mut self, other: &Self) {
        self.tlb_lookups += other.tlb_lookups;
        self.tlb_misses += other.tlb_misses;
        self.tlb_merged_misses += other.tlb_merged_misses;
        self.walks += other.walks;
        self.l1.add(&other.l1);
        self.l2.add(&other.l2);
        self.dram.add(&other.dram);
        self.to_gpu.add(&other.to_gpu);
        self.to_cpu.add(&other.to_cpu);
        self.migration.add(&other.migration);
        self.touched_bytes += other.touched_bytes;
    }

    /// What was counted since `earlier`; `touched_bytes` is how many were touched for the first time.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            tlb_lookups: self.tlb_lookups - earlier.tlb_lookups,
            tlb_misses: self.tlb_misses - earlier.tlb_misses,
            tlb_merged_misses: self.tlb_merged_misses - earlier.tlb_merged_misses,
            walks: self.walks - earlier.walks,
            l1: self.l1.since(&earlier.l1),
            l2: self.l2.since(&earlier.l2),
            dram: self.dram.since(&earlier.dram),
            to_gpu: self.to_gpu.since(&earlier.to_gpu),
            to_cpu: self.to_cpu.since(&earlier.to_cpu),
            migration: self.migration.since(&earlier.migration),
            touched_bytes: self.touched_bytes - earlier.touched_bytes,
        }
    }
}
