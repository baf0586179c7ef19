use pagemill_policy::paging::{Fault, PagingSpec, PagingSpecError, Plan, TraceEvent};
use pagemill_policy::residency::PageMask;
use pagemill_types::Picos;

use super::costs::{PagerMachine, SpareFrames, StoreCost};
use super::memory::Memory;
use super::recording::{self, Recording};
use super::touches::{Change, Touches};

/// What a replay counted. The counts have the names and meanings of the pager's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagingReport {
    /// Faults by reads.
    pub read_faults: u64,
    /// Faults by writes.
    pub write_faults: u64,
    /// Units read from the store.
    pub fetched_units: u64,
    /// Units of zeros that were made.
    pub zero_units: u64,
    /// Units that left their frames.
    pub evicted_units: u64,
    /// Units written to the store.
    pub written_units: u64,
    /// Units that left unchanged.
    pub clean_units: u64,
    /// Pages that were evicted.
    pub evicted_pages: u64,
    /// The most units in frames at a time.
    pub resident_units_max: u64,
    /// Faults of the trace at units that are in frames.
    pub avoided_faults: u64,
    /// From the first event until the last fault is answered.
    pub time: Picos,
    /// The handler's part of it.
    pub service: Picos,
}

/// Later than any run ends. A damaged trace may say so.
const TIME_MAX: u64 = u64::MAX / 2;

/// What is known of a unit.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// The store has its bytes.
    is_stored: bool,
    /// It has changed in its frame, and how.
    change: Option<Change>,
}

/// Replays `touches` under the rules of `spec`, timed by `machine` with its store `store`.
///
/// # Errors
/// The rules do not fit each other.
pub fn replay(
    touches: &Touches,
    spec: &PagingSpec,
    machine: &PagerMachine,
    store: &StoreCost,
) -> Result<PagingReport, PagingSpecError> {
    Ok(run(touches, spec, (machine, store), None)?.report)
}

/// As [`replay`], with the bytes of a page map: which units were in frames, when and why.
///
/// # Errors
/// As [`replay`].
pub fn replay_recorded(
    touches: &Touches,
    spec: &PagingSpec,
    machine: &PagerMachine,
    store: &StoreCost,
) -> Result<(PagingReport, Vec<u8>), PagingSpecError> {
    let recording = Recording::new(&touches.events, spec.migration.page.bytes());
    let run = run(touches, spec, (machine, store), Some(recording))?;
    let end = run.report.time;
    let map = run.recording.map(|recording| recording.finish(end));
    Ok((run.report, map.unwrap_or_default()))
}

fn run<'a>(
    touches: &'a Touches,
    spec: &PagingSpec,
    (machine, store): (&'a PagerMachine, &'a StoreCost),
    recording: Option<Recording>,
) -> Result<Run<'a>, PagingSpecError> {
    let mut run = Run {
        machine,
        store,
        touches,
        memory: Memory::new(spec)?,
        units: Vec::new(),
        next_change: 0,
        spare: SpareFrames::default(),
        plan: Plan::default(),
        program: Picos::ZERO,
        handler: Picos::ZERO,
        report: PagingReport::default(),
        recording,
    };
    for (index, event) in touches.events.iter().enumerate() {
        run.event(index, event);
    }
    run.report.time = run.program.max(run.handler);
    Ok(run)
}

struct Run<'a> {
    machine: &'a PagerMachine,
    store: &'a StoreCost,
    touches: &'a Touches,
    memory: Memory,
    units: Vec<Unit>,
    next_change: usize,
    spare: SpareFrames,
    plan: Plan,
    /// When the program goes on.
    program: Picos,
    /// When the handler is free.
    handler: Picos,
    report: PagingReport,
    recording: Option<Recording>,
}

impl Run<'_> {
    fn event(&mut self, index: usize, event: &TraceEvent) {
        match event {
            TraceEvent::Enter { first, units } => {
                self.memory.enter(*first, *units);
                let count = self.memory.units() as usize;
                self.units.resize(count, Unit::default());
            }
            TraceEvent::Fault {
                unit,
                is_write,
                think_ns,
            } => {
                let think = think_ns.saturating_mul(1000);
                let think = think.saturating_sub(self.machine.round_trip.0);
                self.program = Picos(self.program.0.saturating_add(think).min(TIME_MAX));
                self.touch(*unit, *is_write);
                self.apply_changes(index);
            }
            TraceEvent::Discard {
                first,
                units,
                is_gone,
            } => {
                self.record_discard(*first, *units);
                self.memory.discard(*first, *units, *is_gone);
                let range = *first..first + u64::from(*units);
                range.for_each(|unit| self.unit_mut(unit, |unit| *unit = Unit::default()));
            }
            // It says what the recording pager did.
            TraceEvent::Evicted { .. } => {}
        }
    }

    fn unit_mut(&mut self, unit: u64, act: impl FnOnce(&mut Unit)) {
        if let Some(unit) = self.units.get_mut(unit as usize) {
            act(unit);
        }
    }

    /// What changed in the frames that fault `index` of the recording filled.
    fn apply_changes(&mut self, index: usize) {
        while let Some(&(by, unit, change)) = self.touches.changes.get(self.next_change) {
            if by > index {
                return;
            }
            self.next_change += 1;
            if !self.is_resident(unit) {
                // The recording pager had brought it ahead. Here the program's write is a fault.
                self.touch(unit, true);
            }
            self.record_change(unit);
            self.unit_mut(unit, |unit| unit.change = Some(change));
        }
    }

    /// The page map learns that a unit in a frame is no longer what the store has.
    fn record_change(&mut self, unit: u64) {
        let page_units = u64::from(self.memory.page_units);
        let (page, within) = ((unit / page_units) as u32, (unit % page_units) as u32);
        let now = self.program;
        let is_new = |unit: &Unit| unit.change.is_none();
        if let Some(recording) = &mut self.recording
            && self.units.get(unit as usize).is_some_and(is_new)
        {
            let unit = PageMask::range(within..within + 1);
            recording.changed(recording::CHANGED, page, unit, (now, now));
        }
    }

    /// The page map learns which units in frames the program gives up.
    fn record_discard(&mut self, first: u64, units: u32) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        let page_units = u64::from(self.memory.page_units);
        let end = (first + u64::from(units)).min(self.memory.units());
        let now = self.program;
        for page in first / page_units..end.div_ceil(page_units) {
            let start = page * page_units;
            let within = first.saturating_sub(start)..(end - start).min(page_units);
            let resident = self.memory.ledger.resident(page as u32);
            let given_up = resident.and(&PageMask::range(within.start as u32..within.end as u32));
            recording.changed(recording::GIVEN_UP, page as u32, given_up, (now, now));
        }
    }

    fn is_resident(&self, unit: u64) -> bool {
        let page_units = u64::from(self.memory.page_units);
        let resident = self.memory.ledger.resident((unit / page_units) as u32);
        resident.contains((unit % page_units) as u32)
    }

    fn touch(&mut self, unit: u64, is_write: bool) {
        let mut plan = std::mem::take(&mut self.plan);
        if self.memory.fault(unit, &mut plan) == Fault::Planned {
            let faults = match is_write {
                true => &mut self.report.write_faults,
                false => &mut self.report.read_faults,
            };
            *faults += 1;
            let resident = u64::from(self.memory.ledger.resident_units());
            self.report.resident_units_max = self.report.resident_units_max.max(resident);
            self.carry_out(&plan, (unit, is_write));
        } else {
            self.report.avoided_faults += 1;
        }
        self.plan = plan;
    }

    fn carry_out(&mut self, plan: &Plan, needed: (u64, bool)) {
        let mut evict = Picos::ZERO;
        for planned in &plan.evict {
            evict.0 += self.evict(planned.page, planned.units).0;
        }
        let mut fetch = Picos::ZERO;
        for planned in &plan.fetch {
            fetch.0 += self.fetch(planned.page, planned.units, needed).0;
        }
        let machine = self.machine;
        let arrival = Picos(self.program.0 + machine.round_trip.0);
        let start = arrival.max(self.handler);
        let until_fetched = Picos(start.0 + machine.decide.0 + fetch.0);
        self.handler = Picos(until_fetched.0 + evict.0);
        let fetches_first = self.spare.fetches_first(plan);
        // With spare frames the answer comes before the eviction, which then delays the next fault only.
        self.program = match fetches_first {
            true => until_fetched,
            false => self.handler,
        };
        if let Some(recording) = &mut self.recording {
            let until_evicted = Picos(start.0 + evict.0);
            let (came, left) = match fetches_first {
                true => ((start, until_fetched), (until_fetched, self.handler)),
                false => ((until_evicted, self.handler), (start, until_evicted)),
            };
            recording.moved(came, left);
        }
        self.report.service.0 += self.handler.0 - start.0;
    }

    fn evict(&mut self, page: u32, units: PageMask) -> Picos {
        let first = self.memory.first_of(page);
        let mut changed = PageMask::EMPTY;
        for number in units.pages() {
            self.unit_mut(first + u64::from(number), |unit| match unit.change.take() {
                Some(Change::Changed) => {
                    unit.is_stored = true;
                    changed.insert(number);
                }
                // Zeros are made when they are needed again, and take no room in the store.
                Some(Change::Zeroed) => unit.is_stored = false,
                None => {}
            });
        }
        let written = changed.count();
        if let Some(recording) = &mut self.recording {
            let left = &mut recording.left;
            left.push((recording::WRITTEN, page, changed));
            left.push((recording::CLEAN, page, units.without(&changed)));
        }
        let report = &mut self.report;
        report.evicted_pages += 1;
        report.evicted_units += u64::from(units.count());
        report.written_units += u64::from(written);
        report.clean_units += u64::from(units.count() - written);
        self.machine.evict(self.store, units, written)
    }

    fn fetch(&mut self, page: u32, units: PageMask, needed: (u64, bool)) -> Picos {
        let first = self.memory.first_of(page);
        let is_stored = |unit: &u32| {
            let unit = self.units.get((first + u64::from(*unit)) as usize);
            unit.is_some_and(|unit| unit.is_stored)
        };
        let stored: PageMask = units.pages().filter(is_stored).collect();
        if let Some(recording) = &mut self.recording {
            let (unit, is_write) = needed;
            let within = unit.wrapping_sub(first);
            let faulted = match within < u64::from(self.memory.page_units) {
                true => stored.and(&PageMask::range(within as u32..within as u32 + 1)),
                false => PageMask::EMPTY,
            };
            let cause = match is_write {
                true => recording::WRITE,
                false => recording::READ,
            };
            let came = &mut recording.came;
            came.push((cause, page, faulted));
            came.push((recording::ALONG, page, stored.without(&faulted)));
            came.push((recording::ZEROS, page, units.without(&stored)));
        }
        self.report.fetched_units += u64::from(stored.count());
        self.report.zero_units += u64::from(units.count() - stored.count());
        self.machine.fetch(self.store, units, stored)
    }
}

#[cfg(test)]
mod tests;
