//! The driver at work: batches of faults and of counter reports, what each costs, and when its pages are there.

use std::collections::VecDeque;

use pagemill_policy::residency::{
    BLOCK_PAGES, Call, Driver, DriverSpecError, Effects, PAGE_BYTES, PageMask, Strategy,
};
use pagemill_policy::residency::{DriverSpec, Placement};
use pagemill_types::Picos;

use super::fault_buffer::FaultBuffer;
use super::machine::{DriverCosts, UvmMachine};
use super::wires::Wires;
use crate::gpu::{TimelineEvent, TimelineKind};

/// What the driver did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandlerCounts {
    /// Batches served.
    pub batches: u64,
    /// Blocks served, over all batches.
    pub blocks: u64,
    /// Entries taken, duplicates included.
    pub entries: u64,
    /// Faults put off because their page thrashes.
    pub throttles: u64,
    /// Pages pinned in CPU memory because they thrash.
    pub pins: u64,
    /// Blocks moved because access counters reported them.
    pub counter_migrations: u64,
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
    pages: Vec<u32>,
    /// The first of `pages` that is not served yet.
    next: usize,
    entries: u64,
    /// Counter reports still to be served.
    reports: usize,
    /// The blocks served so far.
    served: Vec<u32>,
    /// The block whose effects wait for their copy.
    arriving: Option<u32>,
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
    effects: Effects,
    phase: Phase,
    batch: Batch,
    /// Blocks that access counters have reported.
    reports: VecDeque<u32>,
    /// When what was last brought to each block has arrived.
    ready_at: Vec<Picos>,
    pub counts: HandlerCounts,
}

impl FaultHandler {
    pub(super) fn new(
        machine: &UvmMachine,
        allocation_bytes: u64,
        gpu_bytes: u64,
    ) -> Result<Self, DriverSpecError> {
        let policy = &machine.policy;
        let driver = Driver::new(&DriverSpec {
            allocation_bytes,
            gpu_bytes,
            policy: *policy,
        })?;
        Ok(Self {
            ready_at: vec![Picos::ZERO; driver.blocks() as usize],
            driver,
            costs: machine.driver,
            host_page_pages: u64::from(policy.host_page.pages()),
            batch_entries: machine.faults.batch_entries,
            effects: Effects::default(),
            phase: Phase::Fetch,
            batch: Batch::default(),
            reports: VecDeque::new(),
            counts: HandlerCounts::default(),
        })
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

    /// The program's calls before its kernel, from `at` on; returns when the last copy is done.
    pub(super) fn prepare(
        &mut self,
        strategy: &dyn Strategy,
        placement: &Placement,
        at: Picos,
        wires: &mut Wires,
    ) -> Picos {
        let (costs, host_page_pages) = (self.costs, self.host_page_pages);
        let Self {
            driver, effects, ..
        } = self;
        let (mut now, mut done) = (at, at);
        let mut carry_out = |call: Call| {
            driver.call(&call, effects, |_, effects| {
                let (sent, copied) = send_back(effects, &costs, now, wires);
                now = sent + processing(effects, &costs, host_page_pages);
                done = done.max(now).max(copied);
                let bytes = u64::from(effects.fetched.count()) * PAGE_BYTES;
                if bytes > 0 {
                    done = done.max(wires.copy_to_gpu(now, bytes));
                }
            });
        };
        strategy.calls(placement, &mut carry_out);
        done
    }

    /// Goes on with the driver's work at `now`; to be asked again at the time it answers.
    pub(super) fn advance(
        &mut self,
        now: Picos,
        buffer: &mut FaultBuffer,
        wires: &mut Wires,
    ) -> HandlerStep {
        match self.phase {
            Phase::Fetch => {
                self.fetch(now, buffer);
                let entries = self.batch.entries;
                HandlerStep::Again(now + self.costs.batch + Picos(self.costs.entry.0 * entries))
            }
            Phase::Blocks => {
                self.bring(now, wires);
                match self.next_block(now, buffer, wires) {
                    Some(at) => HandlerStep::Again(at),
                    None => {
                        self.phase = Phase::Replay;
                        HandlerStep::Again(now.max(self.batch.copied) + self.costs.replay)
                    }
                }
            }
            Phase::Replay => {
                self.counts.busy += now - self.batch.start;
                wires.timeline.record(|| TimelineEvent {
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
    fn fetch(&mut self, now: Picos, buffer: &FaultBuffer) {
        self.driver.release(now);
        let pages = &mut self.batch.pages;
        buffer.fetch(now, self.batch_entries, pages);
        pages.sort_unstable();
        self.batch.entries = pages.len() as u64;
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
    fn next_block(
        &mut self,
        now: Picos,
        buffer: &mut FaultBuffer,
        wires: &mut Wires,
    ) -> Option<Picos> {
        let rest = &self.batch.pages[self.batch.next..];
        let block = if let Some(&first) = rest.first() {
            let block = first / BLOCK_PAGES;
            let group = rest.iter().take_while(|&&page| page / BLOCK_PAGES == block);
            let faulted: PageMask = group.clone().map(|page| page % BLOCK_PAGES).collect();
            self.batch.next += group.count();
            self.driver.service(block, &faulted, now, &mut self.effects);
            self.note(block, buffer);
            block
        } else {
            self.batch.reports = self.batch.reports.checked_sub(1)?;
            let block = self.reports.pop_front()?;
            self.driver.service_counter(block, now, &mut self.effects);
            self.counts.counter_migrations += u64::from(!self.effects.fetched.is_empty());
            block
        };
        self.counts.blocks += 1;
        self.batch.arriving = Some(block);
        self.batch.served.push(block);
        let (sent, copied) = send_back(&self.effects, &self.costs, now, wires);
        self.batch.copied = self.batch.copied.max(copied);
        for evicted in &self.effects.evictions {
            wires.timeline.record(|| TimelineEvent {
                kind: TimelineKind::Eviction {
                    page: u64::from(evicted.block),
                },
                start: now,
                end: sent.max(copied),
                bytes: u64::from(evicted.copied.count()) * PAGE_BYTES,
            });
        }
        let at = sent + processing(&self.effects, &self.costs, self.host_page_pages);
        let bytes = u64::from(self.effects.fetched.count()) * PAGE_BYTES;
        if bytes > 0 {
            // Until the copy begins, the earliest it can end at.
            self.ready_at[block as usize] = at + wires.least_copy_time(bytes);
        }
        Some(at)
    }

    /// Starts the copy of what the last block decided.
    fn bring(&mut self, now: Picos, wires: &mut Wires) {
        let Some(block) = self.batch.arriving.take() else {
            return;
        };
        let bytes = u64::from(self.effects.fetched.count()) * PAGE_BYTES;
        if bytes > 0 {
            let arrived = wires.copy_to_gpu(now, bytes);
            self.ready_at[block as usize] = arrived;
            wires.timeline.record(|| TimelineEvent {
                kind: TimelineKind::Migration {
                    page: u64::from(block),
                    partition: 0,
                },
                start: now,
                end: arrived,
                bytes,
            });
            self.batch.copied = self.batch.copied.max(arrived);
        }
    }

    /// Counts what thrashing detection did, and puts throttled faults off.
    fn note(&mut self, block: u32, buffer: &mut FaultBuffer) {
        self.counts.pins += u64::from(self.effects.pinned.count());
        self.counts.throttles += u64::from(self.effects.throttled.count());
        for page in self.effects.throttled.pages() {
            buffer.put_off(block * BLOCK_PAGES + page, self.effects.throttled_until);
        }
    }
}

/// Starts the copies of evicted blocks; answers when the driver goes on, and when the last copy ends.
fn send_back(
    effects: &Effects,
    costs: &DriverCosts,
    now: Picos,
    wires: &mut Wires,
) -> (Picos, Picos) {
    let (mut at, mut copied) = (now, now);
    for evicted in &effects.evictions {
        at += costs.eviction;
        let bytes = u64::from(evicted.copied.count()) * PAGE_BYTES;
        if bytes > 0 {
            copied = wires.copy_to_cpu(at, bytes);
            if costs.eviction_waits {
                at = copied;
            }
        }
    }
    (at, copied)
}

/// The driver's own time for a block, evictions aside.
fn processing(effects: &Effects, costs: &DriverCosts, host_page_pages: u64) -> Picos {
    let chunk = if effects.new_chunk {
        costs.chunk
    } else {
        Picos::ZERO
    };
    let unmapped = u64::from(effects.host_unmapped.count()).div_ceil(host_page_pages);
    costs.block + chunk + Picos(costs.host_page_unmap.0 * unmapped)
}
