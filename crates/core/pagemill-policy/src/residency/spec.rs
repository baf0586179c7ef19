use std::fmt;

use super::ahead::{AHEADS, AheadEntry};
use super::eviction::{EVICTIONS, EvictionEntry};
use super::growth::{GROWTHS, GrowthEntry};
use super::{BLOCK_BYTES, ThrashingSpec};

/// Page size of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostPage {
    /// 4 KiB, as on x86.
    #[default]
    Kib4,
    /// 64 KiB, as on POWER9.
    Kib64,
}

impl HostPage {
    /// Bytes of a page.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Kib4 => 4 << 10,
            Self::Kib64 => 64 << 10,
        }
    }

    /// Pages of 4 KiB.
    pub const fn pages(self) -> u32 {
        (self.bytes() >> 12) as u32
    }
}

/// Whose page tables the GPU walks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageTables {
    /// Its own: a page that the driver has not mapped for it faults.
    #[default]
    Gpu,
    /// The host's, by address translation services (ATS): the GPU reaches every page that has memory, and the CPU reaches
    /// pages in GPU memory. Only pages that have no memory yet fault.
    Host,
}

/// Bytes that one access counter stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterRegion {
    /// 64 KiB.
    Kib64,
    /// 2 MiB, what NVIDIA's driver 595.45.04 sets.
    #[default]
    Mib2,
}

/// Remote accesses are counted, and a busy region moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessCounterSpec {
    /// Remote accesses to a region after which it is reported.
    pub threshold: u32,
    /// The region.
    pub region: CounterRegion,
}

impl Default for AccessCounterSpec {
    /// The default of NVIDIA's driver 595.45.04.
    fn default() -> Self {
        Self {
            threshold: 256,
            region: CounterRegion::default(),
        }
    }
}

/// How the driver decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverPolicy {
    /// Page size of the host: the least that moves.
    pub host_page: HostPage,
    /// What else moves with a faulted page.
    pub growth: &'static GrowthEntry,
    /// Density in percent that the density tree has to exceed.
    pub density_percent: u32,
    /// Which block leaves.
    pub eviction: &'static EvictionEntry,
    /// Which further blocks come with a served one.
    pub ahead: &'static AheadEntry,
    /// Thrashing detection, if there is one.
    pub thrashing: Option<ThrashingSpec>,
    /// Access counters, if the platform has them on. Then evicted pages stay mapped for the GPU as well.
    pub access_counters: Option<AccessCounterSpec>,
    /// Whose page tables the GPU walks. With the host's, nothing thrashes: an access that is served needs no page to move.
    pub page_tables: PageTables,
}

impl Default for DriverPolicy {
    /// NVIDIA's driver 595.45.04 on x86.
    fn default() -> Self {
        Self {
            host_page: HostPage::Kib4,
            growth: &GROWTHS[GROWTHS.len() - 1],
            // `uvm_perf_prefetch_threshold` of the driver. The tree wants strictly more: 17 of 32 pages.
            density_percent: 51,
            eviction: &EVICTIONS[0],
            ahead: &AHEADS[0],
            thrashing: Some(ThrashingSpec::default()),
            access_counters: None,
            page_tables: PageTables::default(),
        }
    }
}

/// A driver's allocation and how it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverSpec {
    /// Bytes of the managed allocation.
    pub allocation_bytes: u64,
    /// Bytes of GPU memory that it may take; at least one block of 2 MiB is used.
    pub gpu_bytes: u64,
    /// How it decides.
    pub policy: DriverPolicy,
}

impl DriverSpec {
    /// NVIDIA's driver 595.45.04 on x86.
    pub fn new(allocation_bytes: u64, gpu_bytes: u64) -> Self {
        Self {
            allocation_bytes,
            gpu_bytes,
            policy: DriverPolicy::default(),
        }
    }

    /// Checks what a driver cannot work with.
    ///
    /// # Errors
    /// No byte allocated, less GPU memory than one block, or more blocks than can be numbered.
    pub fn check(&self) -> Result<(), DriverSpecError> {
        if self.allocation_bytes == 0 || self.allocation_bytes > MOST_BYTES {
            return Err(DriverSpecError::Allocation {
                bytes: self.allocation_bytes,
            });
        }
        if self.gpu_bytes < BLOCK_BYTES {
            return Err(DriverSpecError::GpuMemory {
                bytes: self.gpu_bytes,
            });
        }
        Ok(())
    }
}

/// Pages of 4 KiB are numbered in 32 bits.
const MOST_BYTES: u64 = 8 << 40;

/// Why a [`DriverSpec`] describes no driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverSpecError {
    /// Nothing is allocated, or more than 8 TiB.
    Allocation {
        /// Bytes of the allocation.
        bytes: u64,
    },
    /// GPU memory holds no block.
    GpuMemory {
        /// Bytes of GPU memory.
        bytes: u64,
    },
}

impl fmt::Display for DriverSpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allocation { bytes } => write!(
                f,
                "an allocation of {bytes} B cannot be managed: use 1 B to {MOST_BYTES} B (8 TiB)"
            ),
            Self::GpuMemory { bytes } => write!(
                f,
                "{bytes} B of GPU memory hold no block of {BLOCK_BYTES} B: leave the allocation 2 MiB or more"
            ),
        }
    }
}

impl std::error::Error for DriverSpecError {}
