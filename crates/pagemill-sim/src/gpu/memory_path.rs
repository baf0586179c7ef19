//! The way of a memory request: TLB and page walk, page state, L1, interconnect, L2 slice, DRAM.

use super::deferred::{Request, Route, Stage};
use super::gmmu::{Asker, Gmmu, Residency};
use super::machine::{GpuMachine, TlbScope};
use super::partition::{PartitionMap, PartitionPlace};
use super::partition_slice::PartitionSlice;
use super::remote::RemoteMemory;
use super::stall::Stall;
use super::stats::MemoryStats;
use super::stream::AccessKind;
use super::timeline::Timeline;
use super::touched::TouchedSegments;
use super::{SEGMENT_BYTES, SEGMENT_SHIFT};
use crate::parts::cache::{Cache, Lookup};
use crate::parts::link::{Direction, Link};
use crate::parts::page_walk::PageWalker;
use crate::parts::ports::Port;
use crate::parts::tlb::{Tlb, Translation};
use pagemill_policy::migration::Migration;
use pagemill_types::{PageSize, Picos};

/// Managed memory begins here; everything below and beyond is always on the GPU.
pub(crate) const MANAGED_BASE: u64 = 1 << 40;

/// How far a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Its data is there, or taken, at this time.
    Done(Picos),
    /// It goes on at this time.
    Later(Picos, Stage),
    /// L1 cannot take it before this time; nothing has happened yet beyond what its stage says.
    Blocked(Picos),
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
    tlbs: Vec<Tlb>,
    walker: PageWalker,
    slices: Vec<PartitionSlice>,
    map: PartitionMap,
    pub(crate) gmmu: Option<Gmmu>,
    pub(crate) link: Link,
    pub(crate) timeline: Timeline,
    pub(crate) stall: Stall,
    touched: TouchedSegments,
    pub(crate) remote: RemoteMemory,
    page_segments_shift: u32,
    managed_segments: u64,
    l1_hit: Picos,
    crossing: Picos,
    line_busy: Picos,
}

const BASE_SEGMENT: u64 = MANAGED_BASE >> SEGMENT_SHIFT;

impl MemoryPath {
    /// Cold caches and an idle link. `page` is the page that TLBs translate; `migration`, if any, is for pages of that size.
    pub(crate) fn new(
        machine: &GpuMachine,
        page: PageSize,
        migration: Option<Migration>,
        timeline: Timeline,
    ) -> Self {
        let l2_cycles = |count: u32| machine.l2_clock.cycles(u64::from(count));
        let sm = || SmPath {
            l1: Cache::new(&machine.l1),
            inject: Port::default(),
            eject: Port::default(),
        };
        let tlbs = match machine.tlb_scope {
            TlbScope::PerSm => machine.sm.count,
            TlbScope::Shared => 1,
        };
        let line_cycles = machine
            .l1
            .line_bytes
            .div_ceil(machine.interconnect.bytes_per_cycle);
        Self {
            sms: (0..machine.sm.count).map(|_| sm()).collect(),
            tlbs: (0..tlbs)
                .map(|_| Tlb::new(&machine.tlb, machine.core_clock))
                .collect(),
            walker: PageWalker::new(&machine.walker, page, machine.core_clock),
            slices: (0..machine.dram.channels)
                .map(|_| PartitionSlice::new(machine))
                .collect(),
            map: PartitionMap::new(
                machine.dram.channels,
                machine.partition_bytes,
                machine.partition_hash,
            ),
            gmmu: migration.map(|migration| Gmmu::new(machine, migration, MANAGED_BASE)),
            link: Link::new(machine.link),
            timeline,
            stall: Stall::new(machine.gmmu.stall, machine.sm.count),
            touched: TouchedSegments::default(),
            remote: RemoteMemory::default(),
            page_segments_shift: page.bytes().trailing_zeros() - SEGMENT_SHIFT,
            managed_segments: 0,
            l1_hit: machine
                .core_clock
                .cycles(u64::from(machine.l1.hit_latency_cycles)),
            crossing: l2_cycles(machine.interconnect.latency_cycles),
            line_busy: l2_cycles(line_cycles),
        }
    }

    /// Managed memory now reaches up to `end`.
    pub(crate) fn grow(&mut self, end: u64) {
        self.managed_segments = (end - MANAGED_BASE).div_ceil(SEGMENT_BYTES);
        self.touched.grow(self.managed_segments);
        if let Some(gmmu) = &mut self.gmmu {
            gmmu.grow(end);
        }
    }

    /// A kernel starts: first-level caches are not coherent, so each starts empty.
    pub(crate) fn start_kernel(&mut self) {
        for sm in &mut self.sms {
            sm.l1.invalidate_all();
        }
    }

    /// Number of a managed segment, or `None` for memory that is always on the GPU.
    #[inline]
    fn managed(&self, segment: u64) -> Option<u64> {
        let index = segment.wrapping_sub(BASE_SEGMENT);
        (index < self.managed_segments).then_some(index)
    }

    /// Page number as the TLBs know it.
    #[inline]
    fn page_key(&self, segment: u64) -> u32 {
        match self.managed(segment) {
            Some(index) => (index >> self.page_segments_shift) as u32,
            // Apart from managed pages: module variables and local memory.
            None => 0xa000_0000 | ((segment >> self.page_segments_shift) as u32 & 0x1fff_ffff),
        }
    }

    /// A request leaves the load-store unit of its SM.
    #[inline]
    pub(crate) fn issue(&mut self, at: Picos, request: &Request) -> Progress {
        if let Some(index) = self.managed(request.segment) {
            self.touched.mark(index);
        }
        let page = self.page_key(request.segment);
        let tlb = if self.tlbs.len() == 1 {
            0
        } else {
            request.sm as usize
        };
        match self.tlbs[tlb].lookup(at, page) {
            Translation::Hit(known) => self.translated(known, request),
            Translation::Merged(known) => Progress::Later(known, Stage::Translated),
            Translation::Miss(miss) => {
                let known = self.walker.walk(miss.start);
                self.tlbs[tlb].fill(miss, known);
                Progress::Later(known, Stage::Translated)
            }
        }
    }

    /// A request whose page is known asks whether its bytes are on the GPU.
    #[inline]
    pub(crate) fn translated(&mut self, at: Picos, request: &Request) -> Progress {
        let place = self.map.place(request.segment);
        if let Some(gmmu) = &mut self.gmmu
            && request.segment.wrapping_sub(BASE_SEGMENT) < self.managed_segments
        {
            let address = request.segment << SEGMENT_SHIFT;
            let asker = Asker {
                sm: request.sm,
                partition: place.partition,
            };
            let residency =
                gmmu.gpu_request(at, address, asker, &mut self.link, &mut self.timeline);
            self.forget_evicted();
            match residency {
                Residency::Local(known) => return self.cached(known, request, place),
                Residency::Arrives(arrival) => {
                    self.stall.wait(request.sm, arrival);
                    return Progress::Later(arrival, Stage::Resident);
                }
            }
        }
        self.cached(at, request, place)
    }

    /// A request that waited goes on where it stopped.
    pub(crate) fn resume(&mut self, at: Picos, request: &Request) -> Progress {
        match request.stage {
            Stage::Translated => self.translated(at, request),
            Stage::Resident => self.cached(at, request, self.map.place(request.segment)),
        }
    }

    #[inline]
    fn cached(&mut self, at: Picos, request: &Request, place: PartitionPlace) -> Progress {
        if self.remote.holds(request.segment) {
            return self.over_the_link(at, request);
        }
        match request.kind {
            AccessKind::Load if request.route == Route::PastL1 => {
                Progress::Done(self.load_past_l1(at, request))
            }
            AccessKind::Load => self.load(at, request, place),
            AccessKind::Store if request.route == Route::Local => self.store_local(at, request),
            AccessKind::Store => {
                let sm = &mut self.sms[request.sm as usize];
                sm.l1.store_through(request.segment);
                let start = sm.inject.book(at, self.line_busy);
                Progress::Done(
                    self.slices[place.partition].store(start + self.crossing, place.line),
                )
            }
            AccessKind::Atomic | AccessKind::Reduction => {
                let sm = &mut self.sms[request.sm as usize];
                sm.l1.invalidate(request.segment);
                let start = sm.inject.book(at, self.line_busy);
                let slice = &mut self.slices[place.partition];
                let data =
                    slice.atomic(start + self.crossing, place.line, u32::from(request.lanes));
                Progress::Done(data + self.crossing)
            }
        }
    }

    /// A request for CPU memory that the GPU uses in place: L1 keeps its lines for the kernel, nothing else does.
    #[cold]
    fn over_the_link(&mut self, at: Picos, request: &Request) -> Progress {
        let bytes = SEGMENT_BYTES;
        let sm = &mut self.sms[request.sm as usize];
        match request.kind {
            AccessKind::Load if request.route == Route::PastL1 => {
                Progress::Done(self.link.transfer(at, Direction::ToGpu, bytes).done)
            }
            AccessKind::Load => match sm.l1.load(at, request.segment) {
                Lookup::Hit(data_at) => Progress::Done(data_at.max(at + self.l1_hit)),
                Lookup::Blocked(free_at) => Progress::Blocked(free_at),
                Lookup::Miss(miss) => {
                    let done = self.link.transfer(at, Direction::ToGpu, bytes).done;
                    self.sms[request.sm as usize].l1.fill(miss, done);
                    self.write_local_back(at, request.sm, miss.writeback);
                    Progress::Done(done)
                }
            },
            AccessKind::Store => {
                sm.l1.store_through(request.segment);
                Progress::Done(self.link.transfer(at, Direction::ToCpu, bytes).done)
            }
            AccessKind::Atomic | AccessKind::Reduction => {
                sm.l1.invalidate(request.segment);
                let read = self.link.transfer(at, Direction::ToGpu, bytes).done;
                Progress::Done(self.link.transfer(read, Direction::ToCpu, bytes).done)
            }
        }
    }

    #[inline]
    fn load(&mut self, at: Picos, request: &Request, place: PartitionPlace) -> Progress {
        let sm = &mut self.sms[request.sm as usize];
        match sm.l1.load(at, request.segment) {
            Lookup::Hit(data_at) => Progress::Done(data_at.max(at + self.l1_hit)),
            Lookup::Blocked(free_at) => Progress::Blocked(free_at),
            Lookup::Miss(miss) => {
                // Lines come back at the port's rate. Booked in the order of requests, so that a slow one does not
                // hold up the fast ones behind it.
                let queued = sm.eject.book(at, self.line_busy) - at;
                let data = self.slices[place.partition].load(at + self.crossing, place.line);
                let done = data + self.crossing + queued;
                self.sms[request.sm as usize].l1.fill(miss, done);
                self.write_local_back(at, request.sm, miss.writeback);
                Progress::Done(done)
            }
        }
    }

    /// A load that is not to be kept in L1, or finds no room there and cannot wait for it.
    pub(crate) fn load_past_l1(&mut self, at: Picos, request: &Request) -> Picos {
        if self.remote.holds(request.segment) {
            return self.link.transfer(at, Direction::ToGpu, SEGMENT_BYTES).done;
        }
        let place = self.map.place(request.segment);
        let queued = self.sms[request.sm as usize].eject.book(at, self.line_busy) - at;
        self.slices[place.partition].load(at + self.crossing, place.line) + self.crossing + queued
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
            Err(free_at) => Progress::Blocked(free_at),
        }
    }

    fn write_local_back(&mut self, at: Picos, sm: u32, segment: Option<u64>) {
        if let Some(segment) = segment {
            let place = self.map.place(segment);
            let start = self.sms[sm as usize].inject.book(at, self.line_busy);
            self.slices[place.partition].store(start + self.crossing, place.line);
        }
    }

    /// When the SM's way out is free: stores wait for it in the load-store unit.
    #[inline]
    pub(crate) fn inject_free_at(&self, sm: u32) -> Picos {
        self.sms[sm as usize].inject.free_at()
    }

    /// The CPU touches managed bytes; returns when all of them are in CPU memory, and how many bytes moved.
    pub(crate) fn cpu_request(&mut self, at: Picos, address: u64, bytes: u64) -> (Picos, u64) {
        let Some(gmmu) = &mut self.gmmu else {
            return (at, 0);
        };
        let (done, moved) =
            gmmu.cpu_request(at, address, bytes, &mut self.link, &mut self.timeline);
        if moved > 0 {
            let first = address >> SEGMENT_SHIFT >> self.page_segments_shift;
            let last = (address + bytes - 1) >> SEGMENT_SHIFT >> self.page_segments_shift;
            self.forget_pages(first, last);
        }
        (done, moved)
    }

    /// Managed bytes come to the GPU before anything asks for them; returns when all are there.
    pub(crate) fn prefetch(&mut self, at: Picos, address: u64, bytes: u64) -> Picos {
        let Some(gmmu) = &mut self.gmmu else {
            return at;
        };
        let done = gmmu.prefetch(at, address, bytes, &mut self.link, &mut self.timeline);
        self.forget_evicted();
        done
    }

    /// Pages that migrate now have `bytes` of GPU memory.
    pub(crate) fn limit_frames(&mut self, at: Picos, bytes: u64) {
        if let Some(gmmu) = &mut self.gmmu {
            gmmu.limit_frames(at, bytes, &mut self.link, &mut self.timeline);
        }
        self.forget_evicted();
    }

    /// The managed bytes from `address` are no longer anything; nothing moves.
    pub(crate) fn forget(&mut self, at: Picos, address: u64, bytes: u64) {
        if let Some(gmmu) = &mut self.gmmu
            && bytes > 0
        {
            gmmu.forget(at, address, bytes, &mut self.timeline);
            let page_of = |address: u64| address >> SEGMENT_SHIFT >> self.page_segments_shift;
            let (first, last) = (page_of(address), page_of(address + bytes - 1));
            self.forget_pages(first, last);
        }
    }

    fn forget_evicted(&mut self) {
        while let Some(page) = self.gmmu.as_mut().and_then(Gmmu::take_evicted) {
            self.forget_pages(page, page);
        }
    }

    /// Drops translations and lines of the pages `first..=last`, which left the GPU.
    fn forget_pages(&mut self, first: u64, last: u64) {
        let segments = first << self.page_segments_shift..(last + 1) << self.page_segments_shift;
        for page in first..=last {
            let key = self.page_key(page << self.page_segments_shift);
            for tlb in &mut self.tlbs {
                tlb.invalidate(key);
            }
        }
        for sm in &mut self.sms {
            forget_lines(&mut sm.l1, segments.clone(), Some, |line| line);
        }
        let map = self.map;
        for (partition, slice) in self.slices.iter_mut().enumerate() {
            let line_of = |segment| {
                let place = map.place(segment);
                (place.partition == partition).then_some(place.line)
            };
            let segment_of = |line| map.segment(PartitionPlace { partition, line });
            forget_lines(slice.cache_mut(), segments.clone(), line_of, segment_of);
        }
    }

    /// What was counted, summed over all parts.
    pub(crate) fn stats(&self) -> MemoryStats {
        let mut stats = MemoryStats {
            walks: self.walker.walks(),
            ..MemoryStats::default()
        };
        for tlb in &self.tlbs {
            let counts = tlb.counts();
            stats.tlb_lookups += counts.lookups;
            stats.tlb_misses += counts.misses;
            stats.tlb_merged_misses += counts.merged;
        }
        for sm in &self.sms {
            stats.l1.add(&sm.l1.counts());
        }
        for slice in &self.slices {
            let (l2, dram) = slice.counts();
            stats.l2.add(&l2);
            stats.dram.add(&dram);
        }
        stats.to_gpu = self.link.traffic(Direction::ToGpu);
        stats.to_cpu = self.link.traffic(Direction::ToCpu);
        stats.migration = self.gmmu.as_ref().map(Gmmu::counts).unwrap_or_default();
        stats.touched_bytes = self.touched.count() * SEGMENT_BYTES;
        stats
    }
}

/// Forgets the lines of `segments`, by whichever is shorter: the segments or the cache.
fn forget_lines(
    cache: &mut Cache,
    segments: std::ops::Range<u64>,
    line_of: impl Fn(u64) -> Option<u64>,
    segment_of: impl Fn(u64) -> u64,
) {
    if segments.end - segments.start < cache.capacity_lines() as u64 {
        segments
            .filter_map(line_of)
            .for_each(|line| cache.invalidate(line));
    } else {
        cache.invalidate_where(|line| segments.contains(&segment_of(line)));
    }
}
