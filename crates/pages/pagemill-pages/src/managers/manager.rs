//! The page managers, matched once a request, for all that simulates accesses: kernels, with [`super::Pages`], and patterns.

use super::ranges::Ranges;
use super::{MigrationCounts, Moves, PageRequest, Touch};
use crate::managers::driver::{DriverPages, Found, Waiter};
use crate::managers::host_link::HostLink;
use crate::timeline::{TimelineEvent, TimelineKind};
use pagemill_policy::residency::{
    Action, BIG_PAGE_PAGES, BLOCK_PAGES, Call, PAGE_BYTES, PageAdvice, PageMask, Side,
};
use pagemill_types::Picos;

/// Which memory an access to a page would meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// That of the GPU, now or soon.
    Gpu,
    /// That of the CPU, in place.
    Cpu,
    /// The access faults.
    Neither,
}

impl<W: Waiter> DriverPages<W> {
    /// Which memory an access to 4 KiB page `page` would meet.
    #[inline]
    pub fn place(&self, page: u32, writes: bool) -> Place {
        match self.find(Picos::ZERO, page, writes) {
            Found::Local(_) | Found::Beyond => Place::Gpu,
            Found::Remote => Place::Cpu,
            Found::Fault => Place::Neither,
        }
    }

    /// A GPU request; asked in non-decreasing time.
    #[inline]
    fn touch(&mut self, at: Picos, asked: W) -> Touch {
        match self.find(at, asked.page(), asked.writes()) {
            Found::Local(ready) => {
                self.note_use(asked.page());
                match ready > at {
                    true => Touch::Arrives(ready),
                    false => Touch::Here(at),
                }
            }
            Found::Remote => {
                self.note_remote(at, asked.page(), asked.requests());
                Touch::InPlace(at)
            }
            Found::Fault => {
                self.fault(at, asked);
                Touch::Waits
            }
            Found::Beyond => Touch::Here(at),
        }
    }
}

/// A page manager, and the accesses `W` that sleep for its pages.
#[derive(Debug)]
pub enum Manager<W> {
    /// Everything is always in GPU memory.
    Fixed,
    /// Valid ranges, moved by the GPU.
    Ranges(Box<Ranges>),
    /// The unified-memory driver, with page tables of the GPU (`driver`) or of the host (`ats`).
    Driver(Box<DriverPages<W>>),
}

/// Requests of the GPU.
impl<W: Waiter> Manager<W> {
    /// Where `request` finds its bytes; asked in non-decreasing time. `waiter` makes what sleeps if it has to, for a driver.
    #[inline]
    pub fn touch(
        &mut self,
        at: Picos,
        request: PageRequest,
        waiter: impl FnOnce() -> W,
        host_link: &mut HostLink,
    ) -> Touch {
        match self {
            Self::Fixed => Touch::Here(at),
            Self::Ranges(ranges) => ranges.touch(at, request, host_link),
            Self::Driver(pages) => pages.touch(at, waiter()),
        }
    }

    /// Whether a unified-memory driver moves pages.
    pub fn is_driven(&self) -> bool {
        matches!(self, Self::Driver(_))
    }

    /// When a page manager that works by itself goes on.
    #[inline]
    pub fn due(&self) -> Option<Picos> {
        match self {
            Self::Driver(pages) => pages.due(),
            _ => None,
        }
    }

    /// A page manager that works by itself goes on at `now`; what may be repeated goes to `awake`. Once it is, the manager is
    /// due again before anything else at that time.
    pub fn advance(&mut self, now: Picos, host_link: &mut HostLink, awake: &mut Vec<W>) {
        if let Self::Driver(pages) = self {
            pages.advance_and_recheck(now, host_link, awake);
        }
    }
}

/// What the host does.
impl<W: Waiter> Manager<W> {
    /// What the program said about the managed 4 KiB page of `address`; nothing where the page manager heeds no advice.
    pub fn advice(&self, address: u64) -> PageAdvice {
        match self {
            Self::Driver(pages) => pages.advice(pages.page_of(address)),
            _ => PageAdvice::default(),
        }
    }

    /// The CPU touches the bytes from `address`. Returns when all are in CPU memory, and how many bytes moved.
    pub fn host_touch(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        writes: bool,
        host_link: &mut HostLink,
    ) -> (Picos, u64) {
        match self {
            Self::Fixed => (at, 0),
            Self::Ranges(ranges) => ranges.cpu_request(at, address, bytes, host_link),
            Self::Driver(pages) => {
                let bytes = pages.offsets(address, bytes);
                pages.host_touch(at, bytes, writes, host_link)
            }
        }
    }

    /// Bytes come to the GPU before anything asks for them; returns when all are there.
    pub fn prefetch(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        host_link: &mut HostLink,
    ) -> Picos {
        match self {
            Self::Fixed => at,
            Self::Ranges(ranges) => ranges.prefetch(at, address, bytes, host_link),
            Self::Driver(pages) => {
                let call = Call {
                    bytes: pages.offsets(address, bytes),
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
    pub fn limit_memory(&mut self, at: Picos, bytes: u64, host_link: &mut HostLink) {
        match self {
            Self::Fixed => {}
            Self::Ranges(ranges) => ranges.limit_frames(at, bytes, host_link),
            Self::Driver(pages) => pages.limit(at, bytes, host_link),
        }
    }

    /// A new allocation: `bytes` from `address`, and nothing else up to `end`.
    pub fn allocate(&mut self, address: u64, bytes: u64, end: u64) {
        match self {
            Self::Fixed => {}
            Self::Ranges(ranges) => ranges.allocate(address, bytes, end),
            Self::Driver(pages) => {
                let bytes = pages.offsets(address, bytes);
                pages.allocate(bytes);
            }
        }
    }

    /// The bytes from `address`, all of a new allocation, are in neither memory until one side touches them.
    pub fn start_untouched(&mut self, address: u64, bytes: u64) {
        // A driver takes all allocations for that.
        if let Self::Ranges(ranges) = self {
            ranges.start_untouched(address, bytes);
        }
    }

    /// The CPU has touched those of the bytes from `address` that were in neither memory.
    pub fn touched_by_host(&mut self, address: u64, bytes: u64) {
        match self {
            Self::Fixed => {}
            Self::Ranges(ranges) => ranges.touched_by_host(address, bytes),
            Self::Driver(pages) => {
                let bytes = pages.offsets(address, bytes);
                pages.first_touched_by_host(bytes);
            }
        }
    }

    /// Least bytes that are told apart by [`Manager::is_on_gpu`], of pages of `page_bytes`.
    pub fn granule_bytes(&self, page_bytes: u64) -> u64 {
        match self {
            Self::Driver(_) => u64::from(BIG_PAGE_PAGES) * PAGE_BYTES,
            _ => page_bytes,
        }
    }

    /// The program says how its memory will be used; returns when the host goes on, and when the last copy is done. `None`
    /// where this page manager heeds no such call.
    pub fn call(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        action: Action,
        host_link: &mut HostLink,
    ) -> Option<(Picos, Picos)> {
        let Self::Driver(pages) = self else {
            return None;
        };
        let bytes = pages.offsets(address, bytes);
        let called = pages.call(at, &Call { bytes, action }, host_link);
        pages.heeds(action).then_some(called)
    }

    /// The bytes from `address` are no longer anything; nothing moves.
    pub fn forget(&mut self, at: Picos, address: u64, bytes: u64, host_link: &mut HostLink) {
        match self {
            Self::Fixed => {}
            Self::Ranges(ranges) => ranges.forget(at, address, bytes, host_link),
            Self::Driver(pages) => {
                let bytes = pages.offsets(address, bytes);
                pages.free(at, bytes, host_link);
            }
        }
    }

    /// Whether any byte of the page at `address` is in GPU memory and not in CPU memory.
    pub fn is_on_gpu(&self, address: u64) -> bool {
        match self {
            Self::Fixed => false,
            Self::Ranges(ranges) => ranges.is_on_gpu(address),
            Self::Driver(pages) => pages
                .only_on_gpu(pages.page_of(address))
                .overlaps(&granule_of(pages.page_of(address))),
        }
    }

    /// Whether any byte of the page at `address` is in both memories.
    pub fn is_in_both(&self, address: u64) -> bool {
        match self {
            Self::Fixed | Self::Ranges(_) => false,
            Self::Driver(pages) => pages
                .duplicates(pages.page_of(address))
                .overlaps(&granule_of(pages.page_of(address))),
        }
    }

    /// What moved since it was last cleared.
    pub fn moves(&mut self) -> Option<&mut Moves> {
        match self {
            Self::Fixed => None,
            Self::Ranges(ranges) => Some(&mut ranges.moves),
            Self::Driver(pages) => Some(pages.moves()),
        }
    }

    /// What was counted, but for what requests used in CPU memory.
    pub fn counts(&self) -> MigrationCounts {
        match self {
            Self::Fixed => MigrationCounts::default(),
            Self::Ranges(ranges) => ranges.counts(),
            Self::Driver(pages) => pages.counts(),
        }
    }

    /// Everything on its way has arrived: the run is over.
    pub fn land_everything(&mut self) {
        if let Self::Ranges(ranges) = self {
            ranges.land_everything();
        }
    }

    /// Bytes that are valid in GPU memory now.
    pub fn resident_bytes(&self) -> u64 {
        match self {
            Self::Fixed => 0,
            Self::Ranges(ranges) => ranges.resident_bytes(),
            Self::Driver(pages) => pages.resident_bytes(),
        }
    }

    /// How many pages have how many valid ranges: index 0 counts pages with none. Empty where pages have no ranges.
    pub fn ranges_per_page(&self) -> Vec<u64> {
        match self {
            Self::Fixed | Self::Driver(_) => Vec::new(),
            Self::Ranges(ranges) => ranges.ranges_per_page(),
        }
    }
}

/// The driver's granule of 4 KiB page `page`, within its block.
fn granule_of(page: u32) -> PageMask {
    let first = page % BLOCK_PAGES / BIG_PAGE_PAGES * BIG_PAGE_PAGES;
    PageMask::range(first..first + BIG_PAGE_PAGES)
}
