// The decisions of NVIDIA's UVM driver, without its clock: open-gpu-kernel-modules (uvm_gpu_replayable_faults.c, uvm_va_block.c,
// uvm_perf_prefetch.c, uvm_perf_thrashing.c) is the source of what happens in which order. A page of 4 KiB is in one of these states:
//
//                      +------ CPU touches first ------+
//                      |                               v
//   untouched --GPU touches first--> GPU memory <---> CPU memory
//                                      |   ^  fault, prefetch, counter |
//                              read    |   |                           | prefers CPU, pinned,
//                              mostly  v   | GPU writes                v accessed by GPU
//                                    in both memories        CPU memory, mapped for the GPU
//
// GPU memory is given out by whole blocks of 2 MiB (chunks), pages move one by one; so what is evicted is a block, and a block
// with one page of use costs as much room as a full one.
mod advice;
mod around;
mod host;
mod host_tables;
mod invariants;

use std::collections::BTreeMap;
use std::ops::Range;

use pagemill_types::{CheckSchedule, Invariants, Picos};

use super::ahead::Ahead;
use super::contents::Masks;
use super::counters::Counters;
use super::eviction::Eviction;
use super::growth::{Growth, GrowthContext};
use super::places::Places;
use super::thrashing::Thrashing;
use super::{
    BLOCK_BYTES, BLOCK_PAGES, Call, ChunkList, DriverPolicy, DriverSpec, DriverSpecError,
    PAGE_BYTES, PageMask, PageTables, ThrashingHint,
};
use crate::surroundings::FaultHistory;
use advice::Advice;
pub use advice::PageAdvice;

/// What the GPU meets when it touches a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// The page is in GPU memory.
    Local,
    /// The page is in CPU memory, and the GPU may read it there.
    Remote,
    /// The GPU has no mapping: it faults.
    Fault,
}

/// A block that left GPU memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The block.
    pub block: u32,
    /// Pages that were copied back to CPU memory.
    pub copied: PageMask,
    /// Pages whose copy was dropped: CPU memory still had them.
    pub dropped: PageMask,
}

/// What a decision changes. Reused from call to call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Pages that come to GPU memory.
    pub fetched: PageMask,
    /// Those of `fetched` that were never touched: they are allocated there, and nothing is copied.
    pub populated: PageMask,
    /// Those of `fetched` that CPU memory keeps as well.
    pub kept: PageMask,
    /// Pages of GPU memory whose contents the program gave up.
    pub discarded: PageMask,
    /// Pages whose copy in CPU memory is given up because the GPU writes to them.
    pub collapsed: PageMask,
    /// Pages that are mapped for the GPU where they are.
    pub mapped: PageMask,
    /// Pages whose fault is left alone for now.
    pub throttled: PageMask,
    /// Until when, if any is.
    pub throttled_until: Picos,
    /// Pages that were pinned in CPU memory, of those mapped.
    pub pinned: PageMask,
    /// Pages that the CPU had mapped and must give up.
    pub host_unmapped: PageMask,
    /// Whether the block got its root chunk now.
    pub new_chunk: bool,
    /// Pages that were copied to CPU memory and are in both now.
    pub duplicated: PageMask,
    /// Pages of GPU memory that the CPU uses where they are.
    pub in_place: PageMask,
    /// What had to leave first, in order.
    pub evictions: Vec<Evicted>,
}

impl Effects {
    /// Pages that have to be copied to GPU memory.
    pub fn copied(&self) -> PageMask {
        self.fetched.without(&self.populated)
    }

    /// Bytes that have to be copied to GPU memory.
    pub fn copied_bytes(&self) -> u64 {
        u64::from(self.fetched.count() - self.populated.count()) * PAGE_BYTES
    }

    fn clear(&mut self) {
        self.fetched = PageMask::EMPTY;
        self.populated = PageMask::EMPTY;
        self.kept = PageMask::EMPTY;
        self.discarded = PageMask::EMPTY;
        self.collapsed = PageMask::EMPTY;
        self.mapped = PageMask::EMPTY;
        self.throttled = PageMask::EMPTY;
        self.throttled_until = Picos::ZERO;
        self.pinned = PageMask::EMPTY;
        self.host_unmapped = PageMask::EMPTY;
        self.new_chunk = false;
        self.duplicated = PageMask::EMPTY;
        self.in_place = PageMask::EMPTY;
        self.evictions.clear();
    }
}

/// Pages that went each way since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Pages copied to GPU memory.
    pub pages_in: u64,
    /// Pages copied back to CPU memory.
    pub pages_out: u64,
    /// Pages of GPU memory that were dropped, because CPU memory still had them.
    pub pages_dropped: u64,
    /// Untouched pages that were allocated in GPU memory.
    pub pages_populated: u64,
}

/// The unified-memory driver's view of managed memory: where each page is, and what happens to it.
///
/// The allocation of a [`DriverSpec`] starts in CPU memory, mapped by the CPU alone; those of [`Driver::allocate`] are
/// nowhere until they are touched.
#[derive(Debug)]
pub struct Driver {
    policy: DriverPolicy,
    growth: Box<dyn Growth>,
    eviction: Box<dyn Eviction>,
    ahead: Option<Box<dyn Ahead>>,
    /// The blocks of each allocation, ascending.
    allocations: Vec<Range<u32>>,
    places: Places,
    /// Empty until the program advises anything.
    advice: Vec<Advice>,
    /// The pages of blocks that an allocation does not fill.
    extents: BTreeMap<u32, PageMask>,
    /// Untouched pages: they are in neither memory.
    untouched: Masks,
    /// Pages in GPU memory that CPU memory has as well.
    duplicates: Masks,
    chunks: ChunkList,
    chunk_limit: u32,
    /// Pages that GPU memory holds, where pages are taken one by one.
    page_limit: u64,
    thrashing: Option<Thrashing>,
    counters: Option<Counters>,
    traffic: Traffic,
    /// Empty unless a policy tracks faults.
    faults: FaultHistory,
    tracks_faults: bool,
    checks: CheckSchedule,
}

impl Driver {
    /// A driver whose allocation is wholly in CPU memory.
    ///
    /// # Errors
    /// As [`DriverSpec::check`].
    pub fn new(spec: &DriverSpec) -> Result<Self, DriverSpecError> {
        spec.check()?;
        let mut driver = Self::empty(spec.gpu_bytes, &spec.policy);
        driver.add_blocks(&(0..spec.allocation_bytes), true);
        Ok(driver)
    }

    /// A driver without an allocation, which has `gpu_bytes` of GPU memory, at least a block.
    pub fn empty(gpu_bytes: u64, policy: &DriverPolicy) -> Self {
        let growth = (policy.growth.build)(policy.density_percent);
        let ahead = (policy.ahead.build)();
        Self {
            tracks_faults: growth.tracks_faults()
                || ahead.as_ref().is_some_and(|it| it.tracks_faults()),
            faults: FaultHistory::new(),
            growth,
            eviction: (policy.eviction.build)(),
            ahead,
            allocations: Vec::new(),
            places: Places::new(),
            advice: Vec::new(),
            extents: BTreeMap::new(),
            untouched: Masks::default(),
            duplicates: Masks::default(),
            chunks: ChunkList::new(0),
            chunk_limit: chunk_limit(gpu_bytes),
            page_limit: gpu_bytes / PAGE_BYTES,
            thrashing: match policy.page_tables {
                PageTables::Gpu => policy.thrashing.map(Thrashing::new),
                PageTables::Host => None,
            },
            counters: policy.access_counters.map(Counters::new),
            traffic: Traffic::default(),
            checks: CheckSchedule::default(),
            policy: *policy,
        }
    }

    /// An allocation of the bytes from `bytes.start`, a multiple of 2 MiB beyond every other. They are untouched.
    pub fn allocate(&mut self, bytes: Range<u64>) {
        debug_assert!(bytes.start.is_multiple_of(BLOCK_BYTES));
        self.add_blocks(&bytes, false);
    }

    fn add_blocks(&mut self, bytes: &Range<u64>, in_cpu_memory: bool) {
        let first = (bytes.start / BLOCK_BYTES) as u32;
        let end = bytes.end.div_ceil(BLOCK_BYTES) as u32;
        self.allocations.push(first..end);
        self.places.grow(first, false);
        self.places.grow(end, in_cpu_memory);
        self.chunks.extend_to(end);
        if let Some(thrashing) = &mut self.thrashing {
            thrashing.grow(end);
        }
        if let Some(counters) = &mut self.counters {
            counters.grow(end);
        }
        let last = end.saturating_sub(1);
        let extent = extent(bytes.end, last);
        if extent != PageMask::FULL {
            self.extents.insert(last, extent);
            self.places.limit(last, &extent);
        }
        for block in first..end {
            let pages = self.extent(block);
            match in_cpu_memory {
                true => self
                    .places
                    .map(block, &pages.and(&self.always_mapped(block))),
                false => self.untouched.add(block, &pages),
            }
        }
    }

    /// Blocks of all allocations.
    pub fn blocks(&self) -> u32 {
        self.places.blocks()
    }

    /// What the GPU meets at page number `page`, counted from the start of the allocation.
    #[inline]
    pub fn touch(&self, page: u32) -> Touch {
        self.places.touch(page)
    }

    /// What the GPU meets when it reads or writes a page: what CPU memory has as well may only be read.
    #[inline]
    pub fn touch_for(&self, page: u32, writes: bool) -> Touch {
        let touch = self.places.touch(page);
        if writes && touch == Touch::Local && self.is_duplicate(page) {
            return Touch::Fault;
        }
        touch
    }

    fn is_duplicate(&self, page: u32) -> bool {
        let duplicates = self.duplicates.get(page / BLOCK_PAGES);
        duplicates.contains(page % BLOCK_PAGES)
    }

    /// Whether [`Driver::used`] is to be called for every access to GPU memory.
    pub fn tracks_use(&self) -> bool {
        self.eviction.tracks_use()
    }

    /// The GPU accesses `block` in its memory.
    pub fn used(&mut self, block: u32) {
        if self.chunks.newest() != Some(block) {
            self.eviction.used(&mut self.chunks, block);
        }
    }

    /// The pages of `block` in GPU memory.
    pub fn resident(&self, block: u32) -> &PageMask {
        self.places.resident(block)
    }

    /// The pages of `block` in CPU memory that the GPU has mapped.
    pub fn mapped(&self, block: u32) -> &PageMask {
        self.places.mapped(block)
    }

    /// The blocks that hold GPU memory.
    pub fn chunks(&self) -> &ChunkList {
        &self.chunks
    }

    /// The most blocks that hold GPU memory at once.
    pub fn chunk_limit(&self) -> u32 {
        self.chunk_limit
    }

    /// What went each way so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Serves faults on `faulted` pages of `block`, all at once.
    pub fn service(&mut self, block: u32, faulted: &PageMask, now: Picos, effects: &mut Effects) {
        self.service_for(block, faulted, &PageMask::EMPTY, now, effects);
    }

    /// As [`Driver::service`], where the GPU writes to the pages `written` of `faulted`.
    pub fn service_for(
        &mut self,
        block: u32,
        faulted: &PageMask,
        written: &PageMask,
        now: Picos,
        effects: &mut Effects,
    ) {
        if self.checks.is_due() {
            self.debug_check();
        }
        effects.clear();
        self.collapse(block, written, effects);
        // The order matters: advice keeps a page where it is before thrashing is asked, and what thrashes is not grown, or the prefetch
        // tree would bring back in the next batch what was pinned in this one.
        let wanted = self.host_pages(faulted).and(&self.extent(block));
        let wanted = wanted
            .without(self.places.resident(block))
            .without(self.places.mapped(block));
        let stay = wanted.and(&self.advice_of(block).prefers_cpu);
        let moving = self.heed_thrashing(block, &wanted.without(&stay), now, effects);
        effects.mapped = effects.mapped.or(&stay);
        self.untouched.remove(block, &effects.mapped);
        self.places.map(block, &effects.mapped);
        if moving.is_empty() {
            return;
        }
        let fetched = self.fitting(&self.grown(block, &moving), &moving);
        self.stay_with_host(block, &moving.without(&fetched), effects);
        if !fetched.is_empty() {
            self.bring(block, &fetched, written, effects);
            self.note_migrated(block, now, effects);
        }
        if self.tracks_faults {
            self.faults.note(block);
        }
    }

    /// The GPU writes to `written` pages of `block`: copies in CPU memory are void.
    fn collapse(&mut self, block: u32, written: &PageMask, effects: &mut Effects) {
        effects.collapsed = written.and(&self.duplicates.get(block));
        if !effects.collapsed.is_empty() {
            self.duplicates.remove(block, &effects.collapsed);
            effects.host_unmapped = self.places.unmap_host(block, &effects.collapsed);
        }
    }

    fn note_migrated(&mut self, block: u32, now: Picos, effects: &Effects) {
        let moved = effects.fetched.without(&effects.populated);
        if let Some(thrashing) = &mut self.thrashing
            && !moved.is_empty()
        {
            thrashing.migrated(block, &moved, now);
        }
    }

    /// Counts `accesses` of the GPU to `page` of `block` in CPU memory. True if the region has to be reported now.
    #[inline]
    pub fn count_remote(&mut self, block: u32, page: u32, accesses: u32) -> bool {
        match &mut self.counters {
            Some(counters) => counters.count(block, page, accesses),
            None => false,
        }
    }

    /// Serves the report that the GPU accesses `block` in CPU memory a lot: what it accessed moves.
    pub fn service_counter(&mut self, block: u32, now: Picos, effects: &mut Effects) {
        effects.clear();
        let Some(counters) = &mut self.counters else {
            return;
        };
        let accessed = counters.take(block);
        let advice = self.advice_of(block);
        let moving = accessed
            .and(self.places.mapped(block))
            .without(&advice.prefers_cpu);
        let moving = self.without_pinned(block, &moving);
        let fetched = match moving.is_empty() {
            true => moving,
            false => self.fitting(&self.grown(block, &moving), &moving),
        };
        if fetched.is_empty() {
            return self.report_no_more(block, &accessed);
        }
        self.bring(block, &fetched, &PageMask::EMPTY, effects);
        self.note_migrated(block, now, effects);
    }

    /// Carries out a call of the program; `each` sees what it changes, block by block.
    pub fn call(
        &mut self,
        call: &Call,
        effects: &mut Effects,
        mut each: impl FnMut(u32, &Effects),
    ) {
        for (block, pages) in blocks_of(call.bytes.clone(), self.blocks()) {
            effects.clear();
            let pages = self.called_pages(block, &pages);
            self.call_block(block, &pages, call.action, effects);
            each(block, effects);
        }
    }

    /// When the next pinned page is let go, if any is pinned.
    pub fn next_release(&self) -> Option<Picos> {
        self.thrashing.as_ref()?.next_release()
    }

    /// Lets pages go whose pin has ended by `now`: the GPU loses its mapping and faults again.
    pub fn release(&mut self, now: Picos) -> u64 {
        let mut released = 0;
        self.release_each(now, |_, _| released += 1);
        released
    }

    /// As [`Driver::release`]; `each` sees the block and the page in it of what is let go.
    pub fn release_each(&mut self, now: Picos, mut each: impl FnMut(u32, u32)) {
        while let Some((block, number)) = self.thrashing.as_mut().and_then(|it| it.release(now)) {
            let page = PageMask::range(number..number + 1).without(&self.always_mapped(block));
            self.places.unmap(block, &page);
            each(block, number);
        }
    }

    /// `faulted` without what thrashing detection holds back, which is noted in `effects`.
    fn heed_thrashing(
        &mut self,
        block: u32,
        faulted: &PageMask,
        now: Picos,
        effects: &mut Effects,
    ) -> PageMask {
        let Some(thrashing) = &mut self.thrashing else {
            return *faulted;
        };
        if thrashing.is_quiet() {
            return *faulted;
        }
        // Throttled and pinned pages are taken out one by one; the rest of the block moves as if they had not faulted.
        for page in faulted.pages() {
            match thrashing.hint(block, page, now) {
                ThrashingHint::None => {}
                ThrashingHint::Throttle(until) => {
                    effects.throttled.insert(page);
                    effects.throttled_until = effects.throttled_until.max(until);
                }
                ThrashingHint::Pin(_) => effects.pinned.insert(page),
            }
        }
        effects.mapped = effects.pinned;
        faulted.without(&effects.throttled).without(&effects.pinned)
    }

    /// What moves for `moving`: grown by the policy unless the program prefers another place.
    fn grown(&self, block: u32, moving: &PageMask) -> PageMask {
        let advice = self.advice_of(block);
        let barred = PageMask::FULL
            .without(&self.extent(block))
            .or(&advice.prefers_cpu);
        // A page that prefers the CPU must not be carried along: a block that has one is not grown.
        if !advice.prefers_cpu.is_empty() {
            return *moving;
        }
        if let Some(preferred) = self.preferred_region(block, moving) {
            return preferred.without(&barred);
        }
        let grown = self.growth.grow(&GrowthContext {
            resident: *self.places.resident(block),
            faulted: *moving,
            barred,
            host_page_pages: self.policy.host_page.pages(),
            around: &self.around(block),
        });
        let grown = grown
            .or(moving)
            .without(&barred)
            .without(self.places.resident(block));
        self.without_pinned(block, &grown)
    }

    fn without_pinned(&self, block: u32, pages: &PageMask) -> PageMask {
        match &self.thrashing {
            Some(thrashing) if thrashing.next_release().is_some() => pages
                .pages()
                .filter(|&page| !thrashing.pinned(block, page))
                .collect(),
            _ => *pages,
        }
    }

    /// Moves `fetched`, none of it there yet, to GPU memory, and makes room for it first.
    fn bring(&mut self, block: u32, fetched: &PageMask, written: &PageMask, effects: &mut Effects) {
        if self.chunks.contains(block) {
            self.eviction.brought(&mut self.chunks, block);
        } else {
            // Room is made before the block gets its chunk, and never by the block itself: `victim` and `along` keep it.
            while self.is_full() {
                let Some(victim) = self.eviction.victim(&self.chunks, block) else {
                    break;
                };
                self.evict(victim, block, effects);
            }
            self.chunks.push(block);
            self.eviction.came(block);
            effects.new_chunk = !self.walks_host_tables();
        }
        // Untouched pages are cleared on the GPU, and nothing of them crosses the link.
        let populated = fetched.and(&self.untouched.get(block));
        self.untouched.remove(block, &populated);
        let kept = self.duplicable(block).without(written);
        effects.kept = kept.and(fetched).without(&populated);
        self.duplicates.add(block, &effects.kept);
        let unmapped = self.places.bring(block, fetched, &kept);
        effects.host_unmapped = effects.host_unmapped.or(&unmapped);
        effects.fetched = *fetched;
        effects.populated = populated;
        self.traffic.pages_in += u64::from(fetched.count() - populated.count());
        self.traffic.pages_populated += u64::from(populated.count());
    }

    /// `victim` leaves for `keep`, and with it what the policy sends along.
    fn evict(&mut self, victim: u32, keep: u32, effects: &mut Effects) {
        let mut leaving = vec![victim];
        self.eviction
            .along(&self.chunks, victim, keep, &mut leaving);
        for block in leaving {
            let pages = *self.places.resident(block);
            let evicted = self.send_back(block, &pages);
            effects.evictions.push(evicted);
        }
    }

    /// Appends the blocks that come ahead of faults now that `block` was served; for [`Driver::service_ahead`].
    pub fn ahead(&self, block: u32, ahead: &mut Vec<u32>) {
        if let Some(policy) = &self.ahead {
            policy.blocks(&self.around(block), ahead);
        }
    }

    /// Brings all of `block` that is in CPU memory, unmapped and welcome on the GPU, without a fault.
    pub fn service_ahead(&mut self, block: u32, now: Picos, effects: &mut Effects) {
        effects.clear();
        let wanted = self
            .extent(block)
            .without(self.places.resident(block))
            .without(self.places.mapped(block))
            .without(&self.untouched.get(block))
            .without(&self.advice_of(block).prefers_cpu);
        let wanted = self.without_pinned(block, &wanted);
        let fetched = self.fitting(&wanted, &wanted);
        if !fetched.is_empty() {
            self.bring(block, &fetched, &PageMask::EMPTY, effects);
            self.note_migrated(block, now, effects);
        }
    }

    /// Moves `leaving`, all of it there, back to CPU memory; an empty chunk is given back.
    fn send_back(&mut self, block: u32, leaving: &PageMask) -> Evicted {
        let dropped = leaving.and(&self.duplicates.get(block));
        self.duplicates.remove(block, &dropped);
        let copied = leaving.without(&dropped);
        if self.places.send_back(block, leaving) {
            self.give_chunk_back(block);
        }
        // With access counters the GPU keeps a mapping of what left, since counters see only accesses that do not fault.
        let stays_mapped = if self.counters.is_some() {
            *leaving
        } else {
            leaving.and(&self.always_mapped(block))
        };
        self.places.map(block, &stays_mapped);
        self.report_again(block);
        self.traffic.pages_out += u64::from(copied.count());
        self.traffic.pages_dropped += u64::from(dropped.count());
        Evicted {
            block,
            copied,
            dropped,
        }
    }

    fn give_chunk_back(&mut self, block: u32) {
        self.chunks.remove(block);
        self.eviction.left(block);
    }

    /// The pages of `block` that belong to an allocation.
    pub fn extent(&self, block: u32) -> PageMask {
        self.extents.get(&block).copied().unwrap_or(PageMask::FULL)
    }

    /// `pages` grown to whole pages of the host.
    fn host_pages(&self, pages: &PageMask) -> PageMask {
        if self.policy.host_page.pages() == 1 {
            return *pages;
        }
        pages.big_pages()
    }
}

fn chunk_limit(gpu_bytes: u64) -> u32 {
    (gpu_bytes / BLOCK_BYTES).clamp(1, u64::from(u32::MAX)) as u32
}

/// The pages of `block` below address `end`.
fn extent(end: u64, block: u32) -> PageMask {
    let pages = end.div_ceil(PAGE_BYTES);
    let before = u64::from(block) * u64::from(BLOCK_PAGES);
    PageMask::range(0..(pages - before).min(u64::from(BLOCK_PAGES)) as u32)
}

/// The blocks of `bytes` and the pages of each that it holds, whole or in part.
fn blocks_of(bytes: Range<u64>, blocks: u32) -> impl Iterator<Item = (u32, PageMask)> {
    let first = bytes.start / BLOCK_BYTES;
    let last = bytes.end.div_ceil(BLOCK_BYTES).min(u64::from(blocks));
    (first..last).map(move |block| {
        let base = block * BLOCK_BYTES;
        let start = bytes.start.saturating_sub(base) / PAGE_BYTES;
        let end = (bytes.end - base).min(BLOCK_BYTES).div_ceil(PAGE_BYTES);
        (block as u32, PageMask::range(start as u32..end as u32))
    })
}
