use std::fmt;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use pagemill_linux::OsError;
use pagemill_linux::process::{SignalsHeld, end_now, refuse_signals};
use pagemill_linux::userfault::{Answering, FaultWaiter, Paged, Userfault, hold_open};
use pagemill_policy::paging::{Move, PagingSpec, TraceEvent};
use pagemill_policy::residency::{BLOCK_PAGES, PageMask};

use crate::beside::Faulting;
use crate::config::{Config, ConfigError, WhenStoreFails};
use crate::counters::{Count, Counters};
use crate::file::{FileError, FileMode, MappedFile};
use crate::gate::Gate;
use crate::handlers::{Handlers, event};
use crate::in_thread;
use crate::probe::own_cpu_ns;
use crate::record::Record;
use crate::recorder::Recorder;
use crate::regions::{Region, Regions};
use crate::shard::{Shard, Site, State};
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

/// Gives out memory beyond its frames.
#[derive(Debug)]
pub struct Pager {
    core: Arc<Core>,
    handlers: Mutex<Handlers>,
    /// Where threads answer their own faults.
    answering: Mutex<Option<Answering>>,
}

/// What all threads of a pager share.
pub struct Core {
    pub gate: Gate,
    pub regions: Regions,
    pub shards: Vec<Shard>,
    pub store: Box<dyn Store>,
    pub counters: Counters,
    pub faulting: Faulting,
    pub verify: bool,
    /// Of the hashes: no program can be made to collide.
    pub seed: u64,
    page_units: u32,
    config: Config,
    userfault: RwLock<Arc<Userfault>>,
    /// Units in frames, by shard.
    resident: Vec<AtomicU32>,
    /// The process that has the memory: a child of `fork` may inherit this value alone.
    process: AtomicU32,
    /// Whether no more memory is paged.
    is_retired: AtomicBool,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// Paged memory of a library's user. It ends when this is dropped; nothing may refer to it any more then.
#[derive(Debug)]
pub struct Allocation {
    core: Arc<Core>,
    region: Arc<Region>,
    is_closed: bool,
}

impl Pager {
    /// Starts the handlers, with no memory yet.
    ///
    /// # Errors
    /// The configuration does not fit together, or this user may not answer page faults.
    pub fn start(
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
        let core = Arc::new(Core {
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
            verify: config.verify,
            seed: seed(),
            page_units: spec.page_units(),
            config: config.clone(),
            userfault: RwLock::new(userfault),
            process: AtomicU32::new(std::process::id()),
            is_retired: AtomicBool::new(false),
        });
        let pager = Self {
            core,
            handlers: Mutex::default(),
            answering: Mutex::default(),
        };
        if config.in_thread {
            pager.answer_in_threads()?;
        } else {
            pager.start_workers()?;
        }
        Ok(pager)
    }

    fn answering(&self) -> std::sync::MutexGuard<'_, Option<Answering>> {
        (self.answering.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_in_threads(&self) -> Result<(), PagerError> {
        let userfault = self.core.userfault();
        let workers = (0..self.core.handlers()).map(|_| Worker::new(&self.core, &userfault));
        let workers = workers.collect::<pagemill_linux::Result<_>>()?;
        let core = Arc::clone(&self.core);
        let owns = move |address| core.regions.find(address).is_some();
        *self.answering() = Some(in_thread::start::<Worker>(workers, owns)?);
        Ok(())
    }

    fn start_workers(&self) -> Result<(), PagerError> {
        let userfault = self.core.userfault();
        let stop = Arc::new(event()?);
        self.handlers().stop = Some(Arc::clone(&stop));
        let (ready, is_ready) = std::sync::mpsc::channel();
        for number in 0..self.core.config.handlers.get() {
            let mut worker = Worker::new(&self.core, &userfault)?;
            let waiter = FaultWaiter::new(&userfault, stop.as_fd())?;
            let ready = ready.clone();
            self.start_thread(&number.to_string(), move || {
                let _ = ready.send(());
                worker.run(&waiter, number);
            })?;
        }
        self.start_thread("holder", move || {
            refuse_signals();
            hold_open(&userfault, stop.as_fd(), || {
                let _ = ready.send(());
            });
        })?;
        // A thread that starts calls the program's allocator, whose memory must not be paged before.
        (is_ready.iter().take(self.core.config.handlers.get() + 1)).for_each(|()| {});
        Ok(())
    }

    fn start_thread(
        &self,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<(), PagerError> {
        let thread = std::thread::Builder::new().name(format!("pagemill-pager-{name}"));
        let thread = thread.spawn(run).map_err(PagerError::Thread)?;
        self.handlers().threads.push(thread);
        Ok(())
    }

    fn handlers(&self) -> MutexGuard<'_, Handlers> {
        (self.handlers.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory of zeros, from a multiple of 2 MiB on.
    ///
    /// # Errors
    /// There is too little address space.
    pub fn allocate(&self, bytes: u64) -> Result<Allocation, PagerError> {
        let region = self.map(bytes, None)?;
        Ok(self.allocation(region))
    }

    /// Memory that has `bytes` bytes of the file at `path` from `offset` on, from [`Allocation::start`] on. Units that changed are
    /// written to the file when they leave their frames, by [`Allocation::flush`], and at the end, where `mode` says so; a process that
    /// is killed leaves each unit of the file old or new. What others write to the file is seen by units that come from it later.
    ///
    /// # Errors
    /// The file cannot be opened, is too short or cannot be made long enough, or there is too little address space.
    pub fn map_file(
        &self,
        path: &Path,
        mode: FileMode,
        offset: u64,
        bytes: u64,
    ) -> Result<Allocation, PagerError> {
        let file = MappedFile::open(path, mode, offset, bytes)?;
        let region = self.map(file.memory_bytes(), Some(file))?;
        Ok(self.allocation(region))
    }

    fn allocation(&self, region: Arc<Region>) -> Allocation {
        Allocation {
            core: Arc::clone(&self.core),
            region,
            is_closed: false,
        }
    }

    /// As [`Pager::allocate`], for memory that is known by its address alone and ends with [`Pager::forget`].
    ///
    /// # Errors
    /// There is too little address space.
    pub fn map_raw(&self, bytes: u64) -> Result<u64, PagerError> {
        Ok(self.map(bytes, None)?.memory.range().start)
    }

    fn map(&self, bytes: u64, file: Option<MappedFile>) -> Result<Arc<Region>, PagerError> {
        let _held = SignalsHeld::new();
        let _inside = self.core.gate.enter();
        if self.is_retired() {
            return Err(PagerError::Retired);
        }
        let memory = Paged::map(&self.core.userfault(), bytes.max(1))?;
        Ok(self.core.enter(memory, file))
    }

    /// The paged memory around `address`, if it is such.
    pub fn range_at(&self, address: u64) -> Option<Range<u64>> {
        let _inside = self.core.gate.enter();
        let region = self.core.regions.find(address)?;
        Some(region.memory.range())
    }

    /// Forgets the bytes of `range` as far as it is paged and of no file: they are zeros at the next touch, as after `MADV_DONTNEED`.
    pub fn discard(&self, range: Range<u64>) {
        let _held = SignalsHeld::new();
        let _inside = self.core.gate.enter();
        for (part, region) in self.core.regions.touched(&range) {
            if region.file.is_none() {
                self.core.discard(&region, part, Fate::Zeros);
            }
        }
    }

    /// Enters that `range` of raw memory was unmapped or replaced.
    pub fn forget(&self, range: Range<u64>) {
        let _held = SignalsHeld::new();
        let _inside = self.core.gate.enter();
        for (part, region) in self.core.regions.touched(&range) {
            self.core.regions.remove(&part);
            region.memory.forget(part.clone());
            self.core.discard(&region, part.clone(), Fate::Gone);
            self.core.note_gone(&region, &part);
        }
    }

    /// Makes `range` of raw memory plain: all its bytes are in frames that count no more, and their faults are the kernel's. Other
    /// threads may use it meanwhile.
    ///
    /// # Errors
    /// The kernel refuses: it has too many mappings.
    pub fn make_plain(&self, range: Range<u64>) -> std::io::Result<()> {
        let _held = SignalsHeld::new();
        let _inside = self.core.gate.enter();
        for (part, region) in self.core.regions.touched(&range) {
            let mut at = part.start;
            while at < part.end {
                let end = part.end.min((at + 1).next_multiple_of(BLOCK_BYTES));
                self.core.bring_in(&region, at..end);
                region.memory.release(&self.core.userfault(), at..end)?;
                at = end;
            }
        }
        Ok(())
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        self.core.update_usage();
        &self.core.counters
    }

    /// Whether a child of `fork` could answer page faults: this process may, and has descriptors left for it.
    pub fn can_be_inherited(&self) -> bool {
        if self.is_retired() || self.core.config.in_thread {
            return true;
        }
        let copies = (0..self.core.handlers() + 2).map(|_| event());
        let copies: Result<Vec<_>, _> = copies.collect();
        copies.is_ok() && open(&self.core.config).is_ok()
    }

    /// From now on, there is no more paged memory to get. What was given out is paged until it is made plain.
    pub fn refuse_memory(&self) {
        self.core.is_retired.store(true, Ordering::SeqCst);
        // A thread that did not see it has its memory.
        self.core.gate.close();
        self.core.gate.open();
    }

    /// Whether [`Pager::refuse_memory`] was called.
    pub fn is_retired(&self) -> bool {
        self.core.is_retired.load(Ordering::SeqCst)
    }

    /// Ends the threads that answer faults. No memory is paged any more.
    pub fn retire(&self) {
        let mut handlers = self.handlers();
        if let Some(stop) = &handlers.stop {
            let _ = rustix::io::write(stop, &1_u64.to_ne_bytes());
        }
        for thread in handlers.threads.drain(..) {
            let _ = thread.join();
        }
    }

    /// Called before `fork`: no thread is inside of the pager until [`Pager::in_parent`] or [`Pager::in_child`].
    pub fn before_fork(&self) {
        self.core.gate.close();
        self.core.inherit(true);
    }

    /// Called after `fork` in the parent. What is kept for both stays as it is.
    pub fn in_parent(&self) {
        self.core.inherit(false);
        self.core.freeze();
        self.core.counters.add(Count::Forks, 1);
        self.core.gate.open();
    }

    /// Called after `fork` in the child, before anything touches paged memory: it gets handlers of its own.
    ///
    /// # Errors
    /// The child can have none: its paged memory is lost.
    pub fn in_child(&self) -> Result<(), PagerError> {
        let core = &self.core;
        if self.is_retired() {
            core.gate.open();
            return Ok(());
        }
        if core.config.in_thread {
            return Err(PagerError::InThread);
        }
        core.faulting.end();
        core.freeze();
        core.shards
            .iter()
            .for_each(|shard| shard.lock().end_record());
        core.store.enter_child()?;
        let userfault = Arc::new(open(&core.config)?);
        core.process.store(std::process::id(), Ordering::Relaxed);
        for region in core.regions.all() {
            if region.file.is_some() {
                region.memory.forget(region.memory.range());
            }
            region.memory.adopt(&userfault)?;
        }
        core.inherit(false);
        *core
            .userfault
            .write()
            .unwrap_or_else(PoisonError::into_inner) = userfault;
        // They are the parent's.
        (self.handlers().threads.drain(..)).for_each(std::mem::forget);
        core.gate.open();
        self.start_workers()
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        drop(self.answering().take());
        self.retire();
    }
}

impl Allocation {
    /// Where its bytes start: behind the start of its addresses, where a file is mapped from within a unit on.
    pub fn start(&self) -> u64 {
        let file = self.region.file.as_ref();
        self.range().start + file.map_or(0, MappedFile::lead_bytes)
    }

    /// Writes units that changed to their file, and returns once they are on the disk; how many were written now. Memory of no file and
    /// private changes have nothing to write.
    ///
    /// # Errors
    /// The file cannot be written, or this is a child of `fork`. What was not written is written by the next call.
    pub fn flush(&self) -> Result<u64, PagerError> {
        let Some(file) = self.region.written_file() else {
            return Ok(0);
        };
        let written = self.core.write_back(&self.region)?;
        file.sync()?;
        Ok(written)
    }

    /// Ends the memory once what changed is in its file.
    ///
    /// # Errors
    /// The file cannot be written: then the memory is still there.
    pub fn close(mut self) -> Result<(), (Self, PagerError)> {
        match self.core.write_back(&self.region) {
            Ok(_) => {
                self.is_closed = true;
                Ok(())
            }
            Err(error) => Err((self, error)),
        }
    }

    /// The addresses.
    pub fn range(&self) -> Range<u64> {
        self.region.memory.range()
    }

    /// The memory.
    pub(crate) fn memory(&self) -> &Paged {
        &self.region.memory
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let is_of_child =
            |error: &PagerError| matches!(error, PagerError::File(FileError::Child { .. }));
        if !self.is_closed
            && let Err(error) = self.core.write_back(&self.region)
            && !is_of_child(&error)
        {
            eprintln!("pagemill pager: {error}; the changes since then are lost");
        }
        let _held = SignalsHeld::new();
        let _inside = self.core.gate.enter();
        self.core.release(&self.region);
    }
}

impl Core {
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

    pub fn update_usage(&self) {
        let usage = self.store.usage();
        self.counters.set(Count::StoredUnits, usage.units);
        self.counters.set(Count::StoredBytes, usage.bytes);
    }

    fn enter(&self, memory: Paged, file: Option<MappedFile>) -> Arc<Region> {
        let region = self.regions.insert(memory, file);
        let range = region.memory.range();
        let bytes = range.end - range.start;
        self.counters.add(Count::MappedBytes, bytes);
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

    /// Forgets the bytes of whole units of `range`, which lies in `region`.
    fn discard(&self, region: &Region, range: Range<u64>, fate: Fate) {
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
    fn bring_in(&self, region: &Region, range: Range<u64>) {
        let unit = UNIT_BYTES as u64;
        let userfault = self.userfault();
        let mut buffer = Box::new(AlignedUnit([0; UNIT_BYTES]));
        let mut at = range.start;
        while at < range.end {
            let site = self.site(region, at);
            let end = range
                .end
                .min(at + u64::from(self.page_units - site.unit) * unit);
            let units = PageMask::range(site.unit..site.unit + ((end - at) / unit) as u32);
            let (state, resident, records) = self.take_out(site, units, Fate::Gone);
            drop(state);
            for (address, record) in (at..end).step_by(UNIT_BYTES).zip(records) {
                let is_away = !resident.contains(self.site(region, address).unit);
                if is_away && record.slot().is_some() {
                    let part = (region, address);
                    crate::worker::fill(self, part, &mut buffer.0, &mut [record], &mut Vec::new());
                    region.memory.place(&userfault, address, &buffer.0);
                }
                if record.own_slot() != NO_SLOT {
                    self.store.free(&[record.own_slot()]);
                }
            }
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
    fn write_back(self: &Arc<Self>, region: &Arc<Region>) -> Result<u64, PagerError> {
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

    fn release(&self, region: &Arc<Region>) {
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

    fn inherit(&self, is_inherited: bool) {
        let of_no_file = |region: &Arc<Region>| region.file.is_none();
        for region in self.regions.all().into_iter().filter(of_no_file) {
            region.memory.set_inherited(is_inherited);
        }
    }

    fn freeze(&self) {
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

/// A unit as direct input and output wants it.
#[repr(align(4096))]
struct AlignedUnit([u8; UNIT_BYTES]);

/// What becomes of units whose bytes are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
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
