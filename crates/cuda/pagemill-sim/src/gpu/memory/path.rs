//! The way of a memory request: TLB and page walk, page state, L1, interconnect, L2 slice, DRAM.

mod in_place;
mod loads;
mod replay;

use std::ops::Range;

use crate::gpu::common::addresses::MANAGED_BASE;
use crate::gpu::common::request::{Request, Route, Stage};
use crate::gpu::common::stall::Stall;
use crate::gpu::machine::{GpuMachine, Memory};
use crate::gpu::memory::l2::{L2, Writer};
use crate::gpu::memory::partition::{PartitionMap, PartitionPlace};
use crate::gpu::memory::partition_slice;
use crate::gpu::memory::retries::Retries;
use crate::gpu::memory::touched::TouchedSegments;
use crate::gpu::memory::translator::Translator;
use crate::gpu::pages::{Pages, Sleeping};
use crate::gpu::stream::AccessKind;
use crate::gpu::{ALL_SECTORS, SEGMENT_BYTES, SEGMENT_SHIFT};
use pagemill_pages::MemoryStats;
use pagemill_pages::Timeline;
use pagemill_pages::managers::HostLink;
use pagemill_pages::managers::{Manager, Moves, Place, Touch};
use pagemill_pages::parts::cache::{Cache, CacheSpec};
use pagemill_pages::parts::link::Direction;
use pagemill_pages::parts::ports::Port;
use pagemill_policy::residency::Action;
use pagemill_types::{PageSize, Picos};
use std::collections::BTreeSet;

/// How far a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Its data is there, or taken, at this time.
    Done(Picos),
    /// It goes on at this time.
    Later(Picos, Stage),
    /// It sleeps until the page manager hands it back.
    Waits,
    /// L1 cannot take it before this time; nothing has happened yet beyond what the stage says, at which it goes on.
    Blocked(Picos, Stage),
}

/// What an SM owns of the memory path.
#[derive(Debug)]
struct SmPath {
    l1: Cache,
    /// Segments that go out.
    inject: Port,
    /// Lines that come back.
    eject: Port,
}

/// The whole memory side of the GPU, and its link.
#[derive(Debug)]
pub(crate) struct MemoryPath {
    sms: Vec<SmPath>,
    translator: Translator,
    l2: L2,
    pub(crate) pages: Pages,
    pub(crate) host_link: HostLink,
    /// For the host side, once it listens: managed pages that changed sides since its last look.
    changed: Option<BTreeSet<u64>>,
    /// Reused.
    slept: Vec<Sleeping>,
    pub(crate) stall: Stall,
    retries: Retries,
    touched: TouchedSegments,
    page_segments_shift: u32,
    /// Whether the state of all caches stays in those of the host.
    is_held: bool,
    sector_loads: bool,
    sector_stores: bool,
    l1_hit: Picos,
    crossing: Picos,
    line_busy: Picos,
    /// As `line_busy`, of a store to these sectors: what an SM sends, and what a partition takes.
    store_busy: [[Picos; 2]; 16],
    /// As `line_busy`, of these sectors of a line that return to their SM.
    return_busy: [Picos; 16],
}

/// Segments of a 4 KiB page.
const PAGE_SEGMENTS_SHIFT: u32 = 12 - SEGMENT_SHIFT;

/// Lines of simulated caches whose state a core's caches hold.
const LINES_HELD: u64 = 1 << 16;

/// Lines of all caches.
fn lines(machine: &GpuMachine) -> u64 {
    let of = |cache: &CacheSpec| u64::from(cache.bytes / cache.line_bytes.max(1));
    let l2 = of(&machine.l2) * machine.memory.partitions() as u64;
    l2 + of(&machine.l1) * u64::from(machine.sm.count)
}

const BASE_SEGMENT: u64 = MANAGED_BASE >> SEGMENT_SHIFT;

impl MemoryPath {
    /// Cold caches and an idle link. `page` is the page that TLBs translate; `pages` manages pages of that size.
    pub(crate) fn new(
        machine: &GpuMachine,
        page: PageSize,
        pages: Pages,
        timeline: Timeline,
    ) -> Self {
        let l2_cycles = |count: u32| machine.l2_clock.cycles(u64::from(count));
        let sm = || SmPath {
            l1: Cache::new(&machine.l1),
            inject: Port::default(),
            eject: Port::default(),
        };
        let line_cycles = machine
            .l1
            .line_bytes
            .div_ceil(machine.interconnect.bytes_per_cycle);
        Self {
            sms: (0..machine.sm.count).map(|_| sm()).collect(),
            translator: Translator::new(machine, page),
            l2: L2::new(machine, partition_map(&machine.memory)),
            pages,
            host_link: HostLink::new(machine.link, timeline),
            changed: None,
            slept: Vec::new(),
            stall: Stall::new(machine.gmmu.stall, machine.sm.count),
            retries: Retries::every(machine.lookup_period()),
            touched: TouchedSegments::default(),
            page_segments_shift: page.bytes().trailing_zeros() - SEGMENT_SHIFT,
            is_held: lines(machine) < LINES_HELD,
            sector_loads: machine.interconnect.answer_cycles.is_some(),
            sector_stores: machine.interconnect.store_bytes_per_cycle.is_some(),
            l1_hit: machine
                .core_clock
                .cycles(u64::from(machine.l1.hit_latency_cycles)),
            crossing: l2_cycles(machine.interconnect.latency_cycles),
            line_busy: l2_cycles(line_cycles),
            store_busy: std::array::from_fn(|sectors| {
                partition_slice::store_busy(machine, sectors.count_ones())
            }),
            return_busy: std::array::from_fn(|sectors| {
                partition_slice::load_busy(machine, sectors.count_ones())[0]
            }),
        }
    }

    /// Whether the sectors of loads matter, and of stores.
    pub(crate) fn looks_at_sectors(&self) -> [bool; 2] {
        let by_link = self.pages.uses_in_place() && self.host_link.link.reads_in_place();
        [by_link || self.sector_loads, by_link || self.sector_stores]
    }

    /// A managed allocation of `bytes` from `address`; managed memory now reaches up to `end`.
    pub(crate) fn allocate(&mut self, address: u64, bytes: u64, end: u64) {
        self.pages.allocate(address, bytes, end);
        self.touched.grow(self.pages.managed_segments());
        self.host_link.ledger.open(address..address + bytes);
    }

    /// A kernel starts: first-level caches are not coherent, so each starts empty.
    pub(crate) fn start_kernel(&mut self) {
        for sm in &mut self.sms {
            sm.l1.invalidate_all();
        }
    }

    /// Page number as the TLBs know it.
    #[inline]
    fn page_key(&self, segment: u64) -> u32 {
        // One key space for all pages: managed ones count from 0, and are fewer than the others begin at.
        match self.pages.managed(segment) {
            Some(index) => (index >> self.page_segments_shift) as u32,
            // Apart from managed pages: module variables and local memory.
            None => 0xa000_0000 | ((segment >> self.page_segments_shift) as u32 & 0x1fff_ffff),
        }
    }

    /// A request leaves the load-store unit of its SM.
    #[inline]
    pub(crate) fn issue(&mut self, at: Picos, request: &Request) -> Progress {
        // At issue, not at arrival: what a program touched does not depend on who was faster.
        if let Some(index) = self.pages.managed(request.segment) {
            self.touched.mark(index);
        }
        let key = self.page_key(request.segment);
        let known = match &mut self.translator {
            Translator::OneLevel(translator) => translator.lookup(at, request.sm, key),
            Translator::TwoLevels(levels) => {
                let place = self.pages.place(request.segment, request.kind);
                let managed = managed_page(request.segment, self.pages.managed_segments());
                let page = page_number(managed, request.segment);
                match place {
                    // The access faults before it has a translation.
                    Place::Neither => (at, true),
                    place => levels.translate(at, request.sm, page, place == Place::Cpu),
                }
            }
        };
        match known {
            (known, true) => self.translated(known, request),
            (known, false) => {
                self.retries.wait(at, known);
                Progress::Later(known, Stage::Translated)
            }
        }
    }

    /// A request whose page is known asks whether its bytes are on the GPU.
    #[inline]
    pub(crate) fn translated(&mut self, at: Picos, request: &Request) -> Progress {
        let place = self.l2.place(request.segment);
        let touch = self
            .pages
            .touch(at, request, place.partition, &mut self.host_link);
        self.note_moves();
        match touch {
            Touch::Here(known) => self.cached(known, request, place),
            Touch::Arrives(arrival) => {
                self.stall.wait(request.sm, arrival);
                self.retries.wait(at, arrival);
                Progress::Later(arrival, Stage::Resident)
            }
            Touch::LooksUpAgain(free_at) => {
                self.stall.wait(request.sm, free_at);
                self.retries.wait(at, free_at);
                Progress::Later(free_at, Stage::Translated)
            }
            Touch::InPlace(known) => self.over_the_link(known, request),
            Touch::Waits => Progress::Waits,
        }
    }

    /// A request that waited goes on where it stopped.
    #[inline]
    pub(crate) fn resume(&mut self, at: Picos, request: &Request) -> Progress {
        match request.stage {
            Stage::Issued => self.issue(at, request),
            Stage::Translated => self.translated(at, request),
            Stage::Resident => self.cached(at, request, self.l2.place(request.segment)),
            Stage::InPlace => self.over_the_link(at, request),
        }
    }

    #[inline]
    fn cached(&mut self, at: Picos, request: &Request, place: PartitionPlace) -> Progress {
        match request.kind {
            AccessKind::Load if request.route == Route::PastL1 => {
                Progress::Done(self.load_past_l1(at, request, Stage::Resident))
            }
            AccessKind::Load => self.load(at, request, place),
            AccessKind::Store if request.route == Route::Local => self.store_local(at, request),
            AccessKind::Store => {
                let sm = &mut self.sms[request.sm as usize];
                // Written through: no L1 is ever the only place of bytes that other SMs may read.
                sm.l1.store_through(request.segment);
                let [way_out, port] = self.store_busy[usize::from(request.sectors)];
                let start = sm.inject.book(at, way_out);
                let arrival = start + self.crossing;
                Progress::Done(self.l2.store(arrival, place, request.sectors, port))
            }
            AccessKind::Atomic | AccessKind::Reduction => {
                // Carried out in the slice, which is the one place that all SMs share; the SM's own copy is old after it.
                let sm = &mut self.sms[request.sm as usize];
                sm.l1.invalidate(request.segment);
                let start = sm.inject.book(at, self.line_busy);
                let (arrival, lanes) = (start + self.crossing, u32::from(request.lanes));
                let data = self.l2.atomic(arrival, place, request.sectors, lanes);
                Progress::Done(data + self.crossing)
            }
        }
    }

    /// Local memory belongs to one SM: its stores stay in L1.
    fn store_local(&mut self, at: Picos, request: &Request) -> Progress {
        match self.sms[request.sm as usize]
            .l1
            .store_back(at, request.segment)
        {
            Ok(writeback) => {
                self.write_local_back(at, request.sm, writeback);
                Progress::Done(at + self.l1_hit)
            }
            Err(free_at) => Progress::Blocked(free_at, Stage::Resident),
        }
    }

    fn write_local_back(&mut self, at: Picos, sm: u32, segment: Option<u64>) {
        if let Some(segment) = segment {
            let place = self.l2.place(segment);
            let start = self.sms[sm as usize].inject.book(at, self.line_busy);
            let arrival = start + self.crossing;
            self.l2.store(arrival, place, ALL_SECTORS, self.line_busy);
        }
    }

    /// `by` has written `bytes` at `address` of GPU memory by `at`.
    pub(crate) fn leave_written(&mut self, at: Picos, (address, bytes): (u64, u64), by: Writer) {
        self.l2.leave_written(at, (address, bytes), by);
    }

    /// Asks for the state of caches before a request for `segment` of `sm` looks it up.
    #[inline]
    pub(crate) fn warm(&self, sm: u32, segment: u64) {
        if self.is_held {
            return;
        }
        self.sms[sm as usize].l1.warm(segment);
        self.l2.warm(sm, segment);
    }

    /// When the SM's way out is free: stores wait for it in the load-store unit.
    #[inline]
    pub(crate) fn inject_free_at(&self, sm: u32) -> Picos {
        self.sms[sm as usize].inject.free_at()
    }

    fn manager(&mut self) -> (&mut Manager<Sleeping>, &mut HostLink) {
        (&mut self.pages.manager, &mut self.host_link)
    }

    /// The CPU touches managed bytes; returns when all of them are in CPU memory, and how many bytes moved.
    pub(crate) fn cpu_request(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        writes: bool,
    ) -> (Picos, u64) {
        let (manager, link) = self.manager();
        let returned = manager.host_touch(at, address, bytes, writes, link);
        self.note_moves();
        returned
    }

    /// Managed bytes come to the GPU before anything asks for them; returns when all are there.
    pub(crate) fn prefetch(&mut self, at: Picos, address: u64, bytes: u64) -> Picos {
        let (manager, link) = self.manager();
        let done = manager.prefetch(at, address, bytes, link);
        self.note_moves();
        done
    }

    /// The program says how its memory will be used; as [`Manager::call`].
    pub(crate) fn call(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        action: Action,
    ) -> Option<(Picos, Picos)> {
        let (manager, link) = self.manager();
        let called = manager.call(at, address, bytes, action, link);
        self.note_moves();
        called
    }

    /// When the page manager goes on by itself; `Picos(u64::MAX)` if it does not.
    #[inline]
    pub(crate) fn due(&self) -> Picos {
        self.pages.manager.due().unwrap_or(Picos(u64::MAX))
    }

    /// The page manager goes on at `now`; requests that may be repeated go to `awake`.
    pub(crate) fn advance(&mut self, now: Picos, awake: &mut Vec<Request>) {
        let mut slept = std::mem::take(&mut self.slept);
        let (manager, link) = self.manager();
        manager.advance(now, link, &mut slept);
        awake.extend(slept.drain(..).map(|sleeping| sleeping.request));
        self.slept = slept;
        self.note_moves();
    }

    /// Managed pages now have `bytes` of GPU memory.
    pub(crate) fn limit_memory(&mut self, at: Picos, bytes: u64) {
        let (manager, link) = self.manager();
        manager.limit_memory(at, bytes, link);
        self.note_moves();
    }

    /// The managed bytes from `address` are no longer anything; nothing moves.
    pub(crate) fn forget(&mut self, at: Picos, address: u64, bytes: u64) {
        if bytes > 0 {
            let (manager, link) = self.manager();
            manager.forget(at, address, bytes, link);
            self.note_moves();
        }
    }

    /// From now on, [`MemoryPath::take_changed`] has something to tell.
    pub(crate) fn listen(&mut self) {
        self.changed.get_or_insert_default();
    }

    /// Addresses of the managed pages that changed sides since the last call, ascending.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<u64> {
        self.changed
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// What left the GPU loses its translations and lines; the host side learns of transfers in both directions.
    #[inline]
    fn note_moves(&mut self) {
        if let Some(moves) = self.pages.manager.moves()
            && !moves.is_empty()
        {
            let moves = std::mem::take(moves);
            self.carry_out(moves);
        }
    }

    #[cold]
    fn carry_out(&mut self, mut moves: Moves) {
        // Before the next request is looked at: a translation that outlives its page would hit in memory that another page has.
        for left in &moves.left {
            let page_of = |address: u64| address >> SEGMENT_SHIFT >> self.page_segments_shift;
            self.forget_pages(page_of(left.start), page_of(left.end - 1));
        }
        if let Some(changed) = &mut self.changed {
            let page_bytes = SEGMENT_BYTES << self.page_segments_shift;
            let granule_bytes = self.pages.manager.granule_bytes(page_bytes) as usize;
            for range in moves.came.iter().chain(&moves.left) {
                changed.extend(range.clone().step_by(granule_bytes));
            }
        }
        // Its capacity goes back to the manager: moves come by the thousand.
        moves.clear();
        if let Some(emptied) = self.pages.manager.moves() {
            *emptied = moves;
        }
    }

    /// Drops translations and lines of the pages `first..=last`, which left the GPU.
    fn forget_pages(&mut self, first: u64, last: u64) {
        let segments = first << self.page_segments_shift..(last + 1) << self.page_segments_shift;
        for page in first..=last {
            let segment = page << self.page_segments_shift;
            let managed = managed_page(segment, self.pages.managed_segments());
            let (key, number) = (self.page_key(segment), page_number(managed, segment));
            self.translator.forget(key, number);
        }
        for sm in &mut self.sms {
            forget_lines(&mut sm.l1, segments.clone());
        }
        self.l2.forget(segments);
    }

    /// What was counted, summed over all parts.
    pub(crate) fn stats(&self) -> MemoryStats {
        let mut stats = self.translator.stats();
        // Hardware asks again and again while a walk or a page is under way; here a request sleeps, and is counted as if it did.
        stats.tlb_lookups += self.retries.count();
        stats.tlb_misses += self.retries.count();
        for sm in &self.sms {
            stats.l1.add(&sm.l1.counts());
        }
        for (l2, dram) in self.l2.counts() {
            stats.l2.add(&l2);
            stats.dram.add(&dram);
        }
        stats.to_gpu = self.host_link.link.traffic(Direction::ToGpu);
        stats.to_cpu = self.host_link.link.traffic(Direction::ToCpu);
        stats.migration = self.pages.counts();
        stats.touched_bytes = self.touched.count() * SEGMENT_BYTES;
        stats
    }
}

/// Number of the managed 4 KiB page of a segment, if it is one of the `managed_segments`.
#[inline]
fn managed_page(segment: u64, managed_segments: u64) -> Option<u32> {
    let index = segment.wrapping_sub(BASE_SEGMENT);
    (index < managed_segments).then_some((index >> PAGE_SEGMENTS_SHIFT) as u32)
}

/// Number of a 4 KiB page as TLBs of two levels know it: managed pages first, all others apart from them.
#[inline]
fn page_number(managed: Option<u32>, segment: u64) -> u32 {
    managed.unwrap_or(0x4000_0000 | ((segment >> PAGE_SEGMENTS_SHIFT) as u32 & 0x3fff_ffff))
}

/// The partitions of a memory with a rate are as hardware's were measured to be: interleaved at 256 bytes, and hashed.
fn partition_map(memory: &Memory) -> PartitionMap {
    match *memory {
        Memory::Channels {
            dram,
            partition_bytes,
            partition_hash,
        } => PartitionMap::new(dram.channels, partition_bytes, partition_hash),
        Memory::Rate { slices, .. } => PartitionMap::new(slices, 256, true),
    }
}

/// Forgets the lines of `segments`, by whichever is shorter: the segments or the cache.
fn forget_lines(cache: &mut Cache, segments: Range<u64>) {
    if segments.end - segments.start < cache.capacity_lines() as u64 {
        segments.for_each(|line| cache.invalidate(line));
    } else {
        cache.invalidate_where(|line| segments.contains(&line));
    }
}
