use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use pagemill_linux::clock;
use pagemill_linux::process::{end_now, no_memory};
use pagemill_linux::userfault::{FaultWaiter, Frames, PagedFault, Taken, Userfault};
use pagemill_policy::paging::{Fault, Plan, TraceEvent};
use pagemill_policy::residency::PageMask;

use crate::beside::Beside;
use crate::core::Core;
use crate::counters::Count;
use crate::file::FileError;
use crate::in_thread::Serve;
use crate::record::{self, Record};
use crate::regions::Region;
use crate::shard::{Job, Shard, State};
use crate::store::{NO_SLOT, Slot, StoreError, Unit};
use crate::write_back;
use crate::{BLOCK_BYTES, UNIT_BYTES};

/// Frames that a worker keeps from one fault to the next, in bytes.
const KEPT_BYTES: u64 = 512 << 10;

/// Room for what one fault evicts and fetches, several pages of 2 MiB each.
const ROOM_BYTES: u64 = 4 * BLOCK_BYTES;

/// Faults between two looks at the CPU clock, which is a system call.
const FAULTS_A_LOOK: u32 = 16;

/// Counts the CPU time of its thread.
#[derive(Debug, Default)]
struct CpuClock {
    faults: u32,
    counted_ns: u64,
}

impl CpuClock {
    fn tick(&mut self, core: &Core) {
        self.faults += 1;
        if self.faults.is_multiple_of(FAULTS_A_LOOK) {
            let now_ns = clock::thread_cpu_ns();
            core.counters
                .add(Count::HandlerCpuNs, now_ns - self.counted_ns);
            core.update_usage();
            self.counted_ns = now_ns;
        }
    }
}

/// Answers faults, one at a time. What it evicts makes the frames for what it fetches.
#[derive(Debug)]
pub struct Worker {
    core: Arc<Core>,
    userfault: Arc<Userfault>,
    frames: Frames,
    taken: Taken,
    plan: Plan,
    room: Room,
    /// Where this thread does nothing else than to answer faults.
    beside: Option<Beside>,
    /// Whether the fault being answered is of the only thread that faults: it wakes when all is done.
    is_alone: bool,
}

/// Units that left their frames.
struct Kept {
    changed: PageMask,
    zero: PageMask,
    /// Whether any is kept elsewhere than it was.
    is_put: bool,
}

/// Lists that are empty between faults, so that a fault allocates nothing.
#[derive(Debug, Default)]
struct Room {
    evicts: Vec<Job>,
    fetches: Vec<Job>,
    /// Of jobs that are done.
    records: Vec<Vec<Record>>,
    /// Places in a page of the units whose frames were taken.
    places: Vec<u32>,
    freed: Vec<Slot>,
    slots: Vec<Slot>,
}

impl Room {
    /// The jobs of a plan. `state` knows what they move.
    fn enter(&mut self, plan: &Plan, state: &State) {
        for (moves, jobs) in [
            (&plan.evict, &mut self.evicts),
            (&plan.fetch, &mut self.fetches),
        ] {
            for planned in moves {
                jobs.extend(state.job(planned, self.records.pop().unwrap_or_default()));
            }
        }
    }

    fn clear(&mut self) {
        let jobs = self.evicts.drain(..).chain(self.fetches.drain(..));
        self.records.extend(jobs.map(|job| job.records));
    }
}

impl Serve for Worker {
    fn answer(&mut self, fault: PagedFault) {
        self.serve_timed(fault);
    }
}

impl Worker {
    pub fn new(core: &Arc<Core>, userfault: &Arc<Userfault>) -> pagemill_linux::Result<Self> {
        Self::with(core, userfault, Frames::new(userfault, ROOM_BYTES)?)
    }

    /// Handler `number`. Its frames are where those of the parent's are, in a child of `fork`.
    pub fn handler(
        core: &Arc<Core>,
        userfault: &Arc<Userfault>,
        number: usize,
    ) -> pagemill_linux::Result<Self> {
        let place = core.frames.place(number);
        let frames = Frames::new_at(userfault, ROOM_BYTES, place)?;
        core.frames.enter(number, frames.range());
        Self::with(core, userfault, frames)
    }

    fn with(
        core: &Arc<Core>,
        userfault: &Arc<Userfault>,
        frames: Frames,
    ) -> pagemill_linux::Result<Self> {
        Ok(Self {
            core: Arc::clone(core),
            userfault: Arc::clone(userfault),
            frames,
            taken: Taken::default(),
            plan: Plan::default(),
            room: Room::default(),
            beside: None,
            is_alone: false,
        })
    }

    /// Works until the pager stops, as handler `number`.
    pub fn run(&mut self, waiter: &FaultWaiter, number: usize) {
        pagemill_linux::process::refuse_signals();
        let core = Arc::clone(&self.core);
        self.beside = Some(Beside::new(number));
        let mut clock = CpuClock::default();
        while waiter.wait().unwrap_or_else(|error| closed(&error)) {
            match self.userfault.next() {
                Ok(Some(fault)) => self.serve_timed(fault),
                // Another worker has taken it.
                Ok(None) => {}
                Err(error) => closed(&error),
            }
            clock.tick(&core);
            // Not before a fault is taken that this worker alone was woken for.
            if let Some(beside) = &self.beside {
                beside.wait_for_turn(&core.faulting);
            }
        }
        core.faulting.end();
    }

    /// Answers one fault, and counts the time that it took.
    fn serve_timed(&mut self, fault: PagedFault) {
        let start = Instant::now();
        self.serve(fault);
        let service_ns = start.elapsed().as_nanos() as u64;
        self.core.counters.add(Count::ServiceNs, service_ns);
    }

    fn serve(&mut self, fault: PagedFault) {
        let core = Arc::clone(&self.core);
        let _inside = core.gate.enter();
        let unit = fault.address..fault.address + UNIT_BYTES as u64;
        let Some(region) = core.regions.find(fault.address) else {
            if core.frames.has(fault.address) {
                // To the program there is no memory, and nothing that would answer.
                no_memory(fault.thread, fault.address);
            }
            // Else given back meanwhile: the touch is the kernel's to answer.
            return self.userfault.wake(unit);
        };
        let site = core.site(&region, fault.address);
        let shard = &core.shards[site.shard];
        let mut state = shard.lock();
        let met = loop {
            match state.ledger.fault(site.page, site.unit, &mut self.plan) {
                Fault::InTransit => state = shard.wait(state),
                met => break met,
            }
        };
        if met == Fault::Resident {
            drop(state);
            core.counters.add(Count::RepeatedFaults, 1);
            return self.userfault.wake(unit);
        }
        let kind = if fault.is_write {
            Count::WriteFaults
        } else {
            Count::ReadFaults
        };
        core.counters.add(kind, 1);
        self.is_alone = !core.is_recording()
            && (self.beside.as_mut())
                .is_some_and(|beside| beside.follows(fault.thread, &core.faulting));
        state.record_fault(&site, fault.is_write);
        let mut room = std::mem::take(&mut self.room);
        room.enter(&self.plan, &state);
        let resident = state.ledger.resident_units();
        drop(state);
        core.note_resident(site.shard, resident);
        let is_fetched = room.fetches.iter().any(|job| job.holds(fault.address));
        self.carry_out(shard, &mut room);
        room.clear();
        self.room = room;
        self.frames.shrink_to(KEPT_BYTES);
        if self.is_alone || !is_fetched {
            // What is not fetched has just left the pager: the touch is the kernel's to answer.
            self.wake(fault.thread, unit);
        }
        if core.is_recording() {
            let recorded_ns = shard.lock().record_answered();
            core.counters
                .set(Count::RecordedNs, recorded_ns.unwrap_or(0));
        }
    }

    /// Lets a thread try its touch of `unit` again.
    fn wake(&mut self, thread: u32, unit: Range<u64>) {
        let userfault = &self.userfault;
        match &mut self.beside {
            Some(beside) if self.is_alone => beside.wake(thread, || userfault.wake(unit)),
            _ => userfault.wake(unit),
        }
    }

    /// Fetches before it evicts where there are frames enough: the program need not wait for what leaves.
    fn carry_out(&mut self, shard: &Shard, room: &mut Room) {
        let needed: u64 = room.fetches.iter().map(Job::bytes).sum();
        let is_room_left = needed <= self.frames.len() && !self.core.is_recording();
        if is_room_left {
            self.fetch_all(shard, room);
        }
        let mut evicts = std::mem::take(&mut room.evicts);
        for job in &mut evicts {
            self.evict(shard, job, room);
        }
        room.evicts = evicts;
        if self.core.is_recording() {
            shard.lock().write_record();
        }
        if !is_room_left {
            self.fetch_all(shard, room);
        }
    }

    fn fetch_all(&mut self, shard: &Shard, room: &mut Room) {
        for job in &mut room.fetches {
            self.fetch(shard, job, &mut room.slots);
        }
    }

    /// Takes the frames of a page, and keeps the bytes of those that have changed.
    fn evict(&mut self, shard: &Shard, job: &mut Job, room: &mut Room) {
        let core = Arc::clone(&self.core);
        let (places, freed) = (&mut room.places, &mut room.freed);
        freed.clear();
        let kept = self.take(job, places, freed);
        let Kept {
            changed,
            zero,
            is_put,
        } = self.keep(places, job, freed);
        let is_noted = is_put || !freed.is_empty();
        freed.retain(|slot| *slot != NO_SLOT);
        core.counters.add(Count::EvictedPages, 1);
        core.counters.add(Count::EvictedUnits, places.len() as u64);
        core.counters.add(Count::HeldUnits, u64::from(kept.count()));
        let mut state = shard.lock();
        if is_noted {
            state.note(job.page, &job.records);
        }
        state.ledger.left(job.page, kept);
        state.record(|page_units| TraceEvent::Evicted {
            first: u64::from(job.page) * page_units,
            changed,
            zero,
        });
        shard.notify(state);
        core.store.free(freed);
    }

    /// Takes the frames of a page to the top, those of the units at `places` of the page; returns those that cannot leave. Slots of units
    /// that the program gave up are `freed`.
    fn take(&mut self, job: &mut Job, places: &mut Vec<u32>, freed: &mut Vec<Slot>) -> PageMask {
        if self.frames.len() + job.bytes() > ROOM_BYTES {
            self.frames.shrink_to(0);
        }
        places.clear();
        let mut kept = PageMask::EMPTY;
        let start = job.address;
        let of = |address: u64| ((address - start) / UNIT_BYTES as u64) as u32;
        for stretch in job.units.stretches() {
            let range = job.address_of(stretch.start)..job.address_of(stretch.end);
            self.frames.take(&job.region.memory, range, &mut self.taken);
            places.extend(self.taken.taken.iter().map(|&address| of(address)));
            kept = kept.or(&self.taken.held.iter().map(|&address| of(address)).collect());
            for &address in &self.taken.missing {
                let record = std::mem::take(&mut job.records[of(address) as usize]);
                freed.push(record.own_slot());
            }
        }
        kept
    }

    /// Writes to its file what has changed of a page; returns its units that are in frames still, and how many were written.
    pub fn flush(&mut self, job: &mut Job) -> (PageMask, Result<u32, FileError>) {
        let mut taken = Vec::new();
        let held = self.take(job, &mut taken, &mut Vec::new());
        let (units, _) = (self.frames)
            .top(taken.len() as u64 * UNIT_BYTES as u64)
            .as_chunks::<UNIT_BYTES>();
        let of = (&self.core.counters, self.core.seed);
        let written = write_back::changed(of, units, &taken, job).and_then(|of_taken| {
            let of_held = write_back::held(of, held, job)?;
            Ok(of_taken.count() + of_held)
        });
        let follows = |a: &u32, b: &u32| a + 1 == *b;
        for run in taken.chunk_by(follows).rev() {
            let range = job.address_of(run[0])..job.address_of(run[run.len() - 1] + 1);
            self.frames.give(&job.region.memory, range, true);
        }
        self.frames.shrink_to(0);
        (held.or(&taken.into_iter().collect()), written)
    }

    /// Puts the units on top of the frames into the store where they differ from what is there, or nothing is. Those without a slot any
    /// more are `freed`.
    fn keep(&mut self, taken: &[u32], job: &mut Job, freed: &mut Vec<Slot>) -> Kept {
        let core = &*self.core;
        let bytes = self.frames.top(taken.len() as u64 * UNIT_BYTES as u64);
        let (all, _) = bytes.as_chunks::<UNIT_BYTES>();
        if job.region.written_file().is_some() {
            let mut written = PageMask::EMPTY;
            core.until_it_works(|| {
                written = write_back::changed((&core.counters, core.seed), all, taken, job)?;
                Ok::<_, FileError>(())
            });
            let clean = taken.len() as u64 - u64::from(written.count());
            core.counters.add(Count::CleanUnits, clean);
            return Kept {
                changed: written,
                zero: PageMask::EMPTY,
                is_put: !written.is_empty(),
            };
        }
        let (records, is_zeros) = (&mut job.records, job.region.file.is_none());
        let mut units: Vec<&Unit> = Vec::new();
        let mut slots = Vec::new();
        let mut put = Vec::new();
        let (mut changed, mut zero) = (PageMask::EMPTY, PageMask::EMPTY);
        for (unit, &index) in all.iter().zip(taken) {
            let record = &mut records[index as usize];
            if is_zeros && record::is_zero(unit) {
                zero.insert(index);
                freed.push(std::mem::take(record).own_slot());
                continue;
            }
            let hash = record::hash(unit, core.seed);
            let has_changed = !record.keeps(hash);
            if has_changed {
                changed.insert(index);
            }
            if has_changed || record.is_in_frame() {
                slots.push(record.own_slot());
                units.push(unit);
                put.push((index, hash));
            }
        }
        let changed_units = u64::from(changed.count());
        core.counters
            .add(Count::CleanUnits, taken.len() as u64 - changed_units);
        let is_put = !units.is_empty();
        let mut sent_bytes = 0;
        core.until_it_works(|| {
            if is_put {
                sent_bytes = core.store.put(&units, &mut slots)?;
            }
            Ok::<_, StoreError>(())
        });
        core.counters.add(Count::SentBytes, sent_bytes);
        core.counters.add(Count::WrittenUnits, changed_units);
        core.counters
            .add(Count::WrittenBytes, changed_units * UNIT_BYTES as u64);
        for (&(index, hash), &slot) in put.iter().zip(&slots) {
            records[index as usize].keep(slot, hash);
        }
        Kept {
            changed,
            zero,
            is_put,
        }
    }

    /// Fills frames with the bytes of units, and makes them the program's.
    fn fetch(&mut self, shard: &Shard, job: &mut Job, slots: &mut Vec<Slot>) {
        let core = Arc::clone(&self.core);
        for stretch in job.units.stretches() {
            let bytes = u64::from(stretch.end - stretch.start) * UNIT_BYTES as u64;
            core.until_it_works(|| self.frames.grow_to(bytes));
            let start = job.address_of(stretch.start);
            let records = &mut job.records[stretch.start as usize..stretch.end as usize];
            let part = (&*job.region, start);
            fill(&core, part, self.frames.top(bytes), records, slots);
            let range = start..start + bytes;
            self.frames.give(&job.region.memory, range, !self.is_alone);
        }
        slots.clear();
        if core.store.is_better_empty() {
            let arrived = job.units.pages();
            slots.extend(arrived.filter_map(|unit| job.records[unit as usize].leave_slot()));
        }
        let mut state = shard.lock();
        if job.region.file.is_some() || !slots.is_empty() {
            state.note(job.page, &job.records);
        }
        state.ledger.arrived(job.page);
        shard.notify(state);
        core.store.free(slots);
    }
}

/// Writes what each record keeps, or else what the file has, or zeros. `address` is that of the first unit in `region`. `slots` is a list
/// for the time being.
pub fn fill(
    core: &Core,
    (region, address): (&Region, u64),
    bytes: &mut [u8],
    records: &mut [Record],
    slots: &mut Vec<Slot>,
) {
    let mut done = 0;
    while done < records.len() {
        let is_kept = records[done].slot().is_some();
        let alike = |record: &&Record| record.slot().is_some() == is_kept;
        let count = records[done..].iter().take_while(alike).count();
        let bytes = &mut bytes[done * UNIT_BYTES..(done + count) * UNIT_BYTES];
        let records = &mut records[done..done + count];
        if is_kept {
            read(core, bytes, records, slots);
        } else if let Some(file) = &region.file {
            let at = address - region.memory.range().start + (done * UNIT_BYTES) as u64;
            core.until_it_works(|| file.read(at, bytes));
            core.counters.add(Count::FetchedUnits, count as u64);
            let (units, _) = bytes.as_chunks::<UNIT_BYTES>();
            for (unit, record) in units.iter().zip(records) {
                record.keep_in_file(record::hash(unit, core.seed));
            }
        } else {
            bytes.fill(0);
            core.counters.add(Count::ZeroUnits, count as u64);
        }
        done += count;
    }
}

fn read(core: &Core, bytes: &mut [u8], records: &[Record], slots: &mut Vec<Slot>) {
    slots.clear();
    slots.extend(records.iter().filter_map(Record::slot));
    core.until_it_works(|| core.store.get(slots, bytes));
    core.counters.add(Count::FetchedUnits, slots.len() as u64);
    if !core.verify || core.store.checks_itself() {
        return;
    }
    let (units, _) = bytes.as_chunks::<UNIT_BYTES>();
    for (unit, record) in units.iter().zip(records) {
        if !record.keeps(record::hash(unit, core.seed)) {
            core.damaged(record.slot().unwrap_or(NO_SLOT));
        }
    }
}

/// Ends the process: nothing can answer its page faults any more.
fn closed(error: &std::io::Error) -> ! {
    end_now(
        &format!(
            "pagemill pager: the program closed a descriptor that the pager uses ({error}); it was stopped, because its memory would be \
             wrong. Close only what the program has opened"
        ),
        1,
    )
}
