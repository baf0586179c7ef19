//! The GPU's memory management unit: where pages are, what moves for a request, and until when it is on the way.
//!
//! What moves is decided by `pagemill_policy::migration`. Here it gets a migration-buffer entry and a place on the link.

mod host;

use super::SEGMENT_BYTES;
use super::flights::{Flight, Flights};
use super::machine::{CpuReturn, GpuMachine, MergeScope};
use super::page_events;
use super::timeline::{PageChange, Timeline, TimelineEvent, TimelineKind};
use crate::parts::entry_pool::EntryPool;
use crate::parts::link::{Direction, Link};
use pagemill_policy::migration::{CpuDecision, GpuDecision, Migration, Page, PageState};
use pagemill_types::{PageRange, Picos, RangeSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes of a page to move to the GPU, and why.
#[derive(Clone, Copy, Debug)]
struct Move {
    range: PageRange,
    cause: u8,
}

/// Where a GPU request comes from and goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    /// The SM that asks.
    pub(crate) sm: u32,
    /// The memory partition of the segment.
    pub(crate) partition: usize,
}

/// Answer to a GPU request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Residency {
    /// The bytes are in GPU memory; the request goes on at this time.
    Local(Picos),
    /// The bytes arrive at this time.
    Arrives(Picos),
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
    /// Migrations that found their partition's buffer full.
    pub buffer_stalls: u64,
    /// How long those waited for an entry, summed over them.
    #[serde(with = "crate::gpu::serial")]
    pub buffer_stalled: Picos,
}

/// Everything about pages that migrate.
#[derive(Debug)]
pub(crate) struct Gmmu {
    migration: Migration,
    pages: Vec<Page>,
    flights: Vec<Flights>,
    /// Pages that are wholly in GPU memory with nothing on the way: the common case, one byte a page.
    settled: Vec<bool>,
    page_shift: u32,
    first_page: u64,
    buffers: Vec<EntryPool>,
    /// Limits how many migrations of the whole GPU are under way at a time.
    slots: Option<EntryPool>,
    merge: MergeScope,
    /// By page and owner, what each partition or SM has moved for itself. Empty unless they do not share.
    own_flights: BTreeMap<(usize, usize), Flights>,
    /// By page, what was on the GPU once and has left it. Empty until a page leaves.
    departed: BTreeMap<usize, RangeSet>,
    query: Picos,
    update: Picos,
    fault_overhead: Picos,
    cpu_return: CpuReturn,
    residents: Option<super::residents::Residents>,
    counts: MigrationCounts,
    planned: Vec<PageRange>,
    evicted: Vec<u64>,
}

impl Gmmu {
    /// `base` is the first address that can be managed, a multiple of the page size.
    pub(crate) fn new(machine: &GpuMachine, migration: Migration, base: u64) -> Self {
        let page = migration.spec().page;
        let cycles = |count: u32| machine.core_clock.cycles(u64::from(count));
        let frames = machine.memory_bytes.map(|bytes| bytes / page.bytes());
        Self {
            pages: Vec::new(),
            flights: Vec::new(),
            settled: Vec::new(),
            page_shift: page.bytes().trailing_zeros(),
            first_page: base / page.bytes(),
            buffers: vec![
                EntryPool::new(machine.gmmu.buffer_entries);
                machine.dram.channels as usize
            ],
            slots: machine.gmmu.concurrent_migrations.map(EntryPool::new),
            merge: machine.gmmu.merge,
            own_flights: BTreeMap::new(),
            departed: BTreeMap::new(),
            query: cycles(machine.gmmu.state_query_cycles),
            update: cycles(machine.gmmu.state_update_cycles),
            fault_overhead: machine.gmmu.fault_overhead,
            cpu_return: machine.gmmu.cpu_return,
            residents: frames.map(super::residents::Residents::new),
            counts: MigrationCounts::default(),
            planned: Vec::new(),
            evicted: Vec::new(),
            migration,
        }
    }

    /// Makes room for every page below address `end`.
    pub(crate) fn grow(&mut self, end: u64) {
        let page_bytes = 1 << self.page_shift;
        let pages = end.div_ceil(page_bytes).saturating_sub(self.first_page) as usize;
        if pages > self.pages.len() {
            self.pages.resize(pages, Page::new());
            self.flights.resize(pages, Flights::default());
            self.settled.resize(pages, false);
            if let Some(residents) = &mut self.residents {
                residents.grow(pages);
            }
        }
    }

    /// A GPU request of `asker` for the segment at `address`.
    ///
    /// Asked in non-decreasing time.
    #[inline]
    pub(crate) fn gpu_request(
        &mut self,
        at: Picos,
        address: u64,
        asker: Asker,
        link: &mut Link,
        timeline: &mut Timeline,
    ) -> Residency {
        let index = ((address >> self.page_shift) - self.first_page) as usize;
        if let Some(residents) = &mut self.residents {
            residents.touch(index);
        }
        if self.settled[index] {
            return Residency::Local(at);
        }
        self.unsettled_request(at, index, address, asker, link, timeline)
    }

    fn unsettled_request(
        &mut self,
        at: Picos,
        index: usize,
        address: u64,
        asker: Asker,
        link: &mut Link,
        timeline: &mut Timeline,
    ) -> Residency {
        if self.flights[index].until() <= at && self.pages[index].state() == PageState::ValidInGpu {
            self.settled[index] = true;
            self.forget_flights(index);
            return Residency::Local(at);
        }
        let start = (address & ((1 << self.page_shift) - 1)) as u32;
        let request = PageRange {
            start,
            end: start + SEGMENT_BYTES as u32,
        };
        let known = at + self.query;
        self.planned.clear();
        let decision = self.pages[index].gpu_request(&self.migration, request, &mut self.planned);
        if let GpuDecision::Fetch { .. } = decision {
            self.fetch(known, index, asker, link, timeline);
        }
        let arrival = self.flights[index].arrival(known, request);
        if arrival == known {
            return Residency::Local(known);
        }
        if decision != GpuDecision::Local {
            return Residency::Arrives(arrival);
        }
        if self.merge != MergeScope::Gpu {
            return Residency::Arrives(self.unmerged(known, index, request, asker, link, timeline));
        }
        self.counts.joined_requests += 1;
        Residency::Arrives(arrival)
    }

    /// A request for bytes on the way that does not merge with every migration: it waits for one of its own, which it
    /// may have to start. Returns when that arrives.
    fn unmerged(
        &mut self,
        at: Picos,
        index: usize,
        request: PageRange,
        asker: Asker,
        link: &mut Link,
        timeline: &mut Timeline,
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
        self.counts.repeated_bytes += first.range.bytes();
        let move_once_more = Move {
            range: first.range,
            cause: page_events::REPEAT,
        };
        let done = self.transfer(at, index, move_once_more, asker, link, timeline);
        // CPU requests and evictions wait for these transfers too.
        self.flights[index].extend_until(done);
        done
    }

    /// Who shares a migration with `asker`, where that is neither everybody nor nobody.
    fn owner(&self, asker: Asker) -> Option<usize> {
        match self.merge {
            MergeScope::Partition => Some(asker.partition),
            MergeScope::Sm => Some(asker.sm as usize),
            MergeScope::Gpu | MergeScope::Nothing => None,
        }
    }

    /// Moves the planned ranges: an entry and a transfer each.
    fn fetch(
        &mut self,
        at: Picos,
        index: usize,
        asker: Asker,
        link: &mut Link,
        timeline: &mut Timeline,
    ) {
        let room = self.make_room(at, index, link, timeline);
        for place in 0..self.planned.len() {
            let range = self.planned[place];
            let needed = Move {
                range,
                cause: page_events::FAULT,
            };
            let done = self.transfer(room, index, needed, asker, link, timeline);
            self.flights[index].insert(at, Flight { range, done });
        }
        if let Some(departed) = self.departed.get(&index) {
            let came = self.planned.iter();
            self.counts.refetched_bytes += came.map(|&range| overlap(departed, range)).sum::<u64>();
        }
    }

    /// Moves one range to the GPU; returns when it is there.
    fn transfer(
        &mut self,
        at: Picos,
        index: usize,
        Move { range, cause }: Move,
        asker: Asker,
        link: &mut Link,
        timeline: &mut Timeline,
    ) -> Picos {
        let partition = asker.partition;
        let slot = match &mut self.slots {
            Some(slots) => slots.admit(at),
            None => at,
        };
        let start = self.buffers[partition].admit(slot);
        if start > slot {
            let partition = partition as u32;
            timeline.record(|| TimelineEvent {
                kind: TimelineKind::BufferFull { partition },
                start: slot,
                end: start,
                bytes: 0,
            });
        }
        let transfer = link.transfer(start + self.fault_overhead, Direction::ToGpu, range.bytes());
        let done = transfer.done + self.update;
        self.buffers[partition].hold_until(done);
        if let Some(slots) = &mut self.slots {
            slots.hold_until(done);
        }
        if let Some(owner) = self.owner(asker) {
            let own = self.own_flights.entry((index, owner)).or_default();
            own.insert(at, Flight { range, done });
        }
        self.counts.migrations += 1;
        self.counts.migrated_bytes += range.bytes();
        let page = self.first_page + index as u64;
        timeline.record(|| TimelineEvent {
            kind: TimelineKind::Migration {
                page,
                partition: partition as u32,
            },
            start,
            end: done,
            bytes: range.bytes(),
        });
        timeline.page(PageChange {
            cause,
            page,
            range,
            start,
            done,
            sm: asker.sm,
        });
        done
    }

    /// What the page has on the GPU, where the page map wants to know.
    fn leaving(&self, index: usize, timeline: &mut Timeline) -> Option<RangeSet> {
        timeline.pages().map(|_| self.pages[index].valid().clone())
    }

    /// Tells the page map that these bytes of a page left from `start` to `done`.
    fn tell_left(
        &self,
        index: usize,
        (ranges, cause): (Option<RangeSet>, u8),
        (start, done): (Picos, Picos),
        timeline: &mut Timeline,
    ) {
        let page = self.first_page + index as u64;
        for &range in ranges.iter().flat_map(|ranges| ranges.iter()) {
            timeline.page(PageChange {
                cause,
                page,
                range,
                start,
                done,
                sm: 0,
            });
        }
    }

    /// Gives the page a frame, moving another page out if GPU memory is full. Returns when the frame is free.
    fn make_room(
        &mut self,
        at: Picos,
        index: usize,
        link: &mut Link,
        timeline: &mut Timeline,
    ) -> Picos {
        let Some(residents) = &mut self.residents else {
            return at;
        };
        if residents.holds(index) {
            return at;
        }
        match residents.admit(index) {
            Some(victim) => self.move_out(at, victim, link, timeline),
            None => at,
        }
    }

    /// The page leaves GPU memory to make room. Returns when its frame is free.
    fn move_out(
        &mut self,
        at: Picos,
        victim: usize,
        link: &mut Link,
        timeline: &mut Timeline,
    ) -> Picos {
        // Bytes still on the way to the victim must land before they can go back.
        let from = at.max(self.flights[victim].until());
        let leaving = self.leaving(victim, timeline);
        let bytes = self.leave_gpu(victim);
        let done = if bytes == 0 {
            from
        } else {
            link.transfer(from, Direction::ToCpu, bytes).done
        };
        let left = (leaving, page_events::EVICTION);
        self.tell_left(victim, left, (from, done), timeline);
        self.counts.evictions += 1;
        self.counts.returned_bytes += bytes;
        self.evicted.push(self.first_page + victim as u64);
        let page = self.first_page + victim as u64;
        timeline.record(|| TimelineEvent {
            kind: TimelineKind::Eviction { page },
            start: at,
            end: done,
            bytes,
        });
        done
    }

    /// Pages that were moved out since the last call: their translations and cached lines are void.
    pub(crate) fn take_evicted(&mut self) -> Option<u64> {
        self.evicted.pop()
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
        self.settled[index] = false;
        self.forget_flights(index);
        let valid = self.pages[index].valid();
        if !valid.is_empty() {
            let departed = self.departed.entry(index).or_default();
            departed.extend(valid.iter().copied());
        }
        match (
            self.pages[index].cpu_request(&self.migration),
            self.cpu_return,
        ) {
            (CpuDecision::Local, _) => 0,
            (CpuDecision::BringBack { page_bytes, .. }, CpuReturn::WholePage) => page_bytes,
            (
                CpuDecision::BringBack {
                    gpu_valid_bytes, ..
                },
                CpuReturn::Valid,
            ) => gpu_valid_bytes,
        }
    }

    /// A CPU request for the bytes from `address`: every page it touches that is not in CPU memory comes back.
    /// Returns when the last one is there, and how many bytes moved.
    pub(crate) fn cpu_request(
        &mut self,
        at: Picos,
        address: u64,
        bytes: u64,
        link: &mut Link,
        timeline: &mut Timeline,
    ) -> (Picos, u64) {
        let mut done = at;
        let mut moved = 0;
        if bytes == 0 {
            return (at, 0);
        }
        let page_of = |address: u64| ((address >> self.page_shift) - self.first_page) as usize;
        for index in page_of(address)..=page_of(address + bytes - 1) {
            if self.pages[index].state() == PageState::ValidInCpu {
                continue;
            }
            let from = at.max(self.flights[index].until());
            let leaving = self.leaving(index, timeline);
            let page_moved = self.leave_gpu(index);
            let there = link.transfer(from, Direction::ToCpu, page_moved).done;
            let left = (leaving, page_events::HOST_TOUCH);
            self.tell_left(index, left, (from, there), timeline);
            if let Some(residents) = &mut self.residents {
                residents.release(index);
            }
            moved += page_moved;
            self.counts.returned_pages += 1;
            done = done.max(there);
        }
        self.counts.returned_bytes += moved;
        (done, moved)
    }

    /// What was counted.
    pub(crate) fn counts(&self) -> MigrationCounts {
        let mut counts = self.counts;
        for buffer in &self.buffers {
            counts.buffer_stalls += buffer.stalls();
            counts.buffer_stalled += buffer.stalled();
        }
        counts
    }

    /// Bytes that are valid in GPU memory now.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.pages
            .iter()
            .map(|page| page.valid().covered_bytes())
            .sum()
    }

    /// How many pages have how many valid ranges: index 0 counts pages with none.
    pub(crate) fn ranges_per_page(&self) -> Vec<u64> {
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

/// How many bytes of `range` are in `set`.
fn overlap(set: &RangeSet, range: PageRange) -> u64 {
    let missing: u64 = set.missing(range).map(PageRange::bytes).sum();
    range.bytes() - missing
}
