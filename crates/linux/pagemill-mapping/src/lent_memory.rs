use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::call::{Call, Kind};
use crate::fork_detector::ForkDetector;
use crate::kernel::Answer;
use crate::lock::{Lock, SignalsBlocked};
use crate::own::Own;
use crate::range_table::{Purpose, RangeTable, refusal};
use crate::source::Source;
use crate::{fork, memory_calls::MemoryCalls};

/// Everything of a source that this process has: a `static` of each preload library.
pub struct LentMemory<S: Source> {
    make: fn() -> S,
    lock: Lock,
    table: UnsafeCell<Option<RangeTable<S>>>,
    detector: ForkDetector,
    /// Bounds of what was ever lent: calls on other memory pass without a lock.
    low: AtomicUsize,
    high: AtomicUsize,
    /// Whether nothing is lent any more.
    is_refused: AtomicBool,
}

// SAFETY: the table is used only under the lock.
unsafe impl<S: Source> Sync for LentMemory<S> {}

thread_local! {
    /// Whether this thread holds the lock: what it allocates then is the kernel's and the C library's business.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl<S: Source> LentMemory<S> {
    /// Nothing is lent yet; the source is made when it is asked first.
    pub const fn new(make: fn() -> S) -> Self {
        Self {
            make,
            lock: Lock::new(),
            table: UnsafeCell::new(None),
            detector: ForkDetector::new(),
            low: AtomicUsize::new(usize::MAX),
            high: AtomicUsize::new(0),
            is_refused: AtomicBool::new(false),
        }
    }

    /// Memory for `malloc`, of at least `bytes` zeroes at a multiple of `alignment`, if the source has it.
    pub fn lend_heap(&self, bytes: usize, alignment: usize) -> Option<usize> {
        self.lend_by(|table| table.lend_heap(bytes, alignment))
    }

    /// Length of a block of [`LentMemory::lend_heap`], if one starts at `start`.
    pub fn heap_bytes(&self, start: usize) -> Option<usize> {
        if start == 0 || !start.is_multiple_of(S::GRANULE) || !self.is_near(&(start..start + 1)) {
            return None;
        }
        self.with(|table| table.heap_bytes(start))?
    }

    /// Cuts a block of [`LentMemory::lend_heap`] off behind `bytes`, rounded up to whole granules; returns its new length.
    pub fn shrink_heap(&self, start: usize, bytes: usize) -> Option<usize> {
        self.with(|table| table.shrink_heap(start, bytes))?
    }

    /// Frees a block of [`LentMemory::lend_heap`].
    pub fn free_heap(&self, start: usize) {
        self.with(|table| table.free_heap(start));
    }

    /// Makes all that is lent plain, for good.
    ///
    /// # Errors
    /// There is no memory for it; some of it may be plain.
    pub fn make_all_plain(&self) -> Result<(), i32> {
        let made = self.with(|table| table.make_plain(table.extents()));
        made.unwrap_or(Ok(()))
    }

    /// Lends nothing any more, and makes all that is lent plain.
    ///
    /// # Errors
    /// There is no memory for it; some of it may be plain.
    pub fn refuse(&self) -> Result<(), i32> {
        self.is_refused.store(true, Ordering::SeqCst);
        self.make_all_plain()
    }

    fn lend_by(
        &self,
        lend: impl FnOnce(&mut RangeTable<S>) -> Option<Range<usize>>,
    ) -> Option<usize> {
        if self.is_refused.load(Ordering::SeqCst) {
            return None;
        }
        let lent = self.with(|table| {
            let lent = lend(table)?;
            self.come_near(&lent);
            Some(lent)
        })??;
        Some(lent.start)
    }

    /// From now on, calls on `lent` are looked at.
    fn come_near(&self, lent: &Range<usize>) {
        self.low.fetch_min(lent.start, Ordering::Relaxed);
        self.high.fetch_max(lent.end, Ordering::Relaxed);
    }

    /// Whether `range` may be lent, or was.
    pub fn is_near(&self, range: &Range<usize>) -> bool {
        range.start < self.high.load(Ordering::Relaxed)
            && self.low.load(Ordering::Relaxed) < range.end
    }

    /// Acts on the table, unless this thread does so already.
    fn with<T>(&self, act: impl FnOnce(&mut RangeTable<S>) -> T) -> Option<T> {
        if IS_INSIDE.replace(true) {
            return None;
        }
        // SAFETY: the address of this thread's error number, which system calls in here may change.
        let errno = unsafe { *libc::__errno_location() };
        let _own = Own::calls();
        let signals = SignalsBlocked::new();
        self.take();
        let result = act(self.open());
        self.lock.release();
        drop(signals);
        // SAFETY: this thread's errno is set back to what its caller had.
        unsafe { *libc::__errno_location() = errno };
        IS_INSIDE.set(false);
        Some(result)
    }

    /// Takes the lock. In a child that was forked past this library, no other thread can hold it.
    fn take(&self) {
        if !self.detector.is_wiped() {
            self.lock.take();
            return;
        }
        let was_free = self.lock.take_over();
        // SAFETY: the lock is held, and this is the only thread.
        let table = unsafe { &mut *self.table.get() };
        match table {
            Some(table) if was_free => table.enter_child(),
            // A thread that is not here may have been about to change them.
            _ => std::mem::forget(table.take()),
        }
        self.detector.set();
    }

    #[expect(
        clippy::mut_from_ref,
        reason = "the lock is held: there is no other reference"
    )]
    fn open(&self) -> &mut RangeTable<S> {
        // SAFETY: the caller holds the lock.
        let table = unsafe { &mut *self.table.get() };
        table.get_or_insert_with(|| {
            self.detector.set();
            RangeTable::new((self.make)())
        })
    }

    /// The answer to an `mmap` that the source serves.
    ///
    /// # Safety
    /// As the call itself.
    unsafe fn lend_mapping(&self, call: &Call) -> Option<Answer> {
        let [_, bytes, _, flags, ..] = call.arguments;
        let is_refused = self.is_refused.load(Ordering::SeqCst);
        if call.kind() != Kind::Map || is_refused || !S::serves(call) {
            return None;
        }
        if let Some(place) = call.replaces() {
            self.come_near(&place);
            // SAFETY: the program maps here: where it says a place, it gives up what is there.
            let answer = self.with(|table| unsafe { table.lend_at(call, place) })?;
            return Some(answer.unwrap_or_else(|error| -(refusal(error) as Answer)));
        }
        let purpose = Purpose::of(flags);
        Some(self.lend_by(|table| table.lend(bytes, purpose))? as Answer)
    }
}

impl<S: Source> MemoryCalls for LentMemory<S> {
    unsafe fn answer(&self, call: &Call) -> Answer {
        // SAFETY: the program maps, or this returns none and does nothing.
        if let Some(answer) = unsafe { self.lend_mapping(call) } {
            return answer;
        }
        if call.makes_ring() {
            // SAFETY: the program makes a ring of parameters of its own; nothing is lent from then on.
            return unsafe { call.perform_and(|| self.refuse()) };
        }
        let is_near = match call.kind() {
            Kind::Map => false,
            _ => self.is_near(&call.range()),
        };
        let replaces = call.replaces();
        if !is_near && !replaces.is_some_and(|range| self.is_near(&range)) {
            // SAFETY: nothing lent lies near: the kernel gets what the program gave it.
            return unsafe { call.perform() };
        }
        // SAFETY: the program asks for this on its own memory; the table is locked, so that its ranges stay.
        let answer = self.with(|table| unsafe { table.answer(call) });
        // SAFETY: the thread is in here already, for this library's own memory, which is not lent.
        answer.unwrap_or_else(|| unsafe { call.perform() })
    }

    fn make_plain(&self, range: Range<usize>) -> Result<(), i32> {
        if !self.is_near(&range) {
            return Ok(());
        }
        let made = self.with(|table| table.make_range_plain(&range));
        made.unwrap_or(Ok(())).map_err(refusal)
    }

    fn prepare_fork(&self) -> Result<(), i32> {
        self.with(fork::prepare).unwrap_or(Ok(()))
    }

    fn before_fork(&self) -> Result<(), i32> {
        if IS_INSIDE.replace(true) {
            return Ok(());
        }
        self.take();
        let prepared = fork::make_copies(self.open());
        if prepared.is_err() {
            self.lock.release();
            IS_INSIDE.set(false);
        } else {
            S::hold_heap();
        }
        prepared
    }

    fn after_fork(&self, is_child: bool) {
        if !IS_INSIDE.get() {
            return;
        }
        S::let_go_heap();
        // SAFETY: `before_fork` took the lock, on this thread or on the one that this is a copy of.
        if let Some(table) = unsafe { &mut *self.table.get() } {
            fork::finish(table, is_child);
            self.detector.set();
        }
        self.lock.release();
        IS_INSIDE.set(false);
    }
}
