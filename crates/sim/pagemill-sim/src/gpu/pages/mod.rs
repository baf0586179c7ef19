//! The seam between the memory path and the page managers, which decide where a managed page is: one file for each.
//!
//! A manager is asked about requests in non-decreasing time, answers with times, and books the link. What came to the GPU and
//! what left it has one form, [`Moves`], for TLBs, caches and the host side.

mod asked;
pub(crate) mod driver;
pub(crate) mod events;
mod moves;
pub(crate) mod pinned;
pub(crate) mod ranges;
#[cfg(test)]
mod ranges_tests;
mod resident;

use std::ops::Range;

use pagemill_types::Picos;

use crate::timeline::{TimelineEvent, TimelineKind};

pub(crate) use asked::{Asker, PageRequest, Touch};
pub use moves::MigrationCounts;
pub(crate) use moves::Moves;

use crate::gpu::common::addresses::MANAGED_BASE;
use crate::gpu::common::host_link::HostLink;
use crate::gpu::common::request::{Request, Stage};
use crate::gpu::machine::GpuMachine;
use crate::gpu::stream::AccessKind;
use crate::gpu::{SEGMENT_BYTES, SEGMENT_SHIFT};
use driver::{DriverMachine, DriverPages, Found, Waiter};
use pagemill_policy::migration::Migration;
use pagemill_policy::residency::{
    Action, BIG_PAGE_PAGES, BLOCK_PAGES, Call, PAGE_BYTES, PageAdvice, PageMask, Side,
};
use pinned::Pinned;
use ranges::{Ranges, RangesSpec};

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

/// Which memory an access to a page would meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// That of the GPU, now or soon.
    Gpu,
    /// That of the CPU, in place.
    Cpu,
    /// The access faults.
    Neither,
}

impl DriverPages<Sleeping> {
    /// Which memory an access to 4 KiB page `page` would meet.
    #[inline]
    fn place(&self, page: u32, writes: bool) -> Place {
        match self.find(Picos::ZERO, page, writes) {
            Found::Local(_) => Place::Gpu,
            Found::Remote => Place::Cpu,
            Found::Fault => Place::Neither,
        }
    }

    /// A GPU request; asked in non-decreasing time.
    #[inline]
    pub(crate) fn touch(&mut self, at: Picos, asked: Sleeping) -> Touch {
        match self.find(at, asked.page, asked.writes()) {
            Found::Local(ready) => {
                self.note_use(asked.page);
                match ready > at {
                    true => Touch::Arrives(ready),
                    false => Touch::Here(at),
                }
            }
            Found::Remote => {
                self.note_remote(at, asked.page, 1);
                Touch::InPlace(at)
            }
            Found::Fault => {
                self.fault(at, asked);
                Touch::Waits
            }
        }
    }
}

/// Where the bytes of every request are: managed memory, by its page manager, pinned memory, in place, and all other memory,
/// on the GPU.
#[derive(Debug)]
pub(crate) struct Pages {
    manager: Manager,
    pub(crate) pinned: Pinned,
    managed_segments: u64,
    /// SMs that share a first-level TLB, as faults are told apart.
    sms_per_utlb: u32,
    /// Bytes used in CPU memory by the page manager's decision.
    remote_bytes: u64,
}

/// A page manager, matched once a request.
#[derive(Debug)]
enum Manager {
    /// Everything is always in GPU memory.
    Fixed,
    /// Valid ranges, moved by the GPU.
    Ranges(Box<Ranges>),
    /// The unified-memory driver, with page tables of the GPU (`driver`) or of the host (`ats`). Offsets are from
    /// `MANAGED_BASE`.
    Driver(Box<DriverPages<Sleeping>>),
}

/// Constructors: one for each page manager.
impl Pages {
    /// Managed memory is always in GPU memory.
    pub(crate) fn fixed(machine: &GpuMachine) -> Self {
        Self::of(Manager::Fixed, machine)
    }

    /// The GPU moves ranges by `migration`.
    pub(crate) fn ranges(machine: &GpuMachine, migration: Migration) -> Self {
        let ranges = Ranges::new(RangesSpec::of(machine), migration, MANAGED_BASE);
        Self::of(Manager::Ranges(Box::new(ranges)), machine)
    }

    /// `driver` moves pages.
    pub(crate) fn driver(machine: &GpuMachine, driver: &DriverMachine) -> Self {
        let gpu_bytes = machine.program_bytes().unwrap_or(u64::MAX);
        let pages = DriverPages::empty(driver, machine.utlbs(), gpu_bytes, MANAGED_BASE);
        Self::of(Manager::Driver(Box::new(pages)), machine)
    }

    fn of(manager: Manager, machine: &GpuMachine) -> Self {
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
        match &mut self.manager {
            Manager::Fixed => Touch::Here(at),
            Manager::Ranges(ranges) => {
                let asked = PageRequest {
                    address,
                    bytes: SEGMENT_BYTES as u32,
                    asker: Asker {
                        sm: request.sm,
                        partition,
                    },
                };
                ranges.touch(at, asked, host_link)
            }
            Manager::Driver(pages) => {
                let asked = Sleeping {
                    request: Request {
                        stage: Stage::Issued,
                        ..*request
                    },
                    utlb: request.sm / self.sms_per_utlb,
                    page: page_of(address),
                };
                let touch = pages.touch(at, asked);
                if let Touch::InPlace(_) = touch {
                    let bytes = 32 * u64::from(request.sectors.count_ones());
                    self.remote_bytes += bytes;
                    host_link.ledger.remote(address, bytes);
                }
                touch
            }
        }
    }

    /// Whether requests may find their bytes in CPU memory.
    pub(crate) fn uses_in_place(&self) -> bool {
        !self.pinned.is_empty() || self.is_driven()
    }

    /// Whether a unified-memory driver moves pages.
    pub(crate) fn is_driven(&self) -> bool {
        matches!(self.manager, Manager::Driver(_))
    }

    /// A page manager that works by itself goes on at `now`; what may be repeated goes to `awake`.
    pub(crate) fn advance(
        &mut self,
        now: Picos,
        host_link: &mut HostLink,
        awake: &mut Vec<Sleeping>,
    ) {
        if let Manager::Driver(pages) = &mut self.manager {
            pages.advance_and_recheck(now, host_link, awake);
        }
    }
}

/// What the host does.
impl Pages {
    /// What the program said about the managed 4 KiB page of `address`; nothing where the page manager heeds no advice.
    pub(crate) fn advice(&self, address: u64) -> PageAdvice {
        match &self.manager {
            Manager::Driver(pages) => pages.advice(page_of(address)),
            _ => PageAdvice::default(),
        }
    }

    /// The CPU touches the bytes from `address`. Returns when all are in CPU memory, and how many bytes moved.
    pub(crate) fn host_touch(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        writes: bool,
        host_link: &mut HostLink,
    ) -> (Picos, u64) {
        match &mut self.manager {
            Manager::Fixed => (at, 0),
            Manager::Ranges(ranges) => ranges.cpu_request(at, address, bytes, host_link),
            Manager::Driver(pages) => {
                pages.host_touch(at, offsets(address, bytes), writes, host_link)
            }
        }
    }

    /// Bytes come to the GPU before anything asks for them; returns when all are there.
    pub(crate) fn prefetch(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        host_link: &mut HostLink,
    ) -> Picos {
        match &mut self.manager {
            Manager::Fixed => at,
            Manager::Ranges(ranges) => ranges.prefetch(at, address, bytes, host_link),
            Manager::Driver(pages) => {
                let call = Call {
                    bytes: offsets(address, bytes),
                    action: Action::Prefetch(Side::Gpu),
                };
                let start = at;
                let (now, done) = pages.call(at, &call, host_link);
                host_link.timeline.record(|| TimelineEvent {
                    kind: TimelineKind::CopyToGpu,
                    start,
                    end: done,
                    bytes,
                });
                now.max(done)
            }
        }
    }

    /// Managed pages have `bytes` of GPU memory from now on.
    pub(crate) fn limit_memory(&mut self, at: Picos, bytes: u64, host_link: &mut HostLink) {
        match &mut self.manager {
            Manager::Fixed => {}
            Manager::Ranges(ranges) => ranges.limit_frames(at, bytes, host_link),
            Manager::Driver(pages) => pages.limit(at, bytes, host_link),
        }
    }

    /// A new allocation: `bytes` from `address`, and nothing else up to `end`.
    pub(crate) fn allocate(&mut self, address: u64, bytes: u64, end: u64) {
        self.managed_segments = (end - MANAGED_BASE).div_ceil(SEGMENT_BYTES);
        match &mut self.manager {
            Manager::Fixed => {}
            Manager::Ranges(ranges) => ranges.allocate(address, bytes, end),
            Manager::Driver(pages) => pages.allocate(offsets(address, bytes)),
        }
    }

    /// The bytes from `address`, all of a new allocation, are in neither memory until one side touches them.
    pub(crate) fn start_untouched(&mut self, address: u64, bytes: u64) {
        // A driver takes all allocations for that.
        if let Manager::Ranges(ranges) = &mut self.manager {
            ranges.start_untouched(address, bytes);
        }
    }

    /// The CPU has touched those of the bytes from `address` that were in neither memory.
    pub(crate) fn touched_by_host(&mut self, address: u64, bytes: u64) {
        match &mut self.manager {
            Manager::Fixed => {}
            Manager::Ranges(ranges) => ranges.touched_by_host(address, bytes),
            Manager::Driver(pages) => pages.first_touched_by_host(offsets(address, bytes)),
        }
    }

    /// Least bytes that are told apart by [`Pages::is_on_gpu`], of pages of `page_bytes`.
    pub(crate) fn granule_bytes(&self, page_bytes: u64) -> u64 {
        match &self.manager {
            Manager::Driver(_) => u64::from(BIG_PAGE_PAGES) * PAGE_BYTES,
            _ => page_bytes,
        }
    }

    /// When a page manager that works by itself goes on.
    #[inline]
    pub(crate) fn due(&self) -> Option<Picos> {
        match &self.manager {
            Manager::Driver(pages) => pages.due(),
            _ => None,
        }
    }

    /// The program says how its memory will be used; returns when the host goes on, and when the last copy is done. `None`
    /// where this page manager heeds no such call.
    pub(crate) fn call(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        action: Action,
        host_link: &mut HostLink,
    ) -> Option<(Picos, Picos)> {
        let Manager::Driver(pages) = &mut self.manager else {
            return None;
        };
        let bytes = offsets(address, bytes);
        let called = pages.call(at, &Call { bytes, action }, host_link);
        pages.heeds(action).then_some(called)
    }

    /// The bytes from `address` are no longer anything; nothing moves.
    pub(crate) fn forget(&mut self, at: Picos, address: u64, bytes: u64, host_link: &mut HostLink) {
        match &mut self.manager {
            Manager::Fixed => {}
            Manager::Ranges(ranges) => ranges.forget(at, address, bytes, host_link),
            Manager::Driver(pages) => pages.free(at, offsets(address, bytes), host_link),
        }
    }

    /// Whether any byte of the page at `address` is in GPU memory and not in CPU memory.
    pub(crate) fn is_on_gpu(&self, address: u64) -> bool {
        match &self.manager {
            Manager::Fixed => false,
            Manager::Ranges(ranges) => ranges.is_on_gpu(address),
            Manager::Driver(pages) => pages
                .only_on_gpu(page_of(address))
                .overlaps(&granule_of(address)),
        }
    }

    /// Whether any byte of the page at `address` is in both memories.
    pub(crate) fn is_in_both(&self, address: u64) -> bool {
        match &self.manager {
            Manager::Fixed | Manager::Ranges(_) => false,
            Manager::Driver(pages) => pages
                .duplicates(page_of(address))
                .overlaps(&granule_of(address)),
        }
    }

    /// What moved since it was last cleared.
    pub(crate) fn moves(&mut self) -> Option<&mut Moves> {
        match &mut self.manager {
            Manager::Fixed => None,
            Manager::Ranges(ranges) => Some(&mut ranges.moves),
            Manager::Driver(pages) => Some(pages.moves()),
        }
    }

    /// What was counted.
    pub(crate) fn counts(&self) -> MigrationCounts {
        let counts = match &self.manager {
            Manager::Fixed => MigrationCounts::default(),
            Manager::Ranges(ranges) => ranges.counts(),
            Manager::Driver(pages) => pages.counts().as_migration(),
        };
        MigrationCounts {
            remote_bytes: self.remote_bytes,
            ..counts
        }
    }

    /// Everything on its way has arrived: the run is over.
    pub(crate) fn land_everything(&mut self) {
        if let Manager::Ranges(ranges) = &mut self.manager {
            ranges.land_everything();
        }
    }

    /// Bytes that are valid in GPU memory now.
    pub(crate) fn resident_bytes(&self) -> u64 {
        match &self.manager {
            Manager::Fixed => 0,
            Manager::Ranges(ranges) => ranges.resident_bytes(),
            Manager::Driver(pages) => pages.resident_bytes(),
        }
    }

    /// How many pages have how many valid ranges: index 0 counts pages with none. Empty where pages have no ranges.
    pub(crate) fn ranges_per_page(&self) -> Vec<u64> {
        match &self.manager {
            Manager::Fixed | Manager::Driver(_) => Vec::new(),
            Manager::Ranges(ranges) => ranges.ranges_per_page(),
        }
    }
}

/// Where managed bytes are, from the start of managed memory.
fn offsets(address: u64, bytes: u64) -> Range<u64> {
    address - MANAGED_BASE..address - MANAGED_BASE + bytes
}

/// The 4 KiB page of a managed address.
pub(crate) fn page_of(address: u64) -> u32 {
    ((address - MANAGED_BASE) / PAGE_BYTES) as u32
}

/// The driver's granule of a managed address, within its block.
fn granule_of(address: u64) -> PageMask {
    let first = page_of(address) % BLOCK_PAGES / BIG_PAGE_PAGES * BIG_PAGE_PAGES;
    PageMask::range(first..first + BIG_PAGE_PAGES)
}
