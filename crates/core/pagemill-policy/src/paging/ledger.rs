use std::ops::Range;

use pagemill_types::{PageRange, RangeSet};

use super::pages::{Page, Pages};
use super::read_ahead::ReadAhead;
use super::{PagingSpec, PagingSpecError, UNIT_BYTES};
use crate::migration::Migration;
use crate::residency::{BLOCK_PAGES, ChunkList, Eviction, Growth, GrowthContext, PageMask};
use crate::surroundings::{FaultHistory, Surroundings};

/// No page is to be kept: what is in transit is no candidate anyway.
const NO_PAGE: u32 = u32::MAX;

/// Units of one page that move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The page.
    pub page: u32,
    /// Units from the page's start.
    pub units: PageMask,
}

/// What a fault moves. Reused from fault to fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// What leaves first, in order: whatever of these pages is in frames.
    pub evict: Vec<Move>,
    /// What comes then, the faulted page first.
    pub fetch: Vec<Move>,
}

/// What a fault meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The unit is in a frame already.
    Resident,
    /// The page is on its way in or out: ask again when it has arrived or left.
    InTransit,
    /// The plan says what moves.
    Planned,
}

/// Which units of each page are in frames.
///
/// Pages in transit are never evicted. A page that receives units is the newest for the eviction policy once they have arrived.
#[derive(Debug)]
pub struct Ledger {
    migration: Migration,
    growth: Box<dyn Growth>,
    eviction: Box<dyn Eviction>,
    read_ahead: Box<dyn ReadAhead>,
    page_units: u32,
    budget_units: u32,
    pages: Pages,
    resident_units: u32,
    /// Pages with units in frames that are not in transit.
    chunks: ChunkList,
    valid: RangeSet,
    ranges: Vec<PageRange>,
    /// Empty unless a policy tracks faults.
    faults: FaultHistory,
    tracks_faults: bool,
}

impl Ledger {
    /// Rules and no pages.
    ///
    /// # Errors
    /// As [`PagingSpec::check`].
    pub fn new(spec: &PagingSpec) -> Result<Self, PagingSpecError> {
        spec.check()?;
        let migration = spec.migration.build().map_err(PagingSpecError::Migration)?;
        let growth = (spec.growth.build)(spec.density_percent);
        Ok(Self {
            tracks_faults: migration.policy().tracks_faults() || growth.tracks_faults(),
            faults: FaultHistory::new(),
            migration,
            growth,
            eviction: (spec.eviction.build)(),
            read_ahead: (spec.read_ahead.build)(),
            page_units: spec.page_units(),
            budget_units: spec.budget_units,
            pages: Pages::new(spec.page_units()),
            resident_units: 0,
            chunks: ChunkList::new(0),
            valid: RangeSet::new(),
            ranges: Vec::new(),
        })
    }

    /// From now on there are at least `pages` pages, whose bytes are not in frames.
    pub fn extend_to(&mut self, pages: u32) {
        self.pages.extend_to(pages);
    }

    /// The first `units` of a block of 2 MiB, none of them in a frame, are memory of the program from now on.
    pub fn enter(&mut self, block: u32, units: u32) {
        self.pages.enter(block, units);
    }

    /// Whether no page of a block was faulted on, since its memory is the program's.
    pub fn is_untouched(&self, block: u32) -> bool {
        self.pages.is_untouched(block)
    }

    /// A block, none of whose units is in a frame or on its way, has no memory any more.
    pub fn leave(&mut self, block: u32) {
        self.pages.leave(block);
    }

    /// Says that `units` of `page`, none of them in a frame, are no memory of the program any more.
    pub fn set_absent(&mut self, page: u32, units: PageMask) {
        let place = self.pages.get_mut(page);
        place.absent = place.absent.or(&units);
    }

    /// Says which units of `page`, none of them in a frame, are memory of the program.
    pub fn set_present(&mut self, page: u32, units: PageMask) {
        let usable = PageMask::range(0..self.page_units);
        self.pages.get_mut(page).absent = PageMask::FULL.without(&usable.and(&units));
    }

    /// Units in frames or on their way in.
    pub fn resident_units(&self) -> u32 {
        self.resident_units
    }

    /// Units of `page` in frames or on their way in.
    pub fn resident(&self, page: u32) -> PageMask {
        self.page(page).resident
    }

    /// Whether `page` is on its way in or out.
    pub fn is_in_transit(&self, page: u32) -> bool {
        self.page(page).in_transit
    }

    fn page(&self, page: u32) -> Page {
        self.pages.get(page).unwrap_or_default()
    }

    /// Decides what moves so that `unit` of `page` is in a frame. What `plan` names is in transit from now on, until
    /// [`Ledger::arrived`] or [`Ledger::left`].
    pub fn fault(&mut self, page: u32, unit: u32, plan: &mut Plan) -> Fault {
        plan.evict.clear();
        plan.fetch.clear();
        let place = self.page(page);
        // Asked first: what is on its way in counts as resident already, and its bytes are not there.
        if place.in_transit {
            return Fault::InTransit;
        }
        if place.resident.contains(unit) {
            return Fault::Resident;
        }
        let first = u64::from(page) * u64::from(self.page_units) + u64::from(unit);
        let wanted = self.read_ahead.faulted(first);
        // Fetches are booked before room is made, so that no victim is a page of the same plan: those are in transit by now.
        self.plan_fetches(page, &wanted, plan);
        if self.tracks_faults {
            self.faults.note(page);
        }
        self.make_room(plan);
        Fault::Planned
    }

    /// The units that the fault in `page` is to bring, as far as they are in its 2 MiB block: those of `page` first.
    fn plan_fetches(&mut self, page: u32, wanted: &Range<u64>, plan: &mut Plan) {
        let page_units = u64::from(self.page_units);
        let block_pages = BLOCK_PAGES / self.page_units;
        let first_page = page / block_pages * block_pages;
        let end_page = (first_page + block_pages).min(self.pages.len());
        let start = wanted.start.max(u64::from(first_page) * page_units);
        let end = wanted.end.min(u64::from(end_page) * page_units);
        let (first, last) = (start / page_units, (end - 1) / page_units);
        // The faulted page leads: a thread waits for it, and none for the others.
        let others = (first as u32..=last as u32).filter(|other| *other != page);
        for fetched in std::iter::once(page).chain(others) {
            let of_page = u64::from(fetched) * page_units;
            let from = start.max(of_page) - of_page;
            let to = end.min(of_page + page_units) - of_page;
            self.plan_page(fetched, PageMask::range(from as u32..to as u32), plan);
        }
    }

    /// What moves so that `wanted` of one page is in frames: grown, then as the migration policy has it.
    fn plan_page(&mut self, page: u32, wanted: PageMask, plan: &mut Plan) {
        let Page {
            resident,
            absent,
            in_transit,
        } = self.page(page);
        let faulted = wanted.without(&absent).without(&resident);
        if in_transit || faulted.is_empty() {
            return;
        }
        let around = Around {
            page,
            pages: &self.pages,
            page_units: self.page_units,
            budget_units: self.budget_units,
            resident_units: self.resident_units,
            faults: &self.faults,
        };
        let context = GrowthContext {
            resident,
            faulted,
            barred: absent,
            host_page_pages: 1,
            around: &around,
        };
        let grown = self.growth.grow(&context).without(&absent);
        self.valid.clear();
        for stretch in resident.stretches() {
            self.valid.insert(bytes_of(stretch));
        }
        let mut units = PageMask::EMPTY;
        for stretch in grown.stretches() {
            let request = bytes_of(stretch);
            // A policy may have moved more than the stretch before this one asked for.
            if self.valid.contains(request) {
                continue;
            }
            self.ranges.clear();
            let page_bytes = self.page_units * UNIT_BYTES;
            let policy = self.migration.policy();
            policy.plan(page_bytes, &self.valid, request, &around, &mut self.ranges);
            for &range in &self.ranges {
                self.valid.insert(range);
                units = units.or(&units_of(range));
            }
        }
        let units = units.without(&absent);
        let place = self.pages.get_mut(page);
        place.resident = resident.or(&units);
        place.in_transit = true;
        self.chunks.remove(page);
        self.resident_units += units.count();
        plan.fetch.push(Move { page, units });
    }

    /// Evicts until what is planned fits. Nothing is left to evict where all is in transit: then there are more units than frames for a while.
    fn make_room(&mut self, plan: &mut Plan) {
        while self.resident_units > self.budget_units && !self.chunks.is_empty() {
            let Some(page) = self.eviction.victim(&self.chunks, NO_PAGE) else {
                return;
            };
            self.chunks.remove(page);
            // All of it: the list ranks pages, and knows nothing of their units.
            let place = self.pages.get_mut(page);
            let units = std::mem::take(&mut place.resident);
            place.in_transit = true;
            self.resident_units -= units.count();
            plan.evict.push(Move { page, units });
        }
    }

    /// What was to be fetched of `page` is in frames.
    pub fn arrived(&mut self, page: u32) {
        self.end_transit(page);
    }

    /// `page` was evicted, but for `kept`: units that cannot leave now.
    pub fn left(&mut self, page: u32, kept: PageMask) {
        let place = self.pages.get_mut(page);
        place.resident = place.resident.or(&kept);
        self.resident_units += kept.count();
        self.end_transit(page);
    }

    /// Puts `page`, which is not in transit, in transit as it is, until [`Ledger::put_back`].
    pub fn hold(&mut self, page: u32) {
        let place = self.pages.get_mut(page);
        debug_assert!(!place.in_transit);
        place.in_transit = true;
        self.chunks.remove(page);
    }

    /// Ends [`Ledger::hold`]: only `units` of those in frames still are.
    pub fn put_back(&mut self, page: u32, units: PageMask) {
        let place = self.pages.get_mut(page);
        let before = place.resident.count();
        place.resident = place.resident.and(&units);
        self.resident_units -= before - place.resident.count();
        self.end_transit(page);
    }

    fn end_transit(&mut self, page: u32) {
        let place = self.pages.get_mut(page);
        debug_assert!(place.in_transit);
        place.in_transit = false;
        if !place.resident.is_empty() {
            // Newest at its arrival, not at its fault: a page that was long on its way is not the next to go.
            self.chunks.extend_to(page + 1);
            self.chunks.push(page);
        }
    }

    /// Forgets that `units` of `page`, which is not in transit, are in frames; returns those that were.
    pub fn discard(&mut self, page: u32, units: PageMask) -> PageMask {
        if self.page(page).resident.is_empty() {
            return PageMask::EMPTY;
        }
        let place = self.pages.get_mut(page);
        debug_assert!(!place.in_transit);
        let gone = place.resident.and(&units);
        place.resident = place.resident.without(&units);
        self.resident_units -= gone.count();
        if place.resident.is_empty() {
            self.chunks.remove(page);
        }
        gone
    }
}

/// What lies around a page in frames.
#[derive(Debug)]
struct Around<'a> {
    page: u32,
    pages: &'a Pages,
    page_units: u32,
    budget_units: u32,
    resident_units: u32,
    faults: &'a FaultHistory,
}

impl Around<'_> {
    fn holds_memory(&self, page: Page) -> bool {
        !PageMask::range(0..self.page_units)
            .without(&page.absent)
            .is_empty()
    }
}

impl Surroundings for Around<'_> {
    fn page(&self) -> u32 {
        self.page
    }

    fn allocation(&self) -> std::ops::Range<u32> {
        let held = |page: &u32| {
            let page = self.pages.get(*page);
            page.is_some_and(|page| self.holds_memory(page))
        };
        let below = (0..self.page).rev().take_while(held).count() as u32;
        let above = (self.page..self.pages.len()).take_while(held).count() as u32;
        self.page - below..self.page + above.max(1)
    }

    fn valid_bytes(&self, page: u32) -> u64 {
        let page = self.pages.get(page);
        page.map_or(0, |page| {
            u64::from(page.resident.count()) * u64::from(UNIT_BYTES)
        })
    }

    fn frames(&self) -> Option<u64> {
        Some(u64::from(self.budget_units / self.page_units))
    }

    fn free_frames(&self) -> Option<u64> {
        let free = self.budget_units.saturating_sub(self.resident_units);
        Some(u64::from(free / self.page_units))
    }

    fn faults(&self) -> &FaultHistory {
        self.faults
    }
}

fn bytes_of(units: Range<u32>) -> PageRange {
    PageRange {
        start: units.start * UNIT_BYTES,
        end: units.end * UNIT_BYTES,
    }
}

fn units_of(bytes: PageRange) -> PageMask {
    PageMask::range(bytes.start / UNIT_BYTES..bytes.end.div_ceil(UNIT_BYTES))
}
