//! The stocks and the states of pages say the same.

use pagemill_types::{Invariants, first_broken};

use super::{JobId, Ledger, PageId, PageState};

impl Ledger {
    fn all_pages(&self, holds: impl Fn(PageId, PageState) -> bool) -> bool {
        let mut pages = self.pages.iter().enumerate();
        pages.all(|(index, page)| holds(PageId(index), page.state))
    }

    /// Whether `page`, if it is clean, is in the stock of the owner that it is bound to, and otherwise in none.
    fn is_in_its_stock(&self, page: PageId, state: PageState) -> bool {
        let bound = self.pages[page.0].bound;
        self.clean.iter().all(|(owner, stock)| {
            let belongs = state == PageState::Clean && *owner == bound;
            stock.contains(&page) == belongs
        })
    }

    fn works_on(&self, job: JobId, page: PageId) -> bool {
        self.jobs
            .get(&job)
            .is_some_and(|pages| pages.contains(&page))
    }
}

impl Invariants for Ledger {
    fn broken_invariant(&self) -> Option<String> {
        let stocked: usize = self.clean.values().map(|stock| stock.len()).sum();
        let has_job = |page, state| match state {
            PageState::Zeroing(job)
            | PageState::Quarantined(job)
            | PageState::Waiting { job, .. }
            | PageState::Expired { job, .. } => self.works_on(job, page),
            _ => true,
        };
        first_broken([
            (
                self.all_pages(|page, state| {
                    self.dirty.contains(&page) == (state == PageState::Dirty)
                }),
                "the list of dirty pages is not that of the pages in state dirty",
            ),
            (
                self.all_pages(|page, state| self.is_in_its_stock(page, state)),
                "a page is in a stock of clean pages that is not its own",
            ),
            (
                stocked == self.clean_pages && self.counts().clean == stocked,
                "the number of clean pages is not that of the stocks",
            ),
            (
                self.clean.values().all(|stock| !stock.is_empty()),
                "an empty stock is kept",
            ),
            (
                self.all_pages(has_job),
                "a page waits for an engine that has no order for it",
            ),
            (
                self.jobs.keys().all(|job| job.0 < self.next_job),
                "the number of an open order will be used again",
            ),
        ])
    }
}
