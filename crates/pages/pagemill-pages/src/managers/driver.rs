//! The unified-memory driver as a page manager: faults gather in a buffer, batches of them are served, and the accesses
//! that waited are repeated.

#[cfg(test)]
mod clock_tests;
mod departure;
mod fault_buffer;
mod handler;
mod host_tables;
mod moved;
mod recording;
#[cfg(test)]
mod recording_tests;
pub mod spec;

use std::ops::Range;

use pagemill_policy::residency::{
    Action, BLOCK_PAGES, Call, Driver, DriverSpec, DriverSpecError, PAGE_BYTES, PageAdvice,
    PageMask, Touch,
};
use pagemill_types::Picos;

use super::moves::{MigrationCounts, Moves};
use crate::managers::host_link::HostLink;
use fault_buffer::FaultBuffer;
pub use fault_buffer::Waiter;
pub use handler::HandlerCounts;
use handler::{FaultHandler, HandlerStep};
pub use spec::{DriverCosts, DriverMachine, FaultOrder, FaultSpec};

/// What an access to a page meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is in GPU memory, or arrives there at this time.
    Local(Picos),
    /// It is in CPU memory, and the GPU may use it there.
    Remote,
    /// The access sleeps until the driver has served the page.
    Fault,
    /// No page of an allocation: a read that the machine lets pass, which finds zeros. Nothing would ever come there.
    Beyond,
}

/// Pages under the driver, and the accesses `W` that sleep for them.
#[derive(Debug)]
pub struct DriverPages<W> {
    handler: FaultHandler,
    buffer: FaultBuffer<W>,
    interrupt: Picos,
    /// When the driver goes on; `None` while it sleeps.
    due: Option<Picos>,
    /// When [`DriverPages::release_blocked`] is called by [`DriverPages::advance_and_recheck`].
    recheck: Option<Picos>,
    /// Accesses are being repeated: those that fault anew are served without an interrupt.
    replaying: bool,
    tracks_use: bool,
}

impl<W: Waiter> DriverPages<W> {
    /// An allocation of `allocation_bytes` in CPU memory, from address 0 on.
    ///
    /// # Errors
    /// Sizes that a driver cannot work with.
    pub fn of_allocation(
        machine: &DriverMachine,
        utlbs: u32,
        allocation_bytes: u64,
        gpu_bytes: u64,
    ) -> Result<Self, DriverSpecError> {
        let driver = Driver::new(&DriverSpec {
            allocation_bytes,
            gpu_bytes,
            policy: machine.policy,
        })?;
        Ok(Self::with(machine, utlbs, driver, 0))
    }

    /// No allocation yet; all will be at `base` and beyond.
    pub fn empty(machine: &DriverMachine, utlbs: u32, gpu_bytes: u64, base: u64) -> Self {
        let driver = Driver::empty(gpu_bytes, &machine.policy);
        Self::with(machine, utlbs, driver, base)
    }

    fn with(machine: &DriverMachine, utlbs: u32, driver: Driver, base: u64) -> Self {
        let mut buffer = FaultBuffer::new(utlbs, &machine.faults);
        buffer.grow(driver.blocks());
        Self {
            tracks_use: driver.tracks_use(),
            handler: FaultHandler::new(machine, driver, base),
            buffer,
            interrupt: machine.faults.interrupt_latency,
            due: None,
            recheck: None,
            replaying: false,
        }
    }

    /// An allocation of the bytes at offsets `bytes`, which are untouched.
    pub fn allocate(&mut self, bytes: Range<u64>) {
        self.handler.allocate(bytes);
        self.buffer.grow(self.handler.driver().blocks());
    }

    /// What an access to 4 KiB page `page` would meet.
    #[inline]
    pub fn find(&self, at: Picos, page: u32, writes: bool) -> Found {
        match self.handler.driver().touch_for(page, writes) {
            Touch::Local => Found::Local(self.handler.ready_at(page).max(at)),
            Touch::Remote => Found::Remote,
            Touch::Fault if self.is_allocated(page) => Found::Fault,
            Touch::Fault => Found::Beyond,
        }
    }

    fn is_allocated(&self, page: u32) -> bool {
        let pages = self.handler.driver().extent(page / BLOCK_PAGES);
        pages.contains(page % BLOCK_PAGES)
    }

    /// The GPU uses a page of its memory.
    #[inline]
    pub fn note_use(&mut self, page: u32) {
        if self.tracks_use {
            self.handler.driver_mut().used(page / BLOCK_PAGES);
        }
    }

    /// The GPU makes `accesses` to a page in CPU memory.
    #[inline]
    pub fn note_remote(&mut self, at: Picos, page: u32, accesses: u32) {
        if self.handler.count_remote(page, accesses) {
            self.interrupt(at);
        }
    }

    /// An access faults, and sleeps.
    #[inline]
    pub fn fault(&mut self, at: Picos, waiter: W) {
        self.buffer.fault(waiter);
        self.interrupt(at);
    }

    /// A driver that sleeps is woken.
    fn interrupt(&mut self, at: Picos) {
        // A driver at work sees new entries by itself when it takes its next
        // batch: only one that sleeps is woken, and pays for it.
        if self.due.is_none() && !self.replaying {
            self.due = Some(at + self.interrupt);
        }
    }

    /// Where bytes are from the first page on.
    pub fn offsets(&self, address: u64, bytes: u64) -> Range<u64> {
        let start = address - self.handler.moved.base;
        start..start + bytes
    }

    /// The 4 KiB page of an address.
    pub fn page_of(&self, address: u64) -> u32 {
        ((address - self.handler.moved.base) / PAGE_BYTES) as u32
    }

    /// When [`DriverPages::advance_and_recheck`] is to be called.
    #[inline]
    pub fn due(&self) -> Option<Picos> {
        // The recheck is at the time of the last replay, which nothing else that is due can be before.
        self.recheck.or(self.due)
    }

    /// Goes on at `now` as far as work is due, for a loop that repeats accesses later at the same time: before anything else at that
    /// time, this is due once more.
    pub fn advance_and_recheck(
        &mut self,
        now: Picos,
        host_link: &mut HostLink,
        awake: &mut Vec<W>,
    ) {
        if self.recheck.take().is_some() {
            self.release_blocked(now, awake);
        } else {
            self.advance(now, host_link, awake);
        }
        if !awake.is_empty() {
            self.recheck = Some(now);
        }
    }

    /// Goes on with the driver's work at `now`, the time it was due. Accesses to be repeated at once are added to `awake`;
    /// after them, [`DriverPages::release_blocked`] is to be called.
    fn advance(&mut self, now: Picos, host_link: &mut HostLink, awake: &mut Vec<W>) {
        match self.handler.advance(now, &mut self.buffer, host_link) {
            HandlerStep::Again(at) => self.due = Some(at),
            HandlerStep::Replay => {
                self.due = None;
                self.replay(awake);
                // What is repeated may fault anew at this same time. The driver
                // looks at its buffer after all of them, so that they share a batch.
                self.replaying = !awake.is_empty();
                if !self.replaying {
                    self.go_on_serving(now);
                }
            }
        }
    }

    /// After the repeated accesses: those that found their page may have left room in the buffer that no later replay
    /// would give away. To be called until it adds no more to `awake`.
    fn release_blocked(&mut self, now: Picos, awake: &mut Vec<W>) {
        if self.buffer.waits_for_nothing() {
            self.replay(awake);
        }
        self.replaying = !awake.is_empty();
        if !self.replaying {
            self.go_on_serving(now);
        }
    }

    fn replay(&mut self, awake: &mut Vec<W>) {
        let driver = self.handler.driver();
        // A page that was mapped in place ends the wait as one that moved does: what would not fault again is repeated.
        let is_there = |page, writes| driver.touch_for(page, writes) != Touch::Fault;
        self.buffer.replay(self.handler.served(), is_there, awake);
    }

    /// What is left is served at once, or when its throttle ends.
    fn go_on_serving(&mut self, now: Picos) {
        if self.due.is_some() {
            return;
        }
        let due = match self.handler.has_reports() {
            true => Some(now),
            false => self.buffer.next_due(),
        };
        self.due = due.map(|due| due.max(now));
    }

    /// Carries out a call of the program from `at` on; returns when the driver has ended its work, and when the last copy is
    /// done.
    pub fn call(&mut self, at: Picos, call: &Call, host_link: &mut HostLink) -> (Picos, Picos) {
        self.handler.call(call, at, host_link)
    }

    /// Whether a call of the program changes anything, now or later.
    pub fn heeds(&self, action: Action) -> bool {
        self.handler.driver().heeds(action)
    }

    /// The CPU touches the bytes at offsets `bytes`; returns when all of them are in its memory, and how many moved.
    pub fn host_touch(
        &mut self,
        at: Picos,
        bytes: Range<u64>,
        writes: bool,
        host_link: &mut HostLink,
    ) -> (Picos, u64) {
        self.handler.host_touch(bytes, writes, at, host_link)
    }

    /// The CPU has touched those of the bytes at offsets `bytes` that were untouched.
    pub fn first_touched_by_host(&mut self, bytes: Range<u64>) {
        self.handler.driver_mut().first_touched_by_host(bytes);
    }

    /// Managed pages have `gpu_bytes` of GPU memory from now on.
    pub fn limit(&mut self, at: Picos, gpu_bytes: u64, host_link: &mut HostLink) {
        self.handler.limit(gpu_bytes, at, host_link);
    }

    /// The bytes at offsets `bytes` are freed; nothing moves.
    pub fn free(&mut self, at: Picos, bytes: Range<u64>, host_link: &mut HostLink) {
        self.handler.free(bytes, at, host_link);
    }

    /// The pages of the block of 4 KiB page `page` that only GPU memory has.
    pub fn only_on_gpu(&self, page: u32) -> PageMask {
        let block = page / BLOCK_PAGES;
        match block < self.handler.driver().blocks() {
            true => self.handler.driver().only_on_gpu(block),
            false => PageMask::EMPTY,
        }
    }

    /// The pages of the block of 4 KiB page `page` that both memories have.
    pub fn duplicates(&self, page: u32) -> PageMask {
        let (driver, block) = (self.handler.driver(), page / BLOCK_PAGES);
        match block < driver.blocks() {
            true => driver.resident(block).without(&driver.only_on_gpu(block)),
            false => PageMask::EMPTY,
        }
    }

    /// What the program said about 4 KiB page `page`.
    pub fn advice(&self, page: u32) -> PageAdvice {
        let driver = self.handler.driver();
        driver.page_advice(page / BLOCK_PAGES, page % BLOCK_PAGES)
    }

    /// Bytes in GPU memory.
    pub fn resident_bytes(&self) -> u64 {
        let driver = self.handler.driver();
        let blocks = driver.chunks().oldest_first();
        let pages: u64 = blocks
            .map(|block| u64::from(driver.resident(block).count()))
            .sum();
        pages * PAGE_BYTES
    }

    /// What was counted.
    pub fn counts(&self) -> MigrationCounts {
        let traffic = self.handler.driver().traffic();
        let did = &self.handler.counts;
        MigrationCounts {
            migrations: did.migrations,
            migrated_bytes: traffic.pages_in * PAGE_BYTES,
            returned_bytes: traffic.pages_out * PAGE_BYTES,
            returned_pages: did.host_faults,
            evictions: did.evictions,
            refetched_bytes: did.refetched_bytes,
            populated_bytes: traffic.pages_populated * PAGE_BYTES,
            dropped_bytes: traffic.pages_dropped * PAGE_BYTES,
            faults: self.buffer.faults,
            faulted_pages: did.faulted_pages,
            fault_entries: did.entries,
            batches: did.batches,
            block_services: did.blocks,
            driver_busy: did.busy,
            throttles: did.throttles,
            pins: did.pins,
            counter_migrations: did.counter_migrations,
            host_remote_bytes: did.host_remote_bytes,
            ..MigrationCounts::default()
        }
    }

    /// Entries made in the fault buffer, served or not.
    pub fn entries_made(&self) -> u64 {
        self.buffer.made
    }

    /// What moved since it was last cleared.
    pub fn moves(&mut self) -> &mut Moves {
        &mut self.handler.moved.moves
    }
}
