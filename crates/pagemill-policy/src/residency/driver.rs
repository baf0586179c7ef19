use std::ops::Range;

use pagemill_types::Picos;

use super::counters::Counters;
use super::eviction::Eviction;
use super::growth::{Growth, GrowthContext};
use super::places::Places;
use super::thrashing::Thrashing;
use super::{
    Action, BLOCK_BYTES, BLOCK_PAGES, Call, ChunkList, DriverSpec, DriverSpecError, PAGE_BYTES,
    PageMask, Side, ThrashingHint,
};

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
    /// Pages that move to GPU memory.
    pub fetched: PageMask,
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
    /// What had to leave first, in order.
    pub evictions: Vec<Evicted>,
}

impl Effects {
    fn clear(&mut self) {
        self.fetched = PageMask::EMPTY;
        self.mapped = PageMask::EMPTY;
        self.throttled = PageMask::EMPTY;
        self.throttled_until = Picos::ZERO;
        self.pinned = PageMask::EMPTY;
        self.host_unmapped = PageMask::EMPTY;
        self.new_chunk = false;
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
}

/// What the program said about the pages of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Advice {
    prefers_cpu: PageMask,
    prefers_gpu: PageMask,
    accessed_by_gpu: PageMask,
    read_mostly: PageMask,
}

static NO_ADVICE: Advice = Advice {
    prefers_cpu: PageMask::EMPTY,
    prefers_gpu: PageMask::EMPTY,
    accessed_by_gpu: PageMask::EMPTY,
    read_mostly: PageMask::EMPTY,
};

/// The unified-memory driver's view of one allocation: where each page is, and what happens to it.
///
/// All data start in CPU memory, mapped by the CPU alone.
#[derive(Debug)]
pub struct Driver {
    spec: DriverSpec,
    growth: Box<dyn Growth>,
    eviction: Box<dyn Eviction>,
    places: Places,
    /// Empty until the program advises anything.
    advice: Vec<Advice>,
    chunks: ChunkList,
    chunk_limit: u32,
    thrashing: Option<Thrashing>,
    counters: Option<Counters>,
    traffic: Traffic,
}

impl Driver {
    /// A driver whose allocation is wholly in CPU memory.
    ///
    /// # Errors
    /// As [`DriverSpec::check`].
    pub fn new(spec: &DriverSpec) -> Result<Self, DriverSpecError> {
        spec.check()?;
        let policy = &spec.policy;
        let blocks = spec.allocation_bytes.div_ceil(BLOCK_BYTES) as u32;
        let chunk_limit = (spec.gpu_bytes / BLOCK_BYTES).min(u64::from(u32::MAX)) as u32;
        let last = blocks.saturating_sub(1);
        Ok(Self {
            growth: (policy.growth.build)(policy.density_percent),
            eviction: (policy.eviction.build)(),
            places: Places::new(blocks, extent(spec.allocation_bytes, last)),
            advice: Vec::new(),
            chunks: ChunkList::new(blocks),
            chunk_limit,
            thrashing: policy.thrashing.map(|spec| Thrashing::new(spec, blocks)),
            counters: policy
                .access_counters
                .map(|spec| Counters::new(spec, blocks)),
            traffic: Traffic::default(),
            spec: *spec,
        })
    }

    /// Blocks of the allocation.
    pub fn blocks(&self) -> u32 {
        self.places.blocks()
    }

    /// What the GPU meets at page number `page`, counted from the start of the allocation.
    #[inline]
    pub fn touch(&self, page: u32) -> Touch {
        self.places.touch(page)
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
        effects.clear();
        let wanted = self.host_pages(faulted).and(&self.extent(block));
        let wanted = wanted
            .without(self.places.resident(block))
            .without(self.places.mapped(block));
        let stay = wanted.and(&self.advice_of(block).prefers_cpu);
        let moving = self.heed_thrashing(block, &wanted.without(&stay), now, effects);
        effects.mapped = effects.mapped.or(&stay);
        self.places.map(block, &effects.mapped);
        if !moving.is_empty() {
            let fetched = self.grown(block, &moving);
            self.bring(block, &fetched, effects);
            if let Some(thrashing) = &mut self.thrashing {
                thrashing.migrated(block, &fetched, now);
            }
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
        if moving.is_empty() {
            return;
        }
        let fetched = self.grown(block, &moving);
        self.bring(block, &fetched, effects);
        if let Some(thrashing) = &mut self.thrashing {
            thrashing.migrated(block, &fetched, now);
        }
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
            let pages = pages.and(&self.extent(block));
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
        while let Some((block, page)) = self.thrashing.as_mut().and_then(|it| it.release(now)) {
            let page = PageMask::range(page..page + 1).without(&self.advised_mapping(block));
            self.places.unmap(block, &page);
            released += 1;
        }
        released
    }

    fn call_block(&mut self, block: u32, pages: &PageMask, action: Action, effects: &mut Effects) {
        if self.advice.is_empty() {
            self.advice = vec![Advice::default(); self.blocks() as usize];
        }
        let advice = &mut self.advice[block as usize];
        match action {
            Action::PreferredLocation(Side::Cpu) => {
                advice.prefers_cpu = advice.prefers_cpu.or(pages);
                advice.prefers_gpu = advice.prefers_gpu.without(pages);
            }
            Action::PreferredLocation(Side::Gpu) => {
                advice.prefers_gpu = advice.prefers_gpu.or(pages);
                advice.prefers_cpu = advice.prefers_cpu.without(pages);
            }
            Action::ReadMostly => advice.read_mostly = advice.read_mostly.or(pages),
            Action::AccessedByGpu => {
                advice.accessed_by_gpu = advice.accessed_by_gpu.or(pages);
                effects.mapped = pages.without(self.places.resident(block));
                self.places.map(block, &effects.mapped);
            }
            Action::Prefetch(Side::Gpu) => {
                let fetched = pages.without(self.places.resident(block));
                if !fetched.is_empty() {
                    self.bring(block, &fetched, effects);
                }
            }
            Action::Prefetch(Side::Cpu) => {
                let leaving = pages.and(self.places.resident(block));
                if !leaving.is_empty() {
                    let evicted = self.send_back(block, &leaving);
                    effects.evictions.push(evicted);
                }
            }
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
        if !advice.prefers_cpu.is_empty() {
            return *moving;
        }
        let grown = self.growth.grow(&GrowthContext {
            resident: *self.places.resident(block),
            faulted: *moving,
            barred,
            host_page_pages: self.spec.policy.host_page.pages(),
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
    fn bring(&mut self, block: u32, fetched: &PageMask, effects: &mut Effects) {
        if self.chunks.contains(block) {
            self.eviction.brought(&mut self.chunks, block);
        } else {
            while self.chunks.len() >= self.chunk_limit {
                let Some(victim) = self.eviction.victim(&self.chunks, block) else {
                    break;
                };
                let leaving = *self.places.resident(victim);
                let evicted = self.send_back(victim, &leaving);
                effects.evictions.push(evicted);
            }
            self.chunks.push(block);
            effects.new_chunk = true;
        }
        let kept = self.advice_of(block).read_mostly;
        effects.host_unmapped = self.places.bring(block, fetched, &kept);
        effects.fetched = *fetched;
        self.traffic.pages_in += u64::from(fetched.count());
    }

    /// Moves `leaving`, all of it there, back to CPU memory; an empty chunk is given back.
    fn send_back(&mut self, block: u32, leaving: &PageMask) -> Evicted {
        let dropped = leaving.and(&self.advice_of(block).read_mostly);
        let copied = leaving.without(&dropped);
        if self.places.send_back(block, leaving) {
            self.chunks.remove(block);
        }
        let stays_mapped = if self.counters.is_some() {
            *leaving
        } else {
            leaving.and(&self.advised_mapping(block))
        };
        self.places.map(block, &stays_mapped);
        self.traffic.pages_out += u64::from(copied.count());
        self.traffic.pages_dropped += u64::from(dropped.count());
        Evicted {
            block,
            copied,
            dropped,
        }
    }

    fn advice_of(&self, block: u32) -> &Advice {
        self.advice.get(block as usize).unwrap_or(&NO_ADVICE)
    }

    fn advised_mapping(&self, block: u32) -> PageMask {
        self.advice_of(block).accessed_by_gpu
    }

    /// The pages of `block` that belong to the allocation.
    fn extent(&self, block: u32) -> PageMask {
        if block + 1 < self.blocks() {
            return PageMask::FULL;
        }
        extent(self.spec.allocation_bytes, block)
    }

    /// `pages` grown to whole pages of the host.
    fn host_pages(&self, pages: &PageMask) -> PageMask {
        if self.spec.policy.host_page.pages() == 1 {
            return *pages;
        }
        pages.big_pages()
    }
}

/// The pages of `block` in an allocation of so many bytes.
fn extent(allocation_bytes: u64, block: u32) -> PageMask {
    let pages = allocation_bytes.div_ceil(PAGE_BYTES);
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
