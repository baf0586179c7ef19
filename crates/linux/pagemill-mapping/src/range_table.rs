//! What is lent, and the calls that replace or change it. `remap.rs` and `advice.rs` are the other two calls.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::call::{Call, Kind, PAGE_BYTES, has};
use crate::kernel::{self, Answer, has_failed};
use crate::plain;
use crate::source::{BlockId, Source};

/// What memory was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// By `malloc`: it is remembered until it is freed.
    Heap,
    /// By `mmap`.
    Mapping,
    /// By `mmap` with `MAP_HUGETLB`: calls count in huge pages, and the kernel refuses others.
    HugeMapping,
    /// By `mmap` with `MAP_SHARED`: the source's memory is what was asked for, also for children, and every call is the kernel's.
    Shared,
}

impl Purpose {
    /// Of an `mmap` with these flags.
    pub fn of(flags: usize) -> Self {
        if has(flags, libc::MAP_SHARED) {
            Self::Shared
        } else if has(flags, libc::MAP_HUGETLB) {
            Self::HugeMapping
        } else {
            Self::Mapping
        }
    }
}

/// Memory stays so while it is lent.
const LENT_ACCESS: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Memory as a source lent it.
pub struct Block {
    purpose: Purpose,
    /// How much of it is still the source's.
    pub lent_bytes: usize,
}

/// A part of a block that is still the source's, and that the kernel would have as one mapping.
#[derive(Clone, Copy)]
pub struct Extent {
    pub end: usize,
    pub block: BlockId,
    /// Whether children of `fork` are to have it.
    pub is_inherited: bool,
}

/// What `malloc` returned, until it is freed.
struct HeapBlock {
    bytes: usize,
}

pub struct RangeTable<S> {
    pub source: S,
    next: BlockId,
    pub blocks: BTreeMap<BlockId, Block>,
    heap: BTreeMap<usize, HeapBlock>,
    pub extents: BTreeMap<usize, Extent>,
    /// Copies for a child, and whose they are: made where memory cannot become plain before a fork.
    pub copies: Vec<(usize, Range<usize>)>,
    /// Memory for which the program wanted no huge pages.
    pub refuses_huge: Vec<Range<usize>>,
}

impl<S: Source> RangeTable<S> {
    pub fn new(source: S) -> Self {
        Self {
            source,
            next: BlockId(0),
            blocks: BTreeMap::new(),
            heap: BTreeMap::new(),
            extents: BTreeMap::new(),
            copies: Vec::new(),
            refuses_huge: Vec::new(),
        }
    }

    /// Memory of the source, entered.
    pub fn lend(&mut self, bytes: usize, purpose: Purpose) -> Option<Range<usize>> {
        let lent = self.source.lend(self.next, bytes)?;
        self.enter(lent.clone(), purpose);
        Some(lent)
    }

    /// The same for `malloc`, at a multiple of `alignment`.
    pub fn lend_heap(&mut self, bytes: usize, alignment: usize) -> Option<Range<usize>> {
        if alignment <= S::GRANULE {
            return self.lend(bytes, Purpose::Heap);
        }
        let bytes = bytes.checked_next_multiple_of(S::GRANULE)?;
        let all = self.lend(bytes.checked_add(alignment)?, Purpose::Heap)?;
        let start = all.start.next_multiple_of(alignment);
        let kept = start..start + bytes;
        self.heap.remove(&all.start);
        self.heap.insert(start, HeapBlock { bytes });
        for part in [all.start..start, kept.end..all.end] {
            if !part.is_empty() {
                // SAFETY: it was just lent, and has no user.
                unsafe { kernel::unmap(part.start, part.len()) };
                self.forget(part);
            }
        }
        Some(kept)
    }

    /// An `mmap` at a place of the program's choice, for which the source lends memory if it can.
    ///
    /// # Safety
    /// As the call itself.
    pub unsafe fn lend_at(&mut self, call: &Call, place: Range<usize>) -> Result<Answer, i32> {
        let mut closed = *call;
        closed.arguments[2] = libc::PROT_NONE as usize;
        // The source says what the program may have, and whose pages it gets.
        closed.arguments[3] |= libc::MAP_NORESERVE as usize;
        closed.arguments[3] &= !(libc::MAP_HUGETLB as usize);
        // SAFETY: the program gives up what is there: it maps over it; no thread may touch it before the call is over.
        let answer = unsafe { self.replace(&closed) }?;
        if has_failed(answer) {
            return Ok(answer);
        }
        if self.source.lend_at(self.next, place.clone()) {
            self.enter(place, Purpose::of(call.arguments[3]));
            return Ok(answer);
        }
        // SAFETY: the source could not lend: the kernel maps what the program asks for, over what it closed.
        Ok(unsafe { call.perform() })
    }

    fn enter(&mut self, lent: Range<usize>, purpose: Purpose) {
        let block = self.next;
        self.next = BlockId(block.0 + 1);
        let (start, end, lent_bytes) = (lent.start, lent.end, lent.len());
        if !self.source.is_native(Kind::Fork) && purpose != Purpose::Shared {
            // A child that was forked past this library gets a hole, not memory that it shares.
            // SAFETY: the memory was just mapped, and what it holds is not changed.
            unsafe { kernel::advise(start, lent_bytes, libc::MADV_DONTFORK) };
        }
        let found = Block {
            purpose,
            lent_bytes,
        };
        self.blocks.insert(block, found);
        let is_inherited = true;
        let extent = Extent {
            end,
            block,
            is_inherited,
        };
        self.extents.insert(start, extent);
        if purpose == Purpose::Heap {
            self.heap.insert(start, HeapBlock { bytes: lent_bytes });
        }
    }

    /// Length of the heap block that starts at `start`.
    pub fn heap_bytes(&self, start: usize) -> Option<usize> {
        Some(self.heap.get(&start)?.bytes)
    }

    /// Unmaps a heap block.
    pub fn free_heap(&mut self, start: usize) {
        let Some(HeapBlock { bytes }) = self.heap.remove(&start) else {
            return;
        };
        // SAFETY: the caller of `free` uses the block no more, and it is ours to unmap.
        unsafe { kernel::unmap(start, bytes) };
        self.forget(start..start + bytes);
    }

    /// Unmaps what a heap block has beyond `bytes`; returns its new length.
    pub fn shrink_heap(&mut self, start: usize, bytes: usize) -> Option<usize> {
        let block = self.heap.get_mut(&start)?;
        let kept = bytes.max(1).next_multiple_of(S::GRANULE);
        let old = block.bytes;
        if kept < old {
            block.bytes = kept;
            // SAFETY: the caller of `realloc` gives these bytes up, and they are ours to unmap.
            unsafe { kernel::unmap(start + kept, old - kept) };
            self.forget(start + kept..start + old);
        }
        Some(kept.min(old))
    }

    /// Every extent that stands for private memory.
    pub fn extents(&self) -> Vec<Range<usize>> {
        self.touched(&(0..usize::MAX))
    }

    /// Of these, those that children of `fork` are to have, or those that they are not.
    pub fn extents_by(&self, is_inherited: bool) -> Vec<Range<usize>> {
        let mut extents = self.extents();
        extents.retain(|extent| {
            let extent = self.extents.get(&extent.start);
            extent.is_some_and(|extent| extent.is_inherited == is_inherited)
        });
        extents
    }

    /// Extents with a byte in `range` that stand for private memory.
    pub fn touched(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut touched = self.all_touched(range);
        touched.retain(|extent| self.purpose(extent) != Some(Purpose::Shared));
        touched
    }

    fn all_touched(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let below_end = self.extents.range(..range.end).rev();
        below_end
            .map(|(&start, extent)| start..extent.end)
            .take_while(|extent| extent.end > range.start)
            .collect()
    }

    pub fn is_huge(&self, extent: &Range<usize>) -> bool {
        self.purpose(extent) == Some(Purpose::HugeMapping)
    }

    fn purpose(&self, extent: &Range<usize>) -> Option<Purpose> {
        let block = self.extents.get(&extent.start)?.block;
        Some(self.blocks.get(&block)?.purpose)
    }

    /// Enters that nothing of `range` is the source's any more.
    pub fn forget(&mut self, range: Range<usize>) {
        for extent in self.all_touched(&range) {
            let part = overlap(&extent, &range);
            let Some(found) = self.extents.remove(&extent.start) else {
                continue;
            };
            if extent.start < part.start {
                let end = part.start;
                self.extents.insert(extent.start, Extent { end, ..found });
            }
            if part.end < found.end {
                self.extents.insert(part.end, found);
            }
            self.source.unmapped(part.clone());
            self.reduce(found.block, part.len());
        }
    }

    /// A block has less of the source's memory.
    fn reduce(&mut self, block: BlockId, bytes: usize) {
        let Some(found) = self.blocks.get_mut(&block) else {
            return;
        };
        found.lent_bytes -= bytes;
        if found.lent_bytes == 0 {
            self.blocks.remove(&block);
            self.source.release_block(block);
        }
    }

    /// This is a forked child. Unless the fork was native, it has holes where memory was lent.
    pub fn enter_child(&mut self) {
        if !self.source.is_native(Kind::Fork) {
            self.extents.clear();
            self.blocks.clear();
        }
        for extent in self.extents_by(false) {
            self.forget(extent);
        }
        self.copies.clear();
        self.source.reset_in_child();
    }

    /// Makes extents plain.
    pub fn make_plain(&mut self, extents: Vec<Range<usize>>) -> Result<(), i32> {
        for part in extents {
            let extent = self.extents.range(..=part.start).next_back();
            let is_inherited = extent.is_none_or(|(_, extent)| extent.is_inherited);
            self.source.make_plain(part.clone())?;
            if !is_inherited {
                plain::set_inherited(&part, false);
            }
            self.forget(part);
        }
        Ok(())
    }

    /// Makes what of `range` is lent plain: whole extents, unless the source can have parts of them.
    pub fn make_range_plain(&mut self, range: &Range<usize>) -> Result<(), i32> {
        let mut extents = self.touched(range);
        if S::PLAIN_IN_PARTS {
            let end = range.end.checked_next_multiple_of(PAGE_BYTES);
            let pages = range.start / PAGE_BYTES * PAGE_BYTES..end.unwrap_or(usize::MAX);
            for extent in &mut extents {
                *extent = overlap(extent, &pages);
            }
        }
        self.make_plain(extents)
    }

    /// A call, as it is on the kernel's memory.
    ///
    /// # Safety
    /// As the call itself.
    pub unsafe fn answer(&mut self, call: &Call) -> Answer {
        // SAFETY: the program asks for this call on memory of its own, and each kind reads the words that the kernel would.
        let answer = unsafe {
            match call.kind() {
                Kind::Map | Kind::Unmap => self.replace(call),
                Kind::Remap => self.remap(call),
                Kind::Advise => self.advise(call),
                Kind::Protect => self.protect(call),
                Kind::Other | Kind::Fork => self.plain_first(call, &call.range()),
            }
        };
        answer.unwrap_or_else(|error| -(refusal(error) as Answer))
    }

    /// A call that leaves nothing of what was in a place.
    ///
    /// # Safety
    /// As the call itself.
    pub unsafe fn replace(&mut self, call: &Call) -> Result<Answer, i32> {
        let range = call.replaces();
        if let Some(range) = &range {
            self.convert_cut_extents(range)?;
        }
        // SAFETY: the program maps or unmaps here, and gives up what is there.
        let answer = unsafe { call.perform() };
        if let Some(range) = range
            && !has_failed(answer)
        {
            self.refuses_huge
                .retain(|refused| overlap(refused, &range).is_empty());
            self.forget(range);
        }
        Ok(answer)
    }

    /// Makes what `range` cuts through, but not at a granule, plain. In a huge mapping the kernel itself refuses such a cut.
    fn convert_cut_extents(&mut self, range: &Range<usize>) -> Result<(), i32> {
        let mut cut = self.touched(range);
        cut.retain(|extent| {
            let part = overlap(extent, range);
            let is_cut = !(part.start | part.end).is_multiple_of(S::GRANULE);
            is_cut && !self.is_huge(extent)
        });
        self.make_plain(cut)
    }

    /// A call on memory that becomes plain first, unless the call is native to it.
    ///
    /// # Safety
    /// As the call itself.
    pub unsafe fn plain_first(&mut self, call: &Call, range: &Range<usize>) -> Result<Answer, i32> {
        if !self.source.is_native(call.kind()) {
            self.make_range_plain(range)?;
        }
        // SAFETY: the range is plain now, or its source bears the call as the kernel makes it: the program asks for it.
        Ok(unsafe { call.perform() })
    }

    unsafe fn protect(&mut self, call: &Call) -> Result<Answer, i32> {
        let range = call.range();
        let is_at_granules = (range.start | range.end).is_multiple_of(S::GRANULE);
        let touched = self.touched(&range);
        if !is_at_granules && touched.iter().any(|extent| self.is_huge(extent)) {
            // The kernel refuses.
            // SAFETY: a part of a huge page cannot be protected: the call changes nothing.
            return Ok(unsafe { call.perform() });
        }
        let is_as_lent = call.number == libc::SYS_mprotect && call.third() == LENT_ACCESS;
        if is_as_lent
            && touched
                .iter()
                .any(|extent| overlap(extent, &range) == range)
        {
            return Ok(0);
        }
        // SAFETY: the program protects its own memory, which keeps its bytes.
        unsafe { self.plain_first(call, &range) }
    }
}

/// The error that a program gets: all of these calls may fail for want of memory.
pub fn refusal(error: i32) -> i32 {
    match error {
        plain::WRITERS_RUN => libc::ENOMEM,
        error => error,
    }
}

pub fn overlap(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}
