//! The driver at work: batches of faults and of counter reports, what each costs, and when its pages are there.

use std::collections::VecDeque;

use pagemill_policy::residency::{
    BLOCK_BYTES, BLOCK_PAGES, Call, Driver, Effects, PAGE_BYTES, PageMask,
};
use pagemill_types::Picos;

use super::departure::{Departure, send_back};
use super::fault_buffer::{Fault, FaultBuffer, Waiter};
use super::host_tables::{populating, use_gpu_memory};
use super::moved::{Moved, NO_BLOCK};
use super::recording::{self, page_number};
use super::spec::{Copies, DriverCosts, DriverMachine};
use crate::managers::events;
use crate::managers::host_link::HostLink;
use crate::managers::ledger::Ledger;
use crate::parts::link::Direction;
use crate::timeline::{TimelineEvent, TimelineKind};

/// What the driver did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandlerCounts {
    /// Batches served.
    pub batches: u64,
    /// Blocks served, over all batches.
    pub blocks: u64,
    /// Entries taken, duplicates included.
    pub entries: u64,
    /// Pages that they named, each once for each service of its block.
    pub faulted_pages: u64,
    /// Faults put off because their page thrashes.
    pub throttles: u64,
    /// Pages pinned in CPU memory because they thrash.
    pub pins: u64,
    /// Blocks moved because access counters reported them.
    pub counter_migrations: u64,
    /// Copies to GPU memory.
    pub migrations: u64,
    /// Blocks moved out of GPU memory to make room.
    pub evictions: u64,
    /// Blocks that the CPU touched and that came back for it.
    pub host_faults: u64,
    /// Bytes copied to GPU memory that had been there before.
    pub refetched_bytes: u64,
    /// Bytes of GPU memory that the CPU used where they are.
    pub host_remote_bytes: u64,
    /// Time at work.
    pub busy: Picos,
}

/// When the driver is to be asked again, or what it ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandlerStep {
    /// It works on until then.
    Again(Picos),
    /// A batch ends now: sleeping accesses are repeated.
    Replay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Fetch,
    Blocks,
    Replay,
}

/// The batch at hand.
#[derive(Clone, Debug, Default)]
struct Batch {
    faults: Vec<Fault>,
    /// The first of `faults` that is not served yet.
    next: usize,
    entries: u64,
    /// Counter reports still to be served.
    reports: usize,
    /// Blocks that come ahead of faults, the next one last.
    ahead: Vec<u32>,
    /// The blocks served so far.
    served: Vec<u32>,
    /// The block whose effects wait for their copy.
    arriving: Option<u32>,
    /// Why it arrives, and its faulted pages.
    needed: (u8, PageMask),
    start: Picos,
    copied: Picos,
}

/// The driver and its clock.
#[derive(Debug)]
pub(super) struct FaultHandler {
    driver: Driver,
    costs: DriverCosts,
    host_page_pages: u64,
    batch_entries: u32,
    /// What the first batch costs beside others, until it was served.
    first_batch: Picos,
    effects: Effects,
    phase: Phase,
    batch: Batch,
    /// Blocks that access counters have reported.
    reports: VecDeque<u32>,
    /// When what was last brought to each block has arrived.
    ready_at: Vec<Picos>,
    pub(super) counts: HandlerCounts,
    pub(super) moved: Moved,
}

impl FaultHandler {
    /// At work for `driver`, whose first page is at address `base`.
    pub(super) fn new(machine: &DriverMachine, driver: Driver, base: u64) -> Self {
        Self {
            ready_at: vec![Picos::ZERO; driver.blocks() as usize],
            driver,
            costs: machine.costs,
            host_page_pages: u64::from(machine.policy.host_page.pages()),
            batch_entries: machine.faults.batch_entries,
            first_batch: machine.costs.first_batch,
            effects: Effects::default(),
            phase: Phase::Fetch,
            batch: Batch::default(),
            reports: VecDeque::new(),
            counts: HandlerCounts::default(),
            moved: Moved::new(base),
        }
    }

    /// An allocation of the bytes from offset `bytes.start`, which are untouched.
    pub(super) fn allocate(&mut self, bytes: std::ops::Range<u64>) {
        self.driver.allocate(bytes);
        let blocks = self.driver.blocks() as usize;
        self.ready_at.resize(blocks, Picos::ZERO);
    }

    pub(super) fn driver_mut(&mut self) -> &mut Driver {
        &mut self.driver
    }

    pub(super) fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The blocks of the batch at hand: only their pages can have come.
    pub(super) fn served(&self) -> &[u32] {
        &self.batch.served
    }

    /// When what was last brought to the block of `page` has arrived.
    #[inline]
    pub(super) fn ready_at(&self, page: u32) -> Picos {
        self.ready_at[(page / BLOCK_PAGES) as usize]
    }

    /// Counts `accesses` of the GPU to `page` in CPU memory; true if the driver has to look at it.
    #[inline]
    pub(super) fn count_remote(&mut self, page: u32, accesses: u32) -> bool {
        let (block, page) = (page / BLOCK_PAGES, page % BLOCK_PAGES);
        let reported = self.driver.count_remote(block, page, accesses);
        if reported {
            self.reports.push_back(block);
        }
        reported
    }

    /// Whether the driver has something to do, faults aside.
    pub(super) fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Carries out a call of the program from `at` on; returns when the driver has ended its work, and when the last copy is
    /// done.
    pub(super) fn call(
        &mut self,
        call: &Call,
        at: Picos,
        host_link: &mut HostLink,
    ) -> (Picos, Picos) {
        self.bring(at, host_link);
        let (costs, host_page_pages, base) = (self.costs, self.host_page_pages, self.moved.base);
        let Self {
            driver,
            effects,
            moved,
            ready_at,
            counts,
            ..
        } = self;
        let (mut now, mut done) = (at, at);
        // Block after block as in a batch: the copy of one is on the link while the driver works on the next.
        driver.call(call, effects, |block, effects| {
            counts.refetched_bytes += moved.apply(effects, block, &mut host_link.ledger);
            let left = Departure {
                base,
                block,
                batch: 0,
            };
            let (sent, copied) = send_back(effects, &costs, now, left, host_link);
            let start = now;
            let copies = Copies::of(&effects.copied());
            now = sent + processing(effects, copies, &costs, host_page_pages);
            done = done.max(now).max(copied);
            recording::decided(&mut host_link.timeline, effects, left.moment(start, now));
            let bytes = effects.copied_bytes();
            if bytes > 0 {
                let setup = costs.setup(copies);
                let arrived = host_link
                    .link
                    .copy(now, Direction::ToGpu, bytes, setup)
                    .done;
                let needed = (events::PREFETCH, &PageMask::EMPTY);
                let when = left.moment(now, arrived);
                recording::arrived(
                    &mut host_link.timeline,
                    effects,
                    needed,
                    moved.departed(block),
                    when,
                );
                ready_at[block as usize] = arrived;
                counts.migrations += copies.count();
                done = done.max(arrived);
            }
        });
        (now, done)
    }

    /// The CPU touches the bytes at offsets `bytes`; returns when all of them are in its memory, and how many moved.
    pub(super) fn host_touch(
        &mut self,
        bytes: std::ops::Range<u64>,
        writes: bool,
        at: Picos,
        host_link: &mut HostLink,
    ) -> (Picos, u64) {
        self.bring(at, host_link);
        let (costs, base) = (self.costs, self.moved.base);
        let Self {
            driver,
            effects,
            moved,
            ready_at,
            counts,
            ..
        } = self;
        let (mut now, mut moved_bytes) = (at, 0);
        driver.host_touch(bytes.clone(), writes, effects, |block, effects| {
            // The CPU may touch a page whose copy to the GPU is still on the link: it waits for that first.
            let landed = now.max(ready_at[block as usize]);
            if !effects.in_place.is_empty() {
                let used =
                    use_gpu_memory(landed, block, &effects.in_place, &bytes, writes, host_link);
                now = used.0;
                moved_bytes += used.1;
                counts.host_remote_bytes += used.1;
                moved.used_in_place(block, used.1, &mut host_link.ledger);
                return;
            }
            let left = effects.evictions.iter();
            let pages = left.map(|left| left.copied.count()).sum::<u32>();
            let bytes = u64::from(pages + effects.duplicated.count()) * PAGE_BYTES;
            moved.apply(effects, block, &mut host_link.ledger);
            if effects.evictions.is_empty() && bytes == 0 {
                return;
            }
            // The CPU waits for each of its faults, and for their copies.
            now += costs.host_faults(pages + effects.duplicated.count());
            counts.host_faults += 1;
            let start = now;
            if bytes > 0 {
                let landed = now.max(ready_at[block as usize]);
                let copy = host_link
                    .link
                    .transfer_from(now, landed, Direction::ToCpu, bytes);
                now = copy.done;
                moved_bytes += bytes;
            }
            let when = Departure::to_host(base, block).moment(start, now);
            let timeline = &mut host_link.timeline;
            for left in &effects.evictions {
                let pages = left.copied.or(&left.dropped);
                recording::changed(timeline, events::HOST_TOUCH, &pages, when);
            }
            let copies = &effects.duplicated;
            recording::changed(timeline, events::DUPLICATED, copies, when);
        });
        (now, moved_bytes)
    }

    /// Blocks that do not fit `gpu_bytes` leave.
    pub(super) fn limit(&mut self, gpu_bytes: u64, at: Picos, host_link: &mut HostLink) {
        self.bring(at, host_link);
        let mut now = at;
        while self.driver.shrink(gpu_bytes, &mut self.effects) {
            let ledger = &mut host_link.ledger;
            self.moved.apply(&self.effects, NO_BLOCK, ledger);
            self.counts.evictions += 1;
            let left = Departure::to_host(self.moved.base, NO_BLOCK);
            (now, _) = send_back(&self.effects, &self.costs, now, left, host_link);
        }
    }

    /// The bytes at offsets `bytes` are freed.
    pub(super) fn free(
        &mut self,
        bytes: std::ops::Range<u64>,
        at: Picos,
        host_link: &mut HostLink,
    ) {
        self.bring(at, host_link);
        let base = self.moved.base;
        self.driver.free_each(bytes.clone(), |block, freed| {
            let when = Departure::to_host(base, block).moment(at, at);
            recording::changed(&mut host_link.timeline, events::FREED, freed, when);
        });
        let moves = &mut self.moved.moves;
        moves.left(base + bytes.start..base + bytes.end);
    }

    /// Goes on with the driver's work at `now`; to be asked again at the time it answers.
    pub(super) fn advance<W: Waiter>(
        &mut self,
        now: Picos,
        buffer: &mut FaultBuffer<W>,
        host_link: &mut HostLink,
    ) -> HandlerStep {
        // The driver is one thread, which works through a batch as the bottom half of NVIDIA's UVM does (Allen and Ge, SC 2021). Costs of
        // its steps: ADR 0032. What its copies take is the link's time, and runs beside the next block:
        //
        //   driver  |fetch, entries|evict|block A|evict|block B|  waits  |replay|
        //   link                    <-out-|       |---- A ---->|-- B --->|
        //   GPU     (accesses of the batch sleep)                               repeated
        //
        // So a batch costs the longer of the two rows, and its replay is never before its last copy.
        match self.phase {
            Phase::Fetch => {
                self.fetch(now, buffer, host_link);
                // Entries count, not pages: a page that several SMs faulted on has an entry of each, and the driver reads them all.
                let entries = Picos(self.costs.entry.0 * self.batch.entries);
                let first = std::mem::take(&mut self.first_batch);
                HandlerStep::Again(now + first + self.costs.batch + entries)
            }
            Phase::Blocks => {
                self.bring(now, host_link);
                match self.next_block(now, buffer, host_link) {
                    Some(at) => HandlerStep::Again(at),
                    None => {
                        self.phase = Phase::Replay;
                        HandlerStep::Again(now.max(self.batch.copied) + self.costs.replay)
                    }
                }
            }
            Phase::Replay => {
                self.counts.busy += now - self.batch.start;
                host_link.timeline.record(|| TimelineEvent {
                    kind: TimelineKind::FaultBatch,
                    start: self.batch.start,
                    end: now,
                    bytes: 0,
                });
                self.phase = Phase::Fetch;
                HandlerStep::Replay
            }
        }
    }

    /// Takes a batch of faults and of reports, sorted by block.
    fn fetch<W: Waiter>(
        &mut self,
        now: Picos,
        buffer: &mut FaultBuffer<W>,
        host_link: &mut HostLink,
    ) {
        let base = self.moved.base;
        self.driver.release_each(now, |block, page| {
            let when = Departure::to_host(base, block).moment(now, now);
            let page = PageMask::range(page..page + 1);
            recording::changed(&mut host_link.timeline, events::UNPINNED, &page, when);
        });
        let faults = &mut self.batch.faults;
        buffer.fetch(now, self.batch_entries, faults);
        // By block, so that a block is locked, decided and copied once for a batch however its faults are interleaved.
        faults.sort_unstable_by_key(Fault::order);
        self.batch.entries = faults.len() as u64;
        self.batch.next = 0;
        self.batch.reports = self.reports.len().min(self.batch_entries as usize);
        self.batch.start = now;
        self.batch.copied = now;
        self.batch.arriving = None;
        self.batch.served.clear();
        self.counts.batches += 1;
        self.counts.entries += self.batch.entries;
        self.phase = Phase::Blocks;
    }

    /// Decides the next block of the batch and starts its evictions; answers when its pages can be copied.
    fn next_block<W: Waiter>(
        &mut self,
        now: Picos,
        buffer: &mut FaultBuffer<W>,
        host_link: &mut HostLink,
    ) -> Option<Picos> {
        let rest = &self.batch.faults[self.batch.next..];
        let mut faults = 0;
        // Faults first, then what the policy wants ahead of faults, then reports of access counters: the GPU sleeps for the first only.
        let block = if let Some(first) = rest.first() {
            let block = first.page / BLOCK_PAGES;
            let group = rest
                .iter()
                .take_while(|fault| fault.page / BLOCK_PAGES == block);
            let in_block = |fault: &Fault| fault.page % BLOCK_PAGES;
            let faulted: PageMask = group.clone().map(in_block).collect();
            let written = group.clone().filter(|fault| fault.writes);
            let written: PageMask = written.map(in_block).collect();
            let entries = group.clone().count();
            faults = faulted.count();
            note_faults(group.clone(), &mut host_link.ledger);
            self.batch.next += entries;
            self.driver
                .service_for(block, &faulted, &written, now, &mut self.effects);
            self.note(block, buffer);
            self.batch.needed = (events::FAULT, faulted);
            // Only what moved says that its neighbors will be wanted: a page mapped or pinned in CPU memory says the opposite.
            if !self.effects.fetched.is_empty() {
                self.driver.ahead(block, &mut self.batch.ahead);
            }
            block
        } else if let Some(block) = self.take_ahead() {
            host_link.ledger.set_origin(u32::MAX);
            self.driver.service_ahead(block, now, &mut self.effects);
            self.batch.needed = (events::FAULT, PageMask::EMPTY);
            block
        } else {
            self.batch.reports = self.batch.reports.checked_sub(1)?;
            let block = self.reports.pop_front()?;
            host_link.ledger.set_origin(u32::MAX);
            self.driver.service_counter(block, now, &mut self.effects);
            self.counts.counter_migrations += u64::from(!self.effects.fetched.is_empty());
            self.batch.needed = (events::COUNTER, PageMask::EMPTY);
            block
        };
        self.counts.blocks += 1;
        self.account(block, faults, host_link);
        self.batch.arriving = Some(block);
        self.batch.served.push(block);
        let left = self.departure(block);
        let (sent, copied) = send_back(&self.effects, &self.costs, now, left, host_link);
        self.batch.copied = self.batch.copied.max(copied);
        self.counts.evictions += self.effects.evictions.len() as u64;
        let copies = self.copies();
        let at = sent + processing(&self.effects, copies, &self.costs, self.host_page_pages);
        recording::decided(&mut host_link.timeline, &self.effects, left.moment(now, at));
        let bytes = self.effects.copied_bytes();
        if bytes > 0 {
            // Accesses of other warps may ask for the block before `bring` books its copy.
            // Until the copy begins, the earliest it can end at.
            self.ready_at[block as usize] =
                at + self.costs.setup(copies) + host_link.link.least_time(Direction::ToGpu, bytes);
        }
        Some(at)
    }

    /// Starts the copy of what the last block decided. Before any other decision: a kernel may end while the driver serves
    /// a report of access counters.
    fn bring(&mut self, now: Picos, host_link: &mut HostLink) {
        let Some(block) = self.batch.arriving.take() else {
            return;
        };
        let bytes = self.effects.copied_bytes();
        if bytes > 0 {
            let copies = self.copies();
            let setup = self.costs.setup(copies);
            let arrived = host_link
                .link
                .copy(now, Direction::ToGpu, bytes, setup)
                .done;
            self.counts.migrations += copies.count();
            self.ready_at[block as usize] = arrived;
            host_link.timeline.record(|| TimelineEvent {
                kind: TimelineKind::Migration {
                    page: page_number(self.moved.base, block),
                    partition: 0,
                },
                start: now,
                end: arrived,
                bytes,
            });
            let (cause, faulted) = &self.batch.needed;
            let when = self.departure(block).moment(now, arrived);
            let needed = (*cause, faulted);
            let departed = self.moved.departed(block);
            recording::arrived(
                &mut host_link.timeline,
                &self.effects,
                needed,
                departed,
                when,
            );
            self.batch.copied = self.batch.copied.max(arrived);
        }
    }

    /// The copies of what the last block decided.
    fn copies(&self) -> Copies {
        // A host page moves as a whole: on hosts with pages of 64 KiB, what faulted is all 16 of it (ADR 0032).
        let faulted = match self.host_page_pages {
            1 => self.batch.needed.1,
            _ => self.batch.needed.1.big_pages(),
        };
        Copies::by_cause(&self.effects.copied(), &faulted)
    }

    /// The next block to prefetch that no fault of the batch has brought meanwhile.
    fn take_ahead(&mut self) -> Option<u32> {
        let ahead = &mut self.batch.ahead;
        // Several blocks of a batch may want the same one. The last is taken first, so they come in ascending order.
        ahead.sort_unstable_by_key(|block| std::cmp::Reverse(*block));
        ahead.dedup();
        while let Some(block) = self.batch.ahead.pop() {
            if !self.driver.chunks().contains(block) {
                return Some(block);
            }
        }
        None
    }

    /// What leaves for `block` in the batch at hand.
    fn departure(&self, block: u32) -> Departure {
        Departure {
            base: self.moved.base,
            block,
            batch: self.counts.batches,
        }
    }

    /// Books what the service of `block`, which `faults` pages were faulted on, moved.
    fn account(&mut self, block: u32, faults: u32, host_link: &mut HostLink) {
        let ledger = &mut host_link.ledger;
        let address = self.moved.base + u64::from(block) * BLOCK_BYTES;
        ledger.served(address, u64::from(faults), self.counts.batches);
        self.counts.faulted_pages += u64::from(faults);
        self.counts.refetched_bytes += self.moved.apply(&self.effects, block, ledger);
    }

    /// Counts what thrashing detection did, and puts throttled faults off.
    fn note<W: Waiter>(&mut self, block: u32, buffer: &mut FaultBuffer<W>) {
        self.counts.pins += u64::from(self.effects.pinned.count());
        self.counts.throttles += u64::from(self.effects.throttled.count());
        for page in self.effects.throttled.pages() {
            buffer.put_off(block * BLOCK_PAGES + page, self.effects.throttled_until);
        }
    }
}

/// Counts the faults of a block at their instructions; what moves for the block is counted at the first.
fn note_faults<'a>(faults: impl Iterator<Item = &'a Fault>, ledger: &mut Ledger) {
    let mut before = None;
    for fault in faults {
        if before.is_none() {
            ledger.set_origin(fault.instruction);
        }
        // The faults are in order of their pages, so those of one page follow each other.
        if before.replace(fault.page) != Some(fault.page) {
            ledger.faulted(fault.instruction);
        }
    }
}

/// The driver's own time for a block, evictions aside.
fn processing(
    effects: &Effects,
    copies: Copies,
    costs: &DriverCosts,
    host_page_pages: u64,
) -> Picos {
    let chunk = if effects.new_chunk {
        costs.chunk
    } else {
        Picos::ZERO
    };
    // Masks count pages of 4 KiB, costs those of the host: of 4 or of 64 KiB.
    let unmapped = u64::from(effects.host_unmapped.count()).div_ceil(host_page_pages);
    let unmapping = Picos(costs.host_page_unmap.0 * unmapped);
    let populating = populating(effects, costs, host_page_pages);
    costs.block + chunk + unmapping + costs.queueing(copies) + populating
}
