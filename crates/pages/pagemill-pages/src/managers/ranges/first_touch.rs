//! Bytes that no side has touched yet: they are in neither memory, and the first touch allocates them where it happens.
//! What a page has beyond the end of its allocation is no data at all, and moves neither way.

use super::{Flight, Ranges};
use crate::managers::events;
use crate::managers::host_link::HostLink;
use crate::timeline::PageChange;
use pagemill_types::{PageRange, Picos, RangeSet};
use std::collections::BTreeMap;

/// Pages with untouched bytes. Data that begin in CPU memory, as inputs of a scenario do, are never listed.
#[derive(Debug, Default)]
pub(super) struct Untouched {
    /// By page, the bytes that have been touched.
    touched: BTreeMap<usize, RangeSet>,
    /// By page that an allocation does not fill, where its data end.
    ends: BTreeMap<usize, u32>,
}

impl Untouched {
    /// Nothing has touched the page, of which `range` is data.
    fn add(&mut self, index: usize, range: PageRange, page_bytes: u32) {
        self.touched.entry(index).or_default();
        if range.end < page_bytes {
            self.ends.insert(index, range.end);
        }
    }

    /// What of a page's range is data.
    pub(super) fn data_of(&self, index: usize, range: PageRange) -> Option<PageRange> {
        let end = self.ends.get(&index).map_or(range.end, |&end| end);
        PageRange::new(range.start, end.min(range.end))
    }

    /// The bytes of the page from `range` on are something from now on.
    fn touch(&mut self, index: usize, range: PageRange, page_bytes: u32) {
        let Some(touched) = self.touched.get_mut(&index) else {
            return;
        };
        touched.insert(range);
        let page = PageRange {
            start: 0,
            end: page_bytes,
        };
        // A page that is touched all over is like one of a scenario's inputs, and needs no entry any more.
        if touched.contains(page) {
            self.touched.remove(&index);
        }
    }

    /// The page is gone.
    pub(super) fn forget(&mut self, index: usize) {
        self.touched.remove(&index);
        self.ends.remove(&index);
    }

    /// Keeps of `planned` what has bytes to move, and puts the rest into `fresh`.
    fn set_apart(
        &self,
        index: usize,
        planned: &mut Vec<PageRange>,
        fresh: &mut Vec<PageRange>,
    ) -> bool {
        let (touched, end) = (self.touched.get(&index), self.ends.get(&index));
        if touched.is_none() && end.is_none() {
            return false;
        }
        for range in std::mem::take(planned) {
            // Beyond the end nothing moves, yet it counts as there: a page without these bytes would never be whole.
            let beyond = end.and_then(|&end| PageRange::new(range.start.max(end), range.end));
            fresh.extend(beyond);
            let Some(data) = self.data_of(index, range) else {
                continue;
            };
            let Some(touched) = touched else {
                planned.push(data);
                continue;
            };
            fresh.extend(touched.missing(data));
            planned.extend(touched.iter().filter_map(|held| {
                PageRange::new(held.start.max(data.start), held.end.min(data.end))
            }));
        }
        true
    }
}

impl Ranges {
    /// The bytes from `address`, all of a new allocation, are in neither memory.
    pub fn start_untouched(&mut self, address: u64, bytes: u64) {
        let page_bytes = 1 << self.page_shift;
        for (index, range) in self.parts(address, bytes) {
            self.untouched.add(index, range, page_bytes);
        }
    }

    /// The CPU has touched the bytes from `address`: those that were in neither memory are in its own.
    pub fn touched_by_host(&mut self, address: u64, bytes: u64) {
        if self.untouched.touched.is_empty() {
            return;
        }
        let page_bytes = 1 << self.page_shift;
        for (index, range) in self.parts(address, bytes) {
            self.untouched.touch(index, range, page_bytes);
        }
    }

    /// The data of a page that are in GPU memory.
    pub(super) fn data_on_gpu(&self, index: usize) -> impl Iterator<Item = PageRange> {
        let valid = self.pages[index].valid().iter();
        valid.filter_map(move |&range| self.untouched.data_of(index, range))
    }

    /// How many bytes of a page are data.
    pub(super) fn data_bytes(&self, index: usize) -> u64 {
        let page = PageRange {
            start: 0,
            end: 1 << self.page_shift,
        };
        self.untouched
            .data_of(index, page)
            .map_or(0, PageRange::bytes)
    }

    /// The pages of the bytes from `address`, and which of their bytes these are.
    fn parts(&self, address: u64, bytes: u64) -> impl Iterator<Item = (usize, PageRange)> + use<> {
        let (shift, first_page, end) = (self.page_shift, self.first_page, address + bytes);
        (address >> shift..end.div_ceil(1 << shift)).filter_map(move |page| {
            let start = page << shift;
            let range = PageRange::new(
                address.saturating_sub(start) as u32,
                (end - start).min(1 << shift) as u32,
            )?;
            Some(((page - first_page) as usize, range))
        })
    }

    /// Allocates what is planned for a page and was never touched: `planned` keeps what has to move. Returns when the
    /// last of it is there.
    pub(super) fn populate(&mut self, at: Picos, index: usize, host_link: &mut HostLink) -> Picos {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.clear();
        let mut all_done = at;
        if self
            .untouched
            .set_apart(index, &mut self.planned, &mut fresh)
        {
            let page_bytes = 1 << self.page_shift;
            for &range in fresh.iter().chain(&self.planned) {
                self.untouched.touch(index, range, page_bytes);
            }
            for &range in &fresh {
                all_done = all_done.max(self.allocate_range(at, index, range, host_link));
            }
        }
        self.fresh = fresh;
        all_done
    }

    /// The range begins to be in GPU memory. The unit looks for it in CPU memory first, so it takes a migration's time but
    /// for the transfer.
    fn allocate_range(
        &mut self,
        at: Picos,
        index: usize,
        range: PageRange,
        host_link: &mut HostLink,
    ) -> Picos {
        let ready = at.max(self.frame_free_at(index)) + self.spec.fault_overhead;
        let done = ready + self.spec.update;
        let is_moved = false;
        let flight = Flight {
            range,
            done,
            is_moved,
        };
        self.flights[index].insert(at, flight);
        let Some(range) = self.untouched.data_of(index, range) else {
            return done;
        };
        self.counts.populated_bytes += range.bytes();
        host_link
            .ledger
            .book(self.addresses(index).start, |traffic| {
                traffic.populated_bytes += range.bytes();
            });
        host_link.timeline.page(PageChange {
            cause: events::FIRST_TOUCH,
            page: self.first_page + index as u64,
            range,
            start: at,
            done,
            place: 0,
        });
        done
    }
}
