use std::ops::Range;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pagemill_linux::process::{SignalsHeld, refuse_signals};
use pagemill_linux::userfault::{Answering, FaultWaiter, Paged, Userfault, hold_open};

use crate::BLOCK_BYTES;
use crate::config::Config;
use crate::core::{Core, Fate, PagerError};
use crate::counters::{Count, Counters};
use crate::file::{FileError, FileMode, MappedFile};
use crate::handlers::{Handlers, event};
use crate::in_thread;
use crate::regions::Region;
use crate::starter::Starter;
use crate::store::Store;
use crate::worker::Worker;

/// Gives out memory beyond its frames.
#[derive(Debug)]
pub struct Pager {
    core: Arc<Core>,
    handlers: Mutex<Handlers>,
    /// Where threads answer their own faults.
    answering: Mutex<Option<Answering>>,
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
        let core = Arc::new(Core::new(config, store, counters)?);
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
            let mut worker = Worker::handler(&self.core, &userfault, number)?;
            let waiter = FaultWaiter::new(&userfault, stop.as_fd())?;
            let ready = ready.clone();
            self.start_thread(&number.to_string(), move || {
                let _ = ready.send(());
                worker.run(&waiter, number);
            })?;
        }
        let core = Arc::clone(&self.core);
        self.start_thread("holder", move || {
            refuse_signals();
            let end = core.starter.as_ref().map(Starter::as_fd);
            let has_ended = hold_open(&userfault, stop.as_fd(), end, || {
                let _ = ready.send(());
            });
            if let Some(starter) = core.starter.as_ref().filter(|_| has_ended) {
                starter.end_with_it();
            }
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
        let region = self.map(None, |userfault| Paged::map(userfault, bytes.max(1)))?;
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
        let bytes = file.memory_bytes().max(1);
        let region = self.map(Some(file), |userfault| Paged::map(userfault, bytes))?;
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
        let region = self.map(None, |userfault| Paged::map(userfault, bytes.max(1)))?;
        Ok(region.memory.range().start)
    }

    /// As [`Pager::map_raw`], in the place of memory that is private, without pages and without access.
    ///
    /// # Errors
    /// The kernel refuses. The memory is as it was.
    pub fn map_raw_at(&self, place: Range<u64>) -> Result<(), PagerError> {
        self.map(None, |userfault| Paged::take(userfault, place))?;
        Ok(())
    }

    fn map(
        &self,
        file: Option<MappedFile>,
        map: impl FnOnce(&Userfault) -> pagemill_linux::Result<Paged>,
    ) -> Result<Arc<Region>, PagerError> {
        let _held = SignalsHeld::new();
        let _inside = self.core.gate.enter();
        if self.is_retired() {
            return Err(PagerError::Retired);
        }
        let memory = map(&self.core.userfault())?;
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
        self.core.forget(&range);
    }

    /// Whether children of `fork` are to have `range` of raw memory; answers whether it can be so. It can for whole pieces.
    pub fn set_inherited(&self, range: &Range<u64>, is_inherited: bool) -> bool {
        let _inside = self.core.gate.enter();
        let touched = self.core.regions.touched(range);
        (touched.iter()).all(|(part, region)| region.memory.keep_back(part, !is_inherited))
    }

    /// Where a touch has the kernel take the memory around `range` as one mapping, also once a part of it is plain: outside of `range`,
    /// which may be untouched. None where there was one, or where `range` is all.
    pub fn place_to_join(&self, range: &Range<u64>) -> Option<u64> {
        let _inside = self.core.gate.enter();
        let region = self.core.regions.find(range.start)?;
        let mut pieces = self
            .core
            .regions
            .touched(&region.memory.range())
            .into_iter();
        let (piece, _) = pieces.find(|(piece, _)| piece.contains(&range.start))?;
        if !self.core.is_untouched(&region, &piece) {
            return None;
        }
        let after = (range.end < piece.end).then_some(range.end);
        (piece.start < range.start).then_some(piece.start).or(after)
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
        self.core.can_be_inherited()
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
            core.gate.open_alone();
            return Ok(());
        }
        if core.config.in_thread {
            return Err(PagerError::InThread);
        }
        core.enter_child()?;
        // They are the parent's.
        (self.handlers().threads.drain(..)).for_each(std::mem::forget);
        core.gate.open_alone();
        self.start_workers()?;
        core.leave_places();
        Ok(())
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
