//! Ranges that become valid when their migration ends (Zhang et al. 2019, sections 3.3 and 4.1).
//!
//! Until then a request plans by what has arrived: it moves its own part of the page, with the gap to the ranges that are
//! there, although bytes of it may be on their way for another request that it does not merge with.

use super::{Asker, Move, PageRequest, Ranges, Touch};
use crate::managers::MergeScope;
use crate::managers::events;
use crate::managers::host_link::HostLink;
use pagemill_policy::migration::{GpuDecision, PageState};
use pagemill_types::{PageRange, Picos, RangeSet};
use std::collections::BTreeMap;

/// Migrations that have not ended, by page.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    pages: BTreeMap<usize, Vec<Arrival>>,
}

/// A range on its way.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    range: PageRange,
    done: Picos,
    asker: Asker,
    /// Whether bytes cross the link; what is allocated instead is for all.
    is_moved: bool,
}

impl Arrivals {
    /// Takes what has arrived at `at` in a page.
    fn take(&mut self, index: usize, at: Picos) -> Vec<PageRange> {
        let Some(pending) = self.pages.get_mut(&index) else {
            return Vec::new();
        };
        let arrived = pending.iter().filter(|arrival| arrival.done <= at);
        let arrived: Vec<_> = arrived.map(|arrival| arrival.range).collect();
        // Not left as an empty list: that the page has none is how `land` says that nothing is on its way.
        if arrived.len() == pending.len() {
            self.pages.remove(&index);
        } else if !arrived.is_empty() {
            pending.retain(|arrival| arrival.done > at);
        }
        arrived
    }

    /// What is on its way to a page for those that `shares` says.
    fn on_the_way(
        &self,
        index: usize,
        shares: impl Fn(Asker) -> bool,
    ) -> impl Iterator<Item = &Arrival> {
        let pending = self.pages.get(&index).into_iter().flatten();
        pending.filter(move |arrival| !arrival.is_moved || shares(arrival.asker))
    }
}

impl Ranges {
    /// A GPU request, where ranges become valid at their arrival.
    pub(super) fn request_by_arrivals(
        &mut self,
        at: Picos,
        index: usize,
        request: PageRequest,
        host_link: &mut HostLink,
    ) -> Touch {
        if self.land(index, at) && self.pages[index].state() == PageState::ValidInGpu {
            self.is_whole[index] = true;
            self.forget_flights(index);
            return Touch::Here(at);
        }
        let known = at + self.spec.query;
        let range = self.range_of(request);
        // Planned and not committed: the page has a range when it arrives, in `land`.
        let decision = self.plan(index, range);
        if decision == GpuDecision::Local {
            return Touch::Here(known);
        }
        let asker = request.asker;
        let shared = self.ranges_on_the_way(index, |other| self.merges(asker, other));
        // What this request merges with need not move for it. Bytes on their way for others do.
        let missing: Vec<_> = self
            .planned
            .iter()
            .flat_map(|&planned| shared.missing(planned))
            .collect();
        if !missing.is_empty()
            // A request that moves nothing needs no entry, and a full buffer does not stop it.
            && let Some(free_at) = self.full_until(known, asker, host_link)
        {
            return Touch::LooksUpAgain(free_at);
        }
        match missing.is_empty() {
            true => self.counts.joined_requests += 1,
            false => self.fetch_missing(known, index, &missing, asker, host_link),
        }
        Touch::Arrives(self.arrival_for(known, index, range, asker))
    }

    /// What is on its way to a page for those that `shares` says.
    fn ranges_on_the_way(&self, index: usize, shares: impl Fn(Asker) -> bool) -> RangeSet {
        let mut ranges = RangeSet::new();
        let arrivals = self.arrivals.iter();
        for arrival in arrivals.flat_map(|all| all.on_the_way(index, &shares)) {
            ranges.insert(arrival.range);
        }
        ranges
    }

    /// Whether a request of `asker` waits for a migration of `other`.
    fn merges(&self, asker: Asker, other: Asker) -> bool {
        match self.owner(asker) {
            Some(owner) => self.owner(other) == Some(owner),
            None => self.spec.merge == MergeScope::Gpu,
        }
    }

    fn fetch_missing(
        &mut self,
        at: Picos,
        index: usize,
        missing: &[PageRange],
        asker: Asker,
        host_link: &mut HostLink,
    ) {
        self.note_fault(index);
        self.make_room(at, index, host_link);
        // Before this request adds its own: what of it overlaps these crosses the link once more.
        let before = self.ranges_on_the_way(index, |_| true);
        self.planned.clear();
        self.planned.extend_from_slice(missing);
        // What no side has touched has no bytes to move: it is taken out of `planned`.
        let there = self.populate(at, index, host_link);
        let moved = std::mem::take(&mut self.planned);
        if let Some(arrivals) = &mut self.arrivals {
            let fresh = self.fresh.iter().map(|&range| Arrival {
                range,
                done: there,
                asker,
                is_moved: false,
            });
            arrivals.pages.entry(index).or_default().extend(fresh);
        }
        for &range in &moved {
            let cause = match before.overlaps(range) {
                false => events::FAULT,
                true => events::REPEAT,
            };
            let done = self.transfer(at, index, Move { range, cause }, asker, host_link);
            self.count_again(done, (index, range), &before, host_link);
            self.flights[index].extend_until(done);
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.pages.entry(index).or_default().push(Arrival {
                    range,
                    done,
                    asker,
                    is_moved: true,
                });
            }
        }
        self.planned = moved;
    }

    /// When the last byte of `range` is there for `asker`, `known` at the earliest: of what it merges with, and its own.
    fn arrival_for(&self, known: Picos, index: usize, range: PageRange, asker: Asker) -> Picos {
        // Where nothing merges, a request still waits for what it moves itself.
        let waits_for = |other| self.merges(asker, other) || asker == other;
        let arrivals = self.arrivals.iter();
        let awaited = arrivals.flat_map(|all| all.on_the_way(index, waits_for));
        awaited
            .filter(|arrival| arrival.range.overlaps(range))
            .fold(known, |latest, arrival| latest.max(arrival.done))
    }

    /// Makes valid what has arrived in a page at `at`. True where nothing is on its way any more.
    fn land(&mut self, index: usize, at: Picos) -> bool {
        let Some(arrivals) = &mut self.arrivals else {
            return true;
        };
        for range in arrivals.take(index, at) {
            self.pages[index].arrive(&self.migration, range);
        }
        !arrivals.pages.contains_key(&index)
    }

    /// Makes valid all that is on its way to a page, before the page leaves the GPU.
    pub(super) fn land_all(&mut self, index: usize) {
        self.land(index, Picos(u64::MAX));
    }

    /// Makes valid all that is on its way to any page, before pages are counted.
    pub fn land_everything(&mut self) {
        for index in 0..self.pages.len() {
            self.land_all(index);
        }
    }
}
