mod invariants;

use std::collections::{BTreeMap, BTreeSet};

use super::{Counts, Event, JobId, Mode, Owner, PageId, PageState, Refused, Settings};

/// What has to happen before a faulting user runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The page is clean: map it.
    Map(PageId),
    /// Clear the page, report [`Ledger::cleared`], then map it.
    ClearThenMap(PageId),
    /// Have an engine clear the page and wait. [`Ledger::done`] lets it be mapped; past the deadline, call
    /// [`Ledger::deadline`].
    Wait {
        /// The page to clear.
        page: PageId,
        /// How the engine reports.
        job: JobId,
    },
    /// Map the page, and have an engine clear it some time. Only [`Mode::OffloadAsync`] says so.
    MapNow {
        /// The page to map, as it is.
        page: PageId,
        /// How the engine reports.
        job: JobId,
    },
    /// No page can be lent now.
    Exhausted,
}

/// Pages that an engine is to clear in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How the engine reports.
    pub job: JobId,
    /// In ascending order.
    pub pages: Vec<PageId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    state: PageState,
    /// The only owner that may get this page: others only after it was renewed.
    bound: Option<Owner>,
}

/// The states of all pages, and the decisions that follow from them.
///
/// Each step takes time logarithmic in the number of pages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ledger {
    settings: Settings,
    pages: Vec<Page>,
    dirty: BTreeSet<PageId>,
    clean: BTreeMap<Option<Owner>, BTreeSet<PageId>>,
    clean_pages: usize,
    jobs: BTreeMap<JobId, Vec<PageId>>,
    next_job: u64,
    refilling: bool,
}

impl Ledger {
    /// A ledger of `pages` pages, all of them dirty and without an owner.
    pub fn new(settings: Settings, pages: usize) -> Self {
        let page = Page {
            state: PageState::Dirty,
            bound: None,
        };
        Self {
            settings,
            pages: vec![page; pages],
            dirty: (0..pages).map(PageId).collect(),
            clean: BTreeMap::new(),
            clean_pages: 0,
            jobs: BTreeMap::new(),
            next_job: 0,
            refilling: false,
        }
    }

    /// The state of a page; `None` past the last.
    pub fn state(&self, page: PageId) -> Option<PageState> {
        Some(self.pages.get(page.0)?.state)
    }

    /// The only owner that may get `page` as it is; `None` where any may.
    pub fn bound(&self, page: PageId) -> Option<Owner> {
        self.pages.get(page.0)?.bound
    }

    /// How many pages are in which state.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for page in &self.pages {
            counts.add(page.state);
        }
        counts
    }

    /// A fault of `owner`: which page it gets, and what comes before.
    pub fn fault(&mut self, owner: Owner) -> Fault {
        if self.settings.mode.clears_ahead()
            && let Some(page) = self.lend_clean(owner)
        {
            return Fault::Map(page);
        }
        // A page bound to another owner is no way out even when it would be cleared first: the proof that freed it
        // holds within that owner.
        let may_have = |page: &&PageId| self.pages[page.0].bound.is_none_or(|only| only == owner);
        let Some(&page) = self.dirty.iter().find(may_have) else {
            return Fault::Exhausted;
        };
        match self.settings.mode {
            Mode::Inline | Mode::Pool | Mode::OnFree => {
                self.set(page, PageState::Clearing(owner));
                Fault::ClearThenMap(page)
            }
            Mode::OffloadWait => {
                let job = self.open_job(vec![page]);
                self.set(page, PageState::Waiting { job, owner });
                Fault::Wait { page, job }
            }
            Mode::OffloadAsync => {
                let job = self.open_job(vec![page]);
                self.set(page, PageState::Lent(owner));
                Fault::MapNow { page, job }
            }
        }
    }

    /// Lends a clean page to `owner`, if there is one: rather one that only this owner may get.
    pub fn lend_clean(&mut self, owner: Owner) -> Option<PageId> {
        let first = |bound| self.clean.get(&bound).and_then(BTreeSet::first).copied();
        // Pages that only this owner may get go first: what is bound serves no other, and the common stock lasts
        // longer.
        let page = first(Some(owner)).or_else(|| first(None))?;
        self.set(page, PageState::Lent(owner));
        Some(page)
    }

    /// How many pages [`Ledger::lend_clean`] could lend to `owner` now.
    pub fn clean_for(&self, owner: Owner) -> usize {
        let count = |bound| self.clean.get(&bound).map_or(0, BTreeSet::len);
        count(Some(owner)) + count(None)
    }

    /// The CPU has cleared the page of a [`Fault::ClearThenMap`], or of a fenced-off [`Fault::Wait`]: it is lent.
    ///
    /// # Errors
    /// The page is not being cleared by a CPU.
    pub fn cleared(&mut self, page: PageId) -> Result<(), Refused> {
        match self.require(page, Event::Cleared)? {
            PageState::Clearing(owner) => {
                self.set(page, PageState::Lent(owner));
                Ok(())
            }
            state => Err(refused(page, state, Event::Cleared)),
        }
    }

    /// Pages for an engine to clear, if the stock is low.
    pub fn take_batch(&mut self) -> Option<Batch> {
        let wanted = self.wanted()?;
        let pages: Vec<PageId> = self.dirty.iter().take(wanted).copied().collect();
        if pages.is_empty() {
            return None;
        }
        let job = self.open_job(pages.clone());
        for &page in &pages {
            self.set(page, PageState::Zeroing(job));
        }
        Some(Batch { job, pages })
    }

    /// How many pages the next batch may have; `None` where nothing is to be cleared ahead.
    fn wanted(&mut self) -> Option<usize> {
        let Settings {
            mode,
            watermarks,
            batch_pages,
        } = self.settings;
        // What engines work on counts as stock, or each fault would order it once more while it is on its way.
        let on_the_way: usize = self.jobs.values().map(Vec::len).sum();
        let stock = self.clean_pages + on_the_way;
        match mode {
            Mode::OnFree => Some(batch_pages),
            Mode::Pool => {
                // Two marks, not one: between them a fault that takes a page does not wake an engine for a batch of
                // one.
                if stock < watermarks.low_pages {
                    self.refilling = true;
                } else if stock >= watermarks.high_pages {
                    self.refilling = false;
                }
                self.refilling
                    .then(|| batch_pages.min(watermarks.high_pages.saturating_sub(stock)))
            }
            Mode::Inline | Mode::OffloadWait | Mode::OffloadAsync => None,
        }
    }

    /// The engine has written every byte of its pages. After a deadline or a failure it is too late, and changes nothing.
    ///
    /// # Errors
    /// There is no such job.
    pub fn done(&mut self, job: JobId) -> Result<(), Refused> {
        let pages = self.job(job, Event::Done(job))?;
        // Only a fence ends what was given up.
        let is_given_up = |page: &PageId| {
            let state = self.pages[page.0].state;
            matches!(state, PageState::Expired { .. } | PageState::Quarantined(_))
        };
        if pages.iter().any(is_given_up) {
            return Ok(());
        }
        self.jobs.remove(&job);
        for page in pages {
            match self.pages[page.0].state {
                PageState::Zeroing(own) if own == job => self.set(page, PageState::Clean),
                PageState::Waiting { job: own, owner } if own == job => {
                    self.set(page, PageState::Lent(owner));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The engine failed, or is silent for too long: its pages are out of use until it is fenced off.
    ///
    /// # Errors
    /// There is no such job, or a fault waits for it: that is what [`Ledger::deadline`] is for.
    pub fn failed(&mut self, job: JobId) -> Result<(), Refused> {
        let pages = self.job(job, Event::Failed(job))?;
        for &page in &pages {
            let state = self.pages[page.0].state;
            if matches!(state, PageState::Waiting { .. } | PageState::Expired { .. }) {
                return Err(refused(page, state, Event::Failed(job)));
            }
        }
        for page in pages {
            if self.pages[page.0].state == PageState::Zeroing(job) {
                self.set(page, PageState::Quarantined(job));
            }
        }
        Ok(())
    }

    /// The fault that waits for `job` waits no longer: fence the engine off, report [`Ledger::fenced`], clear the page
    /// that is returned, report [`Ledger::cleared`].
    ///
    /// # Errors
    /// No fault waits for this job.
    pub fn deadline(&mut self, job: JobId) -> Result<PageId, Refused> {
        let event = Event::Deadline(job);
        let pages = self.job(job, event)?;
        let Some(&page) = pages.first() else {
            return Err(Refused { event, page: None });
        };
        match self.pages[page.0].state {
            PageState::Waiting { owner, .. } => {
                self.set(page, PageState::Expired { job, owner });
                Ok(page)
            }
            state => Err(refused(page, state, event)),
        }
    }

    /// The engine can write to the pages of `job` no more: its access was revoked, or it has ended.
    ///
    /// # Errors
    /// There is no such job.
    pub fn fenced(&mut self, job: JobId) -> Result<(), Refused> {
        let pages = self.job(job, Event::Fenced(job))?;
        self.jobs.remove(&job);
        for page in pages {
            match self.pages[page.0].state {
                // How far the engine got is unknown: the CPU clears all of the page again.
                PageState::Expired { owner, .. } | PageState::Waiting { owner, .. } => {
                    self.set(page, PageState::Clearing(owner));
                }
                PageState::Zeroing(_) | PageState::Quarantined(_) => {
                    self.set(page, PageState::Dirty);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The holder gives the page back. It may still have a mapping.
    ///
    /// # Errors
    /// The page is not lent.
    pub fn returned(&mut self, page: PageId) -> Result<(), Refused> {
        match self.require(page, Event::Returned)? {
            PageState::Lent(_) => {
                self.set(page, PageState::Returned);
                Ok(())
            }
            state => Err(refused(page, state, Event::Returned)),
        }
    }

    /// Proof is there that the former holder has neither mapping nor descriptor. With `bound`, the page is cleared for
    /// that owner only, until it is [`renewed`](Ledger::renewed): a proof that leaves something open between two
    /// users may do within one.
    ///
    /// # Errors
    /// The page was not returned.
    pub fn unreachable(&mut self, page: PageId, bound: Option<Owner>) -> Result<(), Refused> {
        match self.require(page, Event::Unreachable)? {
            PageState::Returned => {
                self.pages[page.0].bound = bound;
                self.set(page, PageState::Dirty);
                Ok(())
            }
            state => Err(refused(page, state, Event::Unreachable)),
        }
    }

    /// The memory behind the page went back to where it came from, and other memory has taken its place.
    ///
    /// # Errors
    /// A process holds the page, or an engine works on it.
    pub fn renewed(&mut self, page: PageId) -> Result<(), Refused> {
        match self.require(page, Event::Renewed)? {
            PageState::Dirty | PageState::Clean | PageState::Returned => {
                // Out of the stock of its owner before it loses the owner.
                self.set(page, PageState::Returned);
                self.pages[page.0].bound = None;
                self.set(page, PageState::Dirty);
                Ok(())
            }
            state => Err(refused(page, state, Event::Renewed)),
        }
    }

    fn open_job(&mut self, pages: Vec<PageId>) -> JobId {
        let job = JobId(self.next_job);
        self.next_job += 1;
        self.jobs.insert(job, pages);
        job
    }

    fn job(&self, job: JobId, event: Event) -> Result<Vec<PageId>, Refused> {
        let pages = self.jobs.get(&job).cloned();
        pages.ok_or(Refused { event, page: None })
    }

    fn require(&self, page: PageId, event: Event) -> Result<PageState, Refused> {
        self.state(page).ok_or(Refused { event, page: None })
    }

    /// Takes a page out of the stocks.
    fn forget(&mut self, page: PageId) {
        self.dirty.remove(&page);
        let Page { state, bound } = self.pages[page.0];
        if state == PageState::Clean
            && let Some(stock) = self.clean.get_mut(&bound)
        {
            stock.remove(&page);
            self.clean_pages -= 1;
            if stock.is_empty() {
                self.clean.remove(&bound);
            }
        }
    }

    fn set(&mut self, page: PageId, state: PageState) {
        self.forget(page);
        self.pages[page.0].state = state;
        match state {
            PageState::Dirty => {
                self.dirty.insert(page);
            }
            PageState::Clean => {
                let bound = self.pages[page.0].bound;
                self.clean.entry(bound).or_default().insert(page);
                self.clean_pages += 1;
            }
            _ => {}
        }
    }
}

fn refused(page: PageId, state: PageState, event: Event) -> Refused {
    Refused {
        event,
        page: Some((page, state)),
    }
}
