use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use pagemill_policy::paging::{Ledger, Move, PagingSpec, PagingSpecError, TraceEvent};
use pagemill_policy::residency::{BLOCK_PAGES, PageMask};

use crate::record::Record;
use crate::recorder::Recorder;
use crate::regions::Region;
use crate::{BLOCK_BYTES, UNIT_BYTES};

/// Units of a block.
const BLOCK_UNITS: u64 = BLOCK_BYTES / UNIT_BYTES as u64;

/// A part of the memory, with its share of the frames. Blocks are dealt to shards in turn.
///
/// Its lock is held while something is decided or noted, never while something moves.
#[derive(Debug)]
pub struct Shard {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
pub struct State {
    pub ledger: Ledger,
    page_units: u32,
    /// By the shard's own block numbers.
    blocks: Vec<Option<(Arc<Region>, u64)>>,
    /// By block, once a unit of it was kept, for each of its pages: a record for each unit, once one of them was kept.
    records: Vec<Option<Box<[PageRecords]>>>,
    /// Threads that wait for a page in transit.
    waiting: u32,
    /// Writes the page trace, where one is wanted.
    recorder: Option<Recorder>,
}

type PageRecords = Option<Box<[Record]>>;

/// Where a unit is accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    pub shard: usize,
    pub page: u32,
    pub unit: u32,
}

/// Units of a page that are to move, and all that moving them takes.
#[derive(Clone, Debug)]
pub struct Job {
    pub region: Arc<Region>,
    pub page: u32,
    /// Where the page starts.
    pub address: u64,
    pub units: PageMask,
    /// Of every unit of the page.
    pub records: Vec<Record>,
}

impl Job {
    /// Bytes that move.
    pub fn bytes(&self) -> u64 {
        u64::from(self.units.count()) * UNIT_BYTES as u64
    }

    /// Where unit `index` of the page starts.
    pub fn address_of(&self, index: u32) -> u64 {
        self.address + u64::from(index) * UNIT_BYTES as u64
    }

    /// Where the page starts in its region.
    pub fn offset(&self) -> u64 {
        self.address - self.region.memory.range().start
    }

    /// Whether the unit at `address` moves.
    pub fn holds(&self, address: u64) -> bool {
        let within = address.checked_sub(self.address);
        within.is_some_and(|within| {
            let unit = within / UNIT_BYTES as u64;
            unit < self.records.len() as u64 && self.units.contains(unit as u32)
        })
    }
}

impl Site {
    pub fn new(unit: u64, shards: usize, page_units: u32) -> Self {
        // Neighboring blocks lie in different shards, so that threads that each work on one seldom meet at a lock; a block never
        // lies in two, so that no policy has to look beyond its shard.
        let (block, within) = (unit / BLOCK_UNITS, (unit % BLOCK_UNITS) as u32);
        let own_block = block / shards as u64;
        let pages = BLOCK_PAGES / page_units;
        Self {
            shard: (block % shards as u64) as usize,
            page: own_block as u32 * pages + within / page_units,
            unit: within % page_units,
        }
    }
}

impl Shard {
    pub fn new(spec: &PagingSpec, recorder: Option<Recorder>) -> Result<Self, PagingSpecError> {
        let state = State {
            ledger: Ledger::new(spec)?,
            page_units: spec.page_units(),
            blocks: Vec::new(),
            records: Vec::new(),
            waiting: 0,
            recorder,
        };
        Ok(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
        })
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until some page has arrived or left.
    pub fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let waited = self.changed.wait(state);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Some page has arrived or left: wakes those who wait. A system call is made only if there are any.
    pub fn notify(&self, state: MutexGuard<'_, State>) {
        // Read under the lock: a thread that waits later sees what has changed, and does not. Woken without it, since the
        // woken thread would run into it.
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.changed.notify_all();
        }
    }
}

impl State {
    /// `own_block` of this shard is block `block` of `region`, of which `units` are memory.
    pub fn enter(&mut self, own_block: u64, region: &Arc<Region>, block: u64, units: u32) {
        let index = own_block as usize;
        if index >= self.blocks.len() {
            self.blocks.resize(index + 1, None);
            self.records.resize(index + 1, None);
        }
        self.blocks[index] = Some((Arc::clone(region), block));
        self.record(|_| TraceEvent::Enter {
            first: own_block * BLOCK_UNITS,
            units,
        });
        self.ledger.enter(index as u32, units);
    }

    /// The place of `page`: its block, and which page of it.
    fn place(&self, page: u32) -> (usize, usize) {
        let pages = BLOCK_PAGES / self.page_units;
        ((page / pages) as usize, (page % pages) as usize)
    }

    /// Adds an event to the page trace, if there is one. `event` gets the units of a page.
    pub fn record(&mut self, event: impl FnOnce(u64) -> TraceEvent) {
        let page_units = u64::from(self.page_units);
        if let Some(recorder) = &mut self.recorder {
            recorder.note(&event(page_units));
        }
    }

    /// Adds a fault to the page trace.
    pub fn record_fault(&mut self, site: &Site, is_write: bool) {
        if let Some(recorder) = &mut self.recorder {
            let first = u64::from(site.page) * u64::from(self.page_units);
            recorder.fault(first + u64::from(site.unit), is_write);
        }
    }

    /// Notes in the page trace, if there is one, that the fault has been answered; returns the time that the trace covers.
    pub fn record_answered(&mut self) -> Option<u64> {
        self.recorder.as_mut().map(Recorder::answered)
    }

    /// Writes the page trace up to here: a fault is about to be answered.
    pub fn write_record(&mut self) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        if let Err(error) = recorder.write() {
            eprintln!("pagemill pager: cannot write the page trace: {error}; it ends here");
            self.recorder = None;
        }
    }

    /// Writes no page trace from now on.
    pub fn end_record(&mut self) {
        self.recorder = None;
    }

    /// Whether none of a block was touched.
    pub fn is_untouched(&self, own_block: u64) -> bool {
        self.ledger.is_untouched(own_block as u32)
    }

    /// Discards all `units` of the block of `page`, if none of it was touched.
    pub fn discard_untouched(&mut self, page: u32, units: u32, is_gone: bool) -> bool {
        let (block, _) = self.place(page);
        let is_untouched = self.ledger.is_untouched(block as u32);
        if is_untouched {
            let first = block as u64 * BLOCK_UNITS;
            self.record(|_| TraceEvent::Discard {
                first,
                units,
                is_gone,
            });
            if is_gone {
                self.ledger.enter(block as u32, 0);
            }
        }
        is_untouched
    }

    /// Forgets a block all of whose units were discarded.
    pub fn leave(&mut self, own_block: u64) {
        self.blocks[own_block as usize] = None;
        self.records[own_block as usize] = None;
        self.ledger.leave(own_block as u32);
    }

    /// What a move of the plan takes, in the place of what `records` held; `None` if the block has no region any more.
    pub fn job(&self, planned: &Move, mut records: Vec<Record>) -> Option<Job> {
        let (own_block, page) = self.place(planned.page);
        let (region, block) = self.blocks[own_block].as_ref()?;
        let within = page as u64 * u64::from(self.page_units) * UNIT_BYTES as u64;
        let known = self.records[own_block].as_ref();
        records.clear();
        match known.and_then(|pages| pages[page].as_ref()) {
            Some(known) => records.extend_from_slice(known),
            None => records.resize(self.page_units as usize, Record::default()),
        }
        Some(Job {
            region: Arc::clone(region),
            page: planned.page,
            address: region.address_of(*block) + within,
            units: planned.units,
            records,
        })
    }

    /// Notes what a job has kept.
    pub fn note(&mut self, page: u32, records: &[Record]) {
        let (block, page) = self.place(page);
        // Memory is bounded by what is kept outside: pages that only ever were in frames cost no record.
        let is_empty = records.iter().all(Record::is_empty);
        if is_empty && self.records[block].is_none() {
            return;
        }
        let none = || vec![None; (BLOCK_PAGES / self.page_units) as usize];
        let pages = self.records[block].get_or_insert_with(|| none().into());
        match &mut pages[page] {
            Some(noted) => noted.copy_from_slice(records),
            None if is_empty => {}
            noted => *noted = Some(records.into()),
        }
    }

    /// The records of `units` of `page`, which are forgotten.
    pub fn take_records(&mut self, page: u32, units: PageMask) -> Vec<Record> {
        let (block, page) = self.place(page);
        let pages = self.records[block].as_mut();
        let Some(noted) = pages.map(|pages| &mut pages[page]) else {
            return Vec::new();
        };
        let Some(records) = noted else {
            return Vec::new();
        };
        let taken = units
            .pages()
            .take_while(|unit| *unit < self.page_units)
            .map(|unit| std::mem::take(&mut records[unit as usize]))
            .collect();
        if records.iter().all(Record::is_empty) {
            *noted = None;
        }
        taken
    }

    /// No slot is written or freed any more.
    pub fn freeze(&mut self) {
        let pages = self.records.iter_mut().flatten();
        let records = pages.flat_map(|pages| pages.iter_mut().flatten());
        records
            .flat_map(|records| records.iter_mut())
            .for_each(Record::freeze);
    }
}
