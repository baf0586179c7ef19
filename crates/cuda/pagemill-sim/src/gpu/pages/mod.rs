//! The seam between the memory path and the page managers, which decide where a managed page is.

pub(crate) mod pinned;

use pagemill_types::Picos;

use crate::gpu::common::addresses::MANAGED_BASE;
use crate::gpu::common::request::{Request, Stage};
use crate::gpu::machine::GpuMachine;
use crate::gpu::stream::AccessKind;
use crate::gpu::{SEGMENT_BYTES, SEGMENT_SHIFT};
use pagemill_pages::managers::{
    Asker, DriverMachine, DriverPages, HostLink, Manager, MigrationCounts, PageRequest, Place,
    Ranges, RangesSpec, Touch, Waiter,
};
use pagemill_policy::migration::Migration;
use pagemill_policy::residency::PAGE_BYTES;
use pinned::Pinned;

const BASE_SEGMENT: u64 = MANAGED_BASE >> SEGMENT_SHIFT;
/// Segments of a 4 KiB page.
const PAGE_SEGMENTS: u64 = PAGE_BYTES >> SEGMENT_SHIFT;

/// A request of the memory path that sleeps for its page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleeping {
    pub(crate) request: Request,
    pub(crate) utlb: u32,
    /// Its 4 KiB page, counted from the start of managed memory.
    pub(crate) page: u32,
}

impl Waiter for Sleeping {
    fn utlb(&self) -> u32 {
        self.utlb
    }

    fn page(&self) -> u32 {
        self.page
    }

    fn writes(&self) -> bool {
        self.request.kind != AccessKind::Load
    }

    fn instruction(&self) -> u32 {
        self.request.instruction
    }

    fn warp(&self) -> u32 {
        self.request.warp
    }
}

/// Where the bytes of every request are: managed memory, by its page manager, pinned memory, in place, and all other memory,
/// on the GPU.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) manager: Manager<Sleeping>,
    pub(crate) pinned: Pinned,
    managed_segments: u64,
    /// SMs that share a first-level TLB, as faults are told apart.
    sms_per_utlb: u32,
    /// Bytes used in CPU memory by the page manager's decision.
    remote_bytes: u64,
}

/// Constructors: one for each page manager.
impl Pages {
    /// Managed memory is always in GPU memory.
    pub(crate) fn fixed(machine: &GpuMachine) -> Self {
        Self::of(Manager::Fixed, machine)
    }

    /// The GPU moves ranges by `migration`.
    pub(crate) fn ranges(machine: &GpuMachine, migration: Migration) -> Self {
        let ranges = Ranges::new(ranges_of(machine), migration, MANAGED_BASE);
        Self::of(Manager::Ranges(Box::new(ranges)), machine)
    }

    /// `driver` moves pages.
    pub(crate) fn driver(machine: &GpuMachine, driver: &DriverMachine) -> Self {
        let gpu_bytes = machine.program_bytes().unwrap_or(u64::MAX);
        let pages = DriverPages::empty(driver, machine.utlbs(), gpu_bytes, MANAGED_BASE);
        Self::of(Manager::Driver(Box::new(pages)), machine)
    }

    fn of(manager: Manager<Sleeping>, machine: &GpuMachine) -> Self {
        Self {
            manager,
            pinned: Pinned::default(),
            managed_segments: 0,
            sms_per_utlb: machine.sms_per_utlb(),
            remote_bytes: 0,
        }
    }
}

/// Requests of the GPU.
impl Pages {
    /// Number of a managed segment, or `None` for other memory.
    #[inline]
    pub(crate) fn managed(&self, segment: u64) -> Option<u64> {
        // Segments below managed memory wrap to numbers beyond all of it: one comparison for both ends.
        let index = segment.wrapping_sub(BASE_SEGMENT);
        (index < self.managed_segments).then_some(index)
    }

    /// Number of managed segments.
    pub(crate) fn managed_segments(&self) -> u64 {
        self.managed_segments
    }

    /// Which memory an access to a segment would meet.
    #[inline]
    pub(crate) fn place(&self, segment: u64, kind: AccessKind) -> Place {
        match (self.managed(segment), &self.manager) {
            (Some(index), Manager::Driver(pages)) => {
                pages.place((index / PAGE_SEGMENTS) as u32, kind != AccessKind::Load)
            }
            (None, _) if self.pinned.holds(segment) => Place::Cpu,
            _ => Place::Gpu,
        }
    }

    /// Where `request`, whose translation is known, finds its bytes; asked in non-decreasing time. `partition` is the memory
    /// partition of the bytes.
    #[inline]
    pub(crate) fn touch(
        &mut self,
        at: Picos,
        request: &Request,
        partition: usize,
        host_link: &mut HostLink,
    ) -> Touch {
        if self.managed(request.segment).is_none() {
            return match self.pinned.holds(request.segment) {
                true => Touch::InPlace(at),
                false => Touch::Here(at),
            };
        }
        let address = request.segment << SEGMENT_SHIFT;
        let asked = PageRequest {
            address,
            bytes: SEGMENT_BYTES as u32,
            asker: Asker {
                sm: request.sm,
                partition,
            },
        };
        let sleeping = || Sleeping {
            request: Request {
                // It begins anew: by the time it is repeated, its page may have moved again, and its translation with it.
                stage: Stage::Issued,
                ..*request
            },
            utlb: request.sm / self.sms_per_utlb,
            page: page_of(address),
        };
        let touch = self.manager.touch(at, asked, sleeping, host_link);
        if let Touch::InPlace(_) = touch {
            let bytes = 32 * u64::from(request.sectors.count_ones());
            self.remote_bytes += bytes;
            host_link.ledger.remote(address, bytes);
        }
        touch
    }

    /// Whether requests may find their bytes in CPU memory.
    pub(crate) fn uses_in_place(&self) -> bool {
        !self.pinned.is_empty() || self.manager.is_driven()
    }

    /// A new allocation: `bytes` from `address`, and nothing else up to `end`.
    pub(crate) fn allocate(&mut self, address: u64, bytes: u64, end: u64) {
        self.managed_segments = (end - MANAGED_BASE).div_ceil(SEGMENT_BYTES);
        self.manager.allocate(address, bytes, end);
    }

    /// What was counted.
    pub(crate) fn counts(&self) -> MigrationCounts {
        MigrationCounts {
            remote_bytes: self.remote_bytes,
            ..self.manager.counts()
        }
    }
}

/// The 4 KiB page of a managed address.
fn page_of(address: u64) -> u32 {
    ((address - MANAGED_BASE) / PAGE_BYTES) as u32
}

/// The memory management unit of `machine`.
fn ranges_of(machine: &GpuMachine) -> RangesSpec {
    let gmmu = &machine.gmmu;
    let cycles = |count: u32| machine.core_clock.cycles(u64::from(count));
    RangesSpec {
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
