//! What the threads of a pager share, and the books of its memory.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use pagemill_linux::OsError;
use pagemill_linux::process::{SignalsHeld, end_now};
use pagemill_linux::userfault::{Paged, Userfault};
use pagemill_policy::paging::{Move, PagingSpec, TraceEvent};
use pagemill_policy::residency::{BLOCK_PAGES, PageMask};

use crate::beside::Faulting;
use crate::config::{Config, ConfigError, WhenStoreFails};
use crate::counters::{Count, Counters};
use crate::file::{FileError, MappedFile};
use crate::gate::Gate;
use crate::handlers::{FramePlaces, event};
use crate::probe::own_cpu_ns;
use crate::record::Record;
use crate::recorder::Recorder;
use crate::regions::{Region, Regions};
use crate::shard::{Shard, Site, State};
use crate::starter::Starter;
use crate::store::{NO_SLOT, Slot, Store, StoreError};
use crate::worker::Worker;
use crate::{BLOCK_BYTES, UNIT_BYTES};

/// How long a failed store is left alone.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no pager, or no memory of it.
#[derive(Debug, thiserror::Error)]
pub enum PagerError {
    /// The configuration does not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Linux refused something.
    #[error(transparent)]
    Os(#[from] OsError),
    /// A thread could not be started.
    #[error("cannot start a thread that answers page faults: {0}")]
    Thread(std::io::Error),
    /// The store is of no use.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be memory, or cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// It gives out no more memory.
    #[error("the pager has ended: a child, a filter or a namespace allowed no paged memory")]
    Retired,
    /// A child has no threads that answer faults in the parent.
    #[error("a child of fork has no paged memory where threads answer their own faults")]
    InThread,
}

/// What all threads of a pager share.
pub struct Core {
    pub gate: Gate,
    pub regions: Regions,
    pub shards: Vec<Shard>,
    pub store: Box<dyn Store>,
    pub counters: Counters,
    pub faulting: Faulting,
    pub frames: FramePlaces,
    /// Children of `fork` watch it, too.
    pub starter: Option<Starter>,
    pub verify: bool,
    /// Of the hashes: no program can be made to collide.
    pub seed: u64,
    page_units: u32,
    pub config: Config,
    userfault: RwLock<Arc<Userfault>>,
    /// Units in frames, by shard.
    resident: Vec<AtomicU32>,
    /// The process that has the memory: a child of `fork` may inherit this value alone.
    process: AtomicU32,
    /// Whether no more memory is paged.
    pub is_retired: AtomicBool,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Core {
    pub fn new(
        config: &Config,
        store: Box<dyn Store>,
        counters: Counters,
    ) -> Result<Self, PagerError> {
        let spec = config.of_shard()?;
        let userfault = Arc::new(open(config)?);
        let mut recorder = recorder(config, &spec)?;
        let shards = (0..config.shards.get())
            .map(|_| Shard::new(&spec, recorder.take()))
            .collect::<Result<Vec<_>, _>>();
        Ok(Self {
            gate: Gate::default(),
            regions: Regions::default(),
            resident: (0..config.shards.get())
                .map(|_| Default::default())
                .collect(),
            // The same values passed the check above.
            shards: shards.unwrap_or_default(),
            store,
            counters,
            faulting: Faulting::default(),
            frames: FramePlaces::default(),
            starter: config.ends_with.clone().and_then(Starter::new),
            verify: config.verify,
            seed: seed(),
            page_units: spec.page_units(),
            config: config.clone(),
            userfault: RwLock::new(userfault),
            process: AtomicU32::new(std::process::id()),
            is_retired: AtomicBool::new(false),
        })
    }

    /// In a child of `fork`: all that has to be its own. What it does not have keeps its place until [`Core::leave_places`].
    pub fn enter_child(&self) -> Result<(), PagerError> {
        self.faulting.end();
        self.freeze();
        self.shards
            .iter()
            .for_each(|shard| shard.lock().end_record());
        self.store.enter_child()?;
        let userfault = Arc::new(open(&self.config)?);
        self.process.store(std::process::id(), Ordering::Relaxed);
        for region in self.regions.all() {
            match region.is_inherited() {
                true => region.memory.adopt(&userfault)?,
                false => region.memory.hold_place(),
            }
        }
        self.inherit(false);
        *self
            .userfault
            .write()
            .unwrap_or_else(PoisonError::into_inner) = userfault;
        Ok(())
    }

    /// Nothing is any more where a child has no memory: the pager's own threads and frames are elsewhere now.
    pub fn leave_places(&self) {
        let all = self.regions.all().into_iter();
        for region in all.filter(|region| !region.is_inherited()) {
            self.release(&region);
        }
    }

    /// Whether there is room for the descriptors of another process, and the right to have them.
    pub fn can_be_inherited(&self) -> bool {
        let copies = (0..self.handlers() + 2).map(|_| event());
        let copies: Result<Vec<_>, _> = copies.collect();
        copies.is_ok() && open(&self.config).is_ok()
    }

    pub fn userfault(&self) -> Arc<Userfault> {
        let userfault = self
            .userfault
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&userfault)
    }

    pub fn site(&self, region: &Region, address: u64) -> Site {
        Site::new(region.unit_at(address), self.shards.len(), self.page_units)
    }

    /// Faults that are answered at a time.
    pub fn handlers(&self) -> usize {
        self.config.handlers.get()
    }

    /// Whether a page trace is written: then nothing of a fault is left to do once it is answered.
    pub fn is_recording(&self) -> bool {
        self.config.record.is_some()
    }

    pub fn note_resident(&self, shard: usize, units: u32) {
        self.resident[shard].store(units, Ordering::Relaxed);
        let all: u64 = (self.resident.iter())
            .map(|units| u64::from(units.load(Ordering::Relaxed)))
            .sum();
        self.counters.set(Count::ResidentUnits, all);
        self.counters.raise(Count::ResidentUnitsMax, all);
    }

    /// Called from outside of the gate: a store may lock what a child of `fork` must find open.
    pub fn update_usage(&self) {
        let _inside = self.gate.enter();
        let usage = self.store.usage();
        self.counters.set(Count::StoredUnits, usage.units);
        self.counters.set(Count::StoredBytes, usage.bytes);
        self.counters.raise(Count::StoredBytesMax, usage.bytes);
    }

    pub fn enter(&self, memory: Paged, file: Option<MappedFile>) -> Arc<Region> {
        let region = self.regions.insert(memory, file);
        let range = region.memory.range();
        let bytes = range.end - range.start;
        self.counters.add(Count::MappedBytes, bytes);
        let mapped = self.counters.get(Count::MappedBytes);
        self.counters.raise(Count::MappedBytesMax, mapped);
        let shards = self.shards.len() as u64;
        for block in region.blocks() {
            let before = (block - region.first_block) * BLOCK_BYTES;
            let units = ((bytes - before) / UNIT_BYTES as u64).min(u64::from(BLOCK_PAGES));
            let shard = &self.shards[(block % shards) as usize];
            let mut state = shard.lock();
            state.enter(block / shards, &region, block, units as u32);
        }
        region
    }

    /// Whether no block of `piece`, a part of `region`, was touched.
    pub fn is_untouched(&self, region: &Region, piece: &Range<u64>) -> bool {
        let shards = self.shards.len() as u64;
        let block_at =
            |address| region.first_block + (address - region.memory.range().start) / BLOCK_BYTES;
        (block_at(piece.start)..=block_at(piece.end - 1)).all(|block| {
            let shard = &self.shards[(block % shards) as usize];
            shard.lock().is_untouched(block / shards)
        })
    }

    /// Forgets the bytes of whole units of `range`, which lies in `region`.
    pub fn discard(&self, region: &Region, range: Range<u64>, fate: Fate) {
        let unit = UNIT_BYTES as u64;
        let mut at = range.start.next_multiple_of(unit);
        let end = range.end / unit * unit;
        while at < end {
            let site = self.site(region, at);
            let block = region.block_around(at);
            if block.start == at && block.end <= end {
                let units = ((block.end - at) / unit) as u32;
                let mut state = self.shards[site.shard].lock();
                if state.discard_untouched(site.page, units, fate == Fate::Gone) {
                    at = block.end;
                    continue;
                }
            }
            let within = u64::from(self.page_units - site.unit) * unit;
            let stop = end.min(at + within);
            let units = site.unit..site.unit + ((stop - at) / unit) as u32;
            self.discard_units(region, site, PageMask::range(units), at..stop, fate);
            at = stop;
        }
    }

    fn discard_units(
        &self,
        region: &Region,
        site: Site,
        units: PageMask,
        range: Range<u64>,
        fate: Fate,
    ) {
        let (state, resident, records) = self.take_out(site, units, fate);
        // What is there now of units that are gone is another's.
        if fate == Fate::Zeros && !resident.is_empty() {
            region.memory.drop_pages(range);
        }
        drop(state);
        let slots: Vec<Slot> = (records.iter().map(Record::own_slot))
            .filter(|slot| *slot != NO_SLOT)
            .collect();
        self.store.free(&slots);
    }

    /// Fetches all units of `range`, which lies in a block, for good: they are never evicted. Those of zeros stay away.
    pub fn bring_in(&self, region: &Region, range: Range<u64>) {
        let unit = UNIT_BYTES as u64;
        let userfault = self.userfault();
        let mut buffer = vec![0; (self.page_units as usize + 1) * UNIT_BYTES];
        // As direct input and output wants it.
        let aligned = buffer.as_ptr().align_offset(UNIT_BYTES);
        let mut slots = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let site = self.site(region, at);
            let end = range
                .end
                .min(at + u64::from(self.page_units - site.unit) * unit);
            let units = PageMask::range(site.unit..site.unit + ((end - at) / unit) as u32);
            let (state, resident, mut records) = self.take_out(site, units, Fate::Gone);
            drop(state);
            let is_kept = |index: usize, record: &Record| {
                !resident.contains(site.unit + index as u32) && record.slot().is_some()
            };
            let mut done = 0;
            while done < records.len() {
                let rest = records[done..].iter().enumerate();
                let kept = rest.take_while(|(index, record)| is_kept(done + index, record));
                let count = kept.count();
                let address = at + done as u64 * unit;
                let bytes = &mut buffer[aligned..aligned + count * UNIT_BYTES];
                let kept = &mut records[done..done + count];
                crate::worker::fill(self, (region, address), bytes, kept, &mut slots);
                let (filled, _) = bytes.as_chunks::<UNIT_BYTES>();
                for (address, unit) in (address..).step_by(UNIT_BYTES).zip(filled) {
                    region.memory.place(&userfault, address, unit);
                }
                done += count.max(1);
            }
            let own = records.iter().map(Record::own_slot);
            let own: Vec<Slot> = own.filter(|slot| *slot != NO_SLOT).collect();
            self.store.free(&own);
            userfault.wake(at..end);
            at = end;
        }
    }

    /// Takes units out of the books, which stay locked; returns which were in frames, and what was kept of them.
    fn take_out(
        &self,
        site: Site,
        units: PageMask,
        fate: Fate,
    ) -> (MutexGuard<'_, State>, PageMask, Vec<Record>) {
        let shard = &self.shards[site.shard];
        let mut state = shard.lock();
        while state.ledger.is_in_transit(site.page) {
            state = shard.wait(state);
        }
        let resident = state.ledger.discard(site.page, units);
        state.record(|page_units| TraceEvent::Discard {
            first: u64::from(site.page) * page_units + u64::from(site.unit),
            units: units.count(),
            is_gone: fate == Fate::Gone,
        });
        let records = state.take_records(site.page, units);
        if fate == Fate::Gone {
            state.ledger.set_absent(site.page, units);
        }
        (state, resident, records)
    }

    /// Writes what has changed to the region's file, page by page; returns how many units.
    pub fn write_back(self: &Arc<Self>, region: &Arc<Region>) -> Result<u64, PagerError> {
        let file = region.written_file();
        let Some(file) = file.filter(|_| region.memory.is_mapped()) else {
            return Ok(0);
        };
        if self.process.load(Ordering::Relaxed) != std::process::id() {
            return Err(file.of_parent().into());
        }
        let _held = SignalsHeld::new();
        let _inside = self.gate.enter();
        let mut worker = Worker::new(self, &self.userfault())?;
        let page_bytes = self.page_units as usize * UNIT_BYTES;
        let mut written = 0;
        for address in region.memory.range().step_by(page_bytes) {
            written += self.flush_page(&mut worker, self.site(region, address))?;
        }
        Ok(written)
    }

    fn flush_page(&self, worker: &mut Worker, site: Site) -> Result<u64, PagerError> {
        let (shard, page) = (&self.shards[site.shard], site.page);
        let mut state = shard.lock();
        while state.ledger.is_in_transit(page) {
            state = shard.wait(state);
        }
        let units = state.ledger.resident(page);
        let job = state.job(&Move { page, units }, Vec::new());
        let Some(mut job) = job.filter(|_| !units.is_empty()) else {
            return Ok(0);
        };
        state.ledger.hold(page);
        drop(state);
        let (here, written) = worker.flush(&mut job);
        let mut state = shard.lock();
        state.note(page, &job.records);
        state.ledger.put_back(page, here);
        shard.notify(state);
        Ok(u64::from(written?))
    }

    /// Nothing of `range` is the pager's any more.
    pub fn forget(&self, range: &Range<u64>) {
        for (part, region) in self.regions.touched(range) {
            self.regions.remove(&part);
            region.memory.forget(part.clone());
            self.discard(&region, part.clone(), Fate::Gone);
            self.note_gone(&region, &part);
        }
    }

    pub fn release(&self, region: &Arc<Region>) {
        // A child of `fork` may have other memory there.
        if !region.memory.is_mapped() {
            return;
        }
        let range = region.memory.range();
        self.regions.remove(&range);
        self.discard(region, range.clone(), Fate::Gone);
        region.memory.unmap();
        self.note_gone(region, &range);
    }

    /// Part of a region has ended; with its last part, its blocks do.
    fn note_gone(&self, region: &Region, part: &Range<u64>) {
        self.counters
            .subtract(Count::MappedBytes, part.end - part.start);
        if region.memory.is_mapped() {
            return;
        }
        let shards = self.shards.len() as u64;
        for block in region.blocks() {
            self.shards[(block % shards) as usize]
                .lock()
                .leave(block / shards);
        }
        self.regions.recycle(region.blocks());
    }

    pub fn inherit(&self, is_inherited: bool) {
        let all = self.regions.all().into_iter();
        for region in all.filter(|region| region.is_inherited()) {
            region.memory.set_inherited(is_inherited);
        }
    }

    pub fn freeze(&self) {
        if !self.store.is_copied_by_fork() {
            self.shards.iter().for_each(|shard| shard.lock().freeze());
        }
    }

    /// Tries until it works, or ends the program: which of the two was chosen with the configuration.
    pub fn until_it_works<E: fmt::Display>(&self, mut attempt: impl FnMut() -> Result<(), E>) {
        let mut was_told = false;
        while let Err(error) = attempt() {
            self.counters.add(Count::StoreFailures, 1);
            // Others may need no store.
            self.faulting.end();
            match self.config.when_store_fails {
                WhenStoreFails::Stop => stop(&error),
                WhenStoreFails::Wait if !was_told => {
                    was_told = true;
                    eprintln!("pagemill pager: {error}; the program waits");
                }
                WhenStoreFails::Wait => {}
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The store returned other bytes than it was given.
    pub fn damaged(&self, slot: Slot) -> ! {
        let store = self.store.name();
        stop(&StoreError::Damaged { store, slot })
    }
}

/// What becomes of units whose bytes are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// They are zeros at the next touch.
    Zeros,
    /// They are no memory of the pager any more.
    Gone,
}

/// The recorder of the page trace, if there is to be one. Measures what a fault costs the thread that faults: some 10 ms.
fn recorder(config: &Config, spec: &PagingSpec) -> Result<Option<Recorder>, PagerError> {
    let Some(path) = &config.record else {
        return Ok(None);
    };
    Ok(Some(Recorder::new(path, spec, own_cpu_ns()?)))
}

fn open(config: &Config) -> pagemill_linux::Result<Userfault> {
    match config.in_thread {
        true => Userfault::open_for_signals(),
        false => Userfault::open(config.system_calls),
    }
}

fn stop(error: &dyn fmt::Display) -> ! {
    end_now(
        &format!(
            "pagemill pager: {error}; the program was stopped, because its memory would be wrong"
        ),
        1,
    )
}

/// A number that no program can know beforehand.
fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}
