//! Valid ranges: the GPU's memory management unit moves parts of pages by itself (Zhang et al. 2019).
//!
//! What moves is decided by `pagemill_policy::migration`, and what leaves a full memory by `pagemill_policy::residency`.
//! Here it gets a migration-buffer entry and a place on the link.

mod around;
mod arrivals;
mod blocked;
mod first_touch;
mod frames;
mod host;
mod invariants;
mod spec;

use super::asked::{Asker, PageRequest, Touch};
use super::moves::{MigrationCounts, Moves};
use crate::managers::events;
use crate::managers::host_link::HostLink;
use crate::parts::entry_pool::EntryPool;
use crate::parts::in_flight::{Flight, InFlight};
use crate::parts::link::Direction;
use crate::timeline::{PageChange, TimelineEvent, TimelineKind};
use around::{Allocations, Around};
use arrivals::Arrivals;
use first_touch::Untouched;
use frames::Frames;
use pagemill_policy::migration::{CpuDecision, GpuDecision, Migration, Page, PageState};
use pagemill_policy::surroundings::FaultHistory;
use pagemill_types::{CheckSchedule, Invariants, PageRange, Picos, RangeSet};
pub use spec::{AfterFullBuffer, CpuReturn, MergeScope, RangesSpec, TransactionChain, Validity};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a page to move to the GPU, and why.
#[derive(Clone, Copy, Debug)]
struct Move {
    range: PageRange,
    cause: u8,
}

/// Pages with valid ranges.
#[derive(Debug)]
pub struct Ranges {
    spec: RangesSpec,
    migration: Migration,
    pages: Vec<Page>,
    allocations: Allocations,
    /// Empty unless the policy tracks faults.
    faults: FaultHistory,
    tracks_faults: bool,
    flights: Vec<InFlight>,
    /// Pages that are wholly in GPU memory with nothing on the way: the common case, one byte a page.
    is_whole: Vec<bool>,
    page_shift: u32,
    first_page: u64,
    buffers: Vec<EntryPool>,
    /// Limits how many migrations of the whole GPU are under way at a time.
    slots: Option<EntryPool>,
    /// By page and owner, what each partition or SM has moved for itself. Empty unless they do not share.
    own_flights: BTreeMap<(usize, usize), InFlight>,
    /// By page, what was on the GPU once and has left it. Empty until a page leaves.
    departed: BTreeMap<usize, RangeSet>,
    /// What is on its way, where ranges become valid at their arrival.
    arrivals: Option<Arrivals>,
    /// `None` while GPU memory is not limited.
    frames: Option<Frames>,
    untouched: Untouched,
    counts: MigrationCounts,
    planned: Vec<PageRange>,
    /// Of what was planned, what no side had touched.
    fresh: Vec<PageRange>,
    /// What moved and has not been taken note of.
    pub moves: Moves,
    checks: CheckSchedule,
}

impl Ranges {
    /// `base` is the first address that can be managed, a multiple of the page size.
    pub fn new(spec: RangesSpec, migration: Migration, base: u64) -> Self {
        let page = migration.spec().page;
        let frames = spec.memory_bytes.map(|bytes| bytes / page.bytes());
        Self {
            pages: Vec::new(),
            allocations: Allocations::default(),
            faults: FaultHistory::new(),
            tracks_faults: migration.policy().tracks_faults(),
            flights: Vec::new(),
            is_whole: Vec::new(),
            page_shift: page.bytes().trailing_zeros(),
            first_page: base / page.bytes(),
            buffers: vec![EntryPool::new(spec.buffer_entries); spec.buffers as usize],
            slots: spec.concurrent.map(EntryPool::new),
            own_flights: BTreeMap::new(),
            departed: BTreeMap::new(),
            arrivals: match spec.validity {
                Validity::AtRequest => None,
                Validity::AtArrival => Some(Arrivals::default()),
            },
            frames: frames.map(|frames| Frames::new(frames, spec.eviction)),
            untouched: Untouched::default(),
            counts: MigrationCounts::default(),
            planned: Vec::new(),
            fresh: Vec::new(),
            moves: Moves::default(),
            checks: CheckSchedule::default(),
            spec,
            migration,
        }
    }

    /// The `bytes` from `address` are a new allocation; nothing else is below address `end`.
    pub fn allocate(&mut self, address: u64, bytes: u64, end: u64) {
        self.grow(end);
        self.allocations.add(self.pages_of(address, bytes));
    }

    /// The numbers of the pages that hold the bytes from `address`.
    fn pages_of(&self, address: u64, bytes: u64) -> Range<u32> {
        let number = |page: u64| page.saturating_sub(self.first_page) as u32;
        number(address >> self.page_shift)..number((address + bytes).div_ceil(1 << self.page_shift))
    }

    /// Makes room for every page below address `end`.
    pub fn grow(&mut self, end: u64) {
        let page_bytes = 1 << self.page_shift;
        let pages = end.div_ceil(page_bytes).saturating_sub(self.first_page) as usize;
        if pages > self.pages.len() {
            self.pages.resize(pages, Page::new());
            self.flights.resize(pages, InFlight::default());
            self.is_whole.resize(pages, false);
            if let Some(frames) = &mut self.frames {
                frames.grow(pages);
            }
        }
    }

    /// A GPU request; asked in non-decreasing time.
    #[inline]
    pub fn touch(&mut self, at: Picos, request: PageRequest, host_link: &mut HostLink) -> Touch {
        let index = ((request.address >> self.page_shift) - self.first_page) as usize;
        if let Some(frames) = &mut self.frames {
            frames.touch(index);
        }
        if self.is_whole[index] {
            return Touch::Here(at);
        }
        let touch = self.request_of_partial(at, index, request, host_link);
        if self.checks.is_due() {
            self.debug_check();
        }
        touch
    }

    fn request_of_partial(
        &mut self,
        at: Picos,
        index: usize,
        request: PageRequest,
        host_link: &mut HostLink,
    ) -> Touch {
        if self.arrivals.is_some() {
            return self.request_by_arrivals(at, index, request, host_link);
        }
        if self.flights[index].until() <= at && self.pages[index].state() == PageState::ValidInGpu {
            self.is_whole[index] = true;
            self.forget_flights(index);
            return Touch::Here(at);
        }
        let range = self.range_of(request);
        let known = at + self.spec.query;
        if let Some(free_at) =
            self.blocked_at_request(known, index, range, request.asker, host_link)
        {
            return Touch::LooksUpAgain(free_at);
        }
        let decision = self.decide(index, range);
        if let GpuDecision::Fetch { .. } = decision {
            self.fetch(known, index, request.asker, host_link);
        }
        let arrival = self.flights[index].arrival(known, range);
        if arrival == known {
            return Touch::Here(known);
        }
        if decision != GpuDecision::Local {
            return Touch::Arrives(arrival);
        }
        if self.spec.merge != MergeScope::Gpu {
            return Touch::Arrives(self.unmerged(known, index, range, request.asker, host_link));
        }
        self.counts.joined_requests += 1;
        Touch::Arrives(arrival)
    }

    /// Puts into `planned` what moves for `range` of a page.
    #[inline]
    fn plan(&mut self, index: usize, range: PageRange) -> GpuDecision {
        let around = Around {
            index,
            pages: &self.pages,
            allocations: &self.allocations,
            frames: self.frames.as_ref(),
            faults: &self.faults,
        };
        self.planned.clear();
        self.pages[index].plan(&self.migration, range, &around, &mut self.planned)
    }

    /// As [`Ranges::plan`], and the page has what is planned from now on.
    #[inline]
    fn decide(&mut self, index: usize, range: PageRange) -> GpuDecision {
        let decision = self.plan(index, range);
        if decision != GpuDecision::Local {
            self.pages[index].commit(&self.migration, range, &self.planned);
        }
        decision
    }

    /// A request moves bytes of a page.
    fn note_fault(&mut self, index: usize) {
        if self.tracks_faults {
            self.faults.note(index as u32);
        }
    }

    /// What a request asks for, within its page.
    fn range_of(&self, request: PageRequest) -> PageRange {
        let start = (request.address & ((1 << self.page_shift) - 1)) as u32;
        PageRange {
            start,
            end: start + request.bytes,
        }
    }

    /// A request for bytes on the way that does not merge with every migration: it waits for one of its own, which it
    /// may have to start. Returns when that arrives.
    fn unmerged(
        &mut self,
        at: Picos,
        index: usize,
        request: PageRange,
        asker: Asker,
        host_link: &mut HostLink,
    ) -> Picos {
        let own = self
            .owner(asker)
            .and_then(|owner| self.own_flights.get(&(index, owner)));
        if let Some(flight) = own.and_then(|own| own.on_the_way(at, request)) {
            self.counts.joined_requests += 1;
            return flight.done;
        }
        let Some(first) = self.flights[index].on_the_way(at, request) else {
            return at;
        };
        if !first.is_moved {
            // Allocated, and for all.
            self.counts.joined_requests += 1;
            return first.done;
        }
        let move_once_more = Move {
            range: first.range,
            cause: events::REPEAT,
        };
        let done = self.transfer(at, index, move_once_more, asker, host_link);
        let on_the_way: RangeSet = [first.range].into_iter().collect();
        self.count_again(done, (index, first.range), &on_the_way, host_link);
        // CPU requests and evictions wait for these transfers too.
        self.flights[index].extend_until(done);
        done
    }

    /// The partition or SM whose requests share a migration with `asker`; `None` where all do, or none.
    fn owner(&self, asker: Asker) -> Option<usize> {
        match self.spec.merge {
            MergeScope::Partition => Some(asker.partition),
            MergeScope::Sm => Some(asker.sm as usize),
            MergeScope::Gpu | MergeScope::Nothing => None,
        }
    }

    /// Moves the planned ranges: an entry and a transfer each.
    fn fetch(&mut self, at: Picos, index: usize, asker: Asker, host_link: &mut HostLink) {
        self.note_fault(index);
        self.make_room(at, index, host_link);
        self.populate(at, index, host_link);
        for place in 0..self.planned.len() {
            let range = self.planned[place];
            let needed = Move {
                range,
                cause: events::FAULT,
            };
            let done = self.transfer(at, index, needed, asker, host_link);
            self.count_again(done, (index, range), &RangeSet::new(), host_link);
            let is_moved = true;
            let flight = Flight {
                range,
                done,
                is_moved,
            };
            self.flights[index].insert(at, flight);
        }
    }

    /// Counts what of a moved range, which is there at `done`, is `on_the_way` already, and what of the rest was on the GPU before.
    fn count_again(
        &mut self,
        done: Picos,
        (index, range): (usize, PageRange),
        on_the_way: &RangeSet,
        host_link: &mut HostLink,
    ) {
        let page = self.first_page + index as u64;
        let timeline = &mut host_link.timeline;
        let mut count = |ranges: &RangeSet, within: PageRange| {
            let pieces = ranges.within(within);
            pieces
                .inspect(|piece| timeline.moved_again(page, *piece, done))
                .map(PageRange::bytes)
                .sum::<u64>()
        };
        let repeated = count(on_the_way, range);
        let refetched = self.departed.get(&index).map_or(0, |departed| {
            let gaps = on_the_way.missing(range);
            gaps.map(|gap| count(departed, gap)).sum::<u64>()
        });
        self.counts.repeated_bytes += repeated;
        self.counts.refetched_bytes += refetched;
        host_link
            .ledger
            .book(self.addresses(index).start, |traffic| {
                traffic.repeated_bytes += repeated + refetched;
            });
    }

    /// A migration gets its entry in the buffer of `partition`; returns when.
    fn enter_buffer(&mut self, at: Picos, partition: usize, host_link: &mut HostLink) -> Picos {
        let slot = match &mut self.slots {
            Some(slots) => slots.admit(at),
            None => at,
        };
        let start = self.buffers[partition].admit(slot);
        if start > slot {
            let partition = partition as u32;
            host_link.timeline.record(|| TimelineEvent {
                kind: TimelineKind::BufferFull { partition },
                start: slot,
                end: start,
                bytes: 0,
            });
        }
        start
    }

    /// Moves one range to the GPU; returns when it is there.
    fn transfer(
        &mut self,
        at: Picos,
        index: usize,
        Move { range, cause }: Move,
        asker: Asker,
        host_link: &mut HostLink,
    ) -> Picos {
        let partition = asker.partition;
        let start = self.enter_buffer(at, partition, host_link);
        let overhead = self.spec.fault_overhead;
        // Every range of a page waits for the page's frame, not only the first.
        let ready = start.max(self.frame_free_at(index)) + overhead;
        let transfer =
            host_link
                .link
                .transfer_from(at + overhead, ready, Direction::ToGpu, range.bytes());
        let done = transfer
            .done
            .max(ready + self.spec.chain_time(range.bytes(), &self.migration))
            + self.spec.update;
        self.buffers[partition].hold_until(done);
        if let Some(slots) = &mut self.slots {
            slots.hold_until(done);
        }
        if self.arrivals.is_none()
            && let Some(owner) = self.owner(asker)
        {
            let own = self.own_flights.entry((index, owner)).or_default();
            let is_moved = true;
            let flight = Flight {
                range,
                done,
                is_moved,
            };
            own.insert(at, flight);
        }
        self.counts.migrations += 1;
        self.counts.migrated_bytes += range.bytes();
        host_link
            .ledger
            .book(self.addresses(index).start, |traffic| {
                traffic.faults += 1;
                traffic.migrated_bytes += range.bytes();
            });
        let page = self.first_page + index as u64;
        host_link.timeline.record(|| TimelineEvent {
            kind: TimelineKind::Migration {
                page,
                partition: partition as u32,
            },
            start,
            end: done,
            bytes: range.bytes(),
        });
        host_link.timeline.page(PageChange {
            cause,
            page,
            range,
            start,
            done,
            place: asker.sm,
        });
        done
    }

    /// What the page has on the GPU, if a page map is recorded.
    fn leaving(&self, index: usize, host_link: &mut HostLink) -> Option<RangeSet> {
        host_link
            .timeline
            .pages()
            .map(|_| self.data_on_gpu(index).collect())
    }

    /// Records in the page map that these bytes of a page left from `start` to `done`.
    fn record_departure(
        &self,
        index: usize,
        (ranges, cause): (Option<RangeSet>, u8),
        (start, done): (Picos, Picos),
        host_link: &mut HostLink,
    ) {
        let page = self.first_page + index as u64;
        for &range in ranges.iter().flat_map(|ranges| ranges.iter()) {
            host_link.timeline.page(PageChange {
                cause,
                page,
                range,
                start,
                done,
                place: 0,
            });
        }
    }

    /// When the bytes that were in the page's frame before it have left.
    fn frame_free_at(&self, index: usize) -> Picos {
        let frames = self.frames.as_ref();
        frames.map_or(Picos::ZERO, |frames| frames.free_at(index))
    }

    /// Gives the page a frame, moving another page out if GPU memory is full.
    fn make_room(&mut self, at: Picos, index: usize, host_link: &mut HostLink) {
        let victim = match &mut self.frames {
            Some(frames) if frames.holds(index) => return,
            Some(frames) => frames.admit(index),
            // Without frames, a page is new to the GPU while none of its bytes are there.
            None if self.flights[index].until() == Picos::ZERO => None,
            None => return,
        };
        self.moves.came(self.addresses(index));
        if let Some(victim) = victim {
            let left = self.move_out(at, victim, host_link);
            if let Some(frames) = &mut self.frames {
                frames.set_free_at(index, left);
            }
            self.move_out_along(at, host_link);
        }
    }

    /// Pages leave that the policy sends along with the last victim.
    fn move_out_along(&mut self, at: Picos, host_link: &mut HostLink) {
        while let Some(page) = self.frames.as_mut().and_then(Frames::next_along) {
            self.move_out(at, page, host_link);
        }
    }

    /// The addresses of a page.
    fn addresses(&self, index: usize) -> Range<u64> {
        let start = (self.first_page + index as u64) << self.page_shift;
        start..start + (1 << self.page_shift)
    }

    /// The page leaves GPU memory to make room. Returns when its frame is free.
    fn move_out(&mut self, at: Picos, victim: usize, host_link: &mut HostLink) -> Picos {
        // Bytes still on the way to the victim must land before they can go back.
        let landed = at.max(self.flights[victim].until());
        let leaving = self.leaving(victim, host_link);
        let bytes = self.leave_gpu(victim);
        let done = if bytes == 0 {
            landed
        } else {
            let link = &mut host_link.link;
            link.transfer_from(at, landed, Direction::ToCpu, bytes).done
        };
        let left = (leaving, events::EVICTION);
        self.record_departure(victim, left, (landed, done), host_link);
        self.counts.evictions += 1;
        self.counts.returned_bytes += bytes;
        host_link
            .ledger
            .book(self.addresses(victim).start, |traffic| {
                traffic.evictions += 1;
                traffic.returned_bytes += bytes;
            });
        let page = self.first_page + victim as u64;
        host_link.timeline.record(|| TimelineEvent {
            kind: TimelineKind::Eviction { page },
            start: at,
            end: done,
            bytes,
        });
        done
    }

    fn forget_flights(&mut self, index: usize) {
        self.flights[index].clear();
        if !self.own_flights.is_empty() {
            let of_page = self.own_flights.range((index, 0)..(index + 1, 0));
            let owned: Vec<_> = of_page.map(|(&key, _)| key).collect();
            for key in owned {
                self.own_flights.remove(&key);
            }
        }
    }

    /// The page goes back to the CPU; returns how many bytes move.
    fn leave_gpu(&mut self, index: usize) -> u64 {
        self.land_all(index);
        self.is_whole[index] = false;
        self.forget_flights(index);
        self.moves.left(self.addresses(index));
        let valid = self.pages[index].valid();
        if !valid.is_empty() {
            let departed = self.departed.entry(index).or_default();
            departed.extend(valid.iter().copied());
        }
        let moved = match self.spec.cpu_return {
            CpuReturn::WholePage => self.data_bytes(index),
            CpuReturn::Valid => self.data_on_gpu(index).map(PageRange::bytes).sum(),
        };
        match self.pages[index].cpu_request(&self.migration) {
            CpuDecision::Local => 0,
            CpuDecision::BringBack { .. } => moved,
        }
    }

    /// A CPU request for the bytes from `address`: every page it touches that is not in CPU memory comes back.
    /// Returns when the last one is there, and how many bytes moved.
    pub fn cpu_request(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        host_link: &mut HostLink,
    ) -> (Picos, u64) {
        let mut done = at;
        let mut moved = 0;
        if bytes == 0 {
            return (at, 0);
        }
        self.touched_by_host(address, bytes);
        let page_of = |address: u64| ((address >> self.page_shift) - self.first_page) as usize;
        for index in page_of(address)..=page_of(address + bytes - 1) {
            if self.pages[index].state() == PageState::ValidInCpu {
                continue;
            }
            let landed = at.max(self.flights[index].until());
            let leaving = self.leaving(index, host_link);
            let page_moved = self.leave_gpu(index);
            if let Some(frames) = &mut self.frames {
                frames.release(index);
            }
            moved += page_moved;
            self.counts.returned_pages += 1;
            host_link
                .ledger
                .book(self.addresses(index).start, |traffic| {
                    traffic.returned_bytes += page_moved;
                });
            let transfer = host_link
                .link
                .transfer_from(at, landed, Direction::ToCpu, page_moved);
            let left = (leaving, events::HOST_TOUCH);
            self.record_departure(index, left, (landed, transfer.done), host_link);
            done = done.max(transfer.done);
        }
        self.counts.returned_bytes += moved;
        (done, moved)
    }

    /// What was counted.
    pub fn counts(&self) -> MigrationCounts {
        let mut counts = self.counts;
        for buffer in &self.buffers {
            counts.buffer_stalls += buffer.stalls();
            counts.buffer_stalled += buffer.stalled();
        }
        counts
    }

    /// Bytes of data that are in GPU memory now.
    pub fn resident_bytes(&self) -> u64 {
        let data = (0..self.pages.len()).flat_map(|index| self.data_on_gpu(index));
        data.map(PageRange::bytes).sum()
    }

    /// How many pages have how many valid ranges: index 0 counts pages with none.
    pub fn ranges_per_page(&self) -> Vec<u64> {
        let mut histogram = vec![0];
        for page in &self.pages {
            let ranges = page.valid().len();
            if ranges >= histogram.len() {
                histogram.resize(ranges + 1, 0);
            }
            histogram[ranges] += 1;
        }
        histogram
    }
}
