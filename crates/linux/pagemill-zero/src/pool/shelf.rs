use pagemill_linux::hugetlb::{Holders, HugeSize};
use pagemill_policy::zeroing::{Ledger, Mode, Owner, PageId, PageState, Settings, Watermarks};
use pagemill_types::{Invariants, first_broken};

use super::cleaner::{Finished, Order, Outcome, Work};
use super::config::{Recycle, ShelfSpec};
use super::file::File;

/// Files of one length. A *page* of the ledger is a file here.
pub(super) struct Shelf<F> {
    size: HugeSize,
    pub spec: ShelfSpec,
    ledger: Ledger,
    slots: Vec<Slot<F>>,
}

/// One place on a shelf.
struct Slot<F> {
    file: Option<F>,
    /// Who is charged for it, while lent and until no process holds it.
    user: Option<u32>,
}

impl<F> Slot<F> {
    const EMPTY: Self = Self {
        file: None,
        user: None,
    };
}

impl<F: File> Shelf<F> {
    pub fn new(size: HugeSize, spec: ShelfSpec) -> Self {
        let settings = Settings {
            mode: Mode::OnFree,
            watermarks: Watermarks {
                low_pages: spec.files,
                high_pages: spec.files,
            },
            batch_pages: 1,
        };
        Self {
            size,
            spec,
            ledger: Ledger::new(settings, spec.files),
            slots: (0..spec.files).map(|_| Slot::EMPTY).collect(),
        }
    }

    /// Files that `user` could have now.
    pub fn clean_for(&self, user: u32) -> usize {
        self.ledger.clean_for(Owner(user))
    }

    /// Numbers of places by state.
    pub fn counts(&self) -> pagemill_policy::zeroing::Counts {
        self.ledger.counts()
    }

    /// Takes a clean file for `user`.
    pub fn lend(&mut self, user: u32) -> Option<PageId> {
        let page = self.ledger.lend_clean(Owner(user))?;
        self.slots[page.0].user = Some(user);
        Some(page)
    }

    /// The file in a place.
    pub fn file(&self, page: PageId) -> Option<&F> {
        self.slots[page.0].file.as_ref()
    }

    /// The holder lets go of a file. Whether it has, [`Shelf::prove`] finds out.
    pub fn take_back(&mut self, page: PageId) {
        if self.ledger.returned(page).is_err() {
            return;
        }
        let slot = &mut self.slots[page.0];
        let revoked = slot.file.as_ref().is_some_and(|file| file.revoke().is_ok());
        if !revoked {
            // It can be opened again: no proof would last. The kernel has it when the holder is done.
            slot.file = None;
        }
    }

    /// Finds the returned files that no process holds any more. Says for whom how many pages are no longer charged.
    pub fn prove(&mut self, recycle: Recycle, freed: &mut impl FnMut(u32, usize)) {
        for index in 0..self.slots.len() {
            let page = PageId(index);
            if self.ledger.state(page) == Some(PageState::Returned)
                && let Some(user) = self.prove_one(page, recycle)
            {
                freed(user, self.spec.file_pages);
            }
        }
    }

    /// Who is no longer charged for a returned file, if no process holds it.
    fn prove_one(&mut self, page: PageId, recycle: Recycle) -> Option<u32> {
        let slot = &mut self.slots[page.0];
        let user = slot.user;
        let Some(file) = &slot.file else {
            self.renew(page);
            return user;
        };
        match file.holders() {
            Holders::Others => return None,
            Holders::OnlyUs if recycle == Recycle::SameUser && file.is_whole() => {
                slot.user = None;
                // It was returned: its state was looked at before.
                let _ = self.ledger.unreachable(page, user.map(Owner));
            }
            Holders::OnlyUs => {
                // The holder may keep the empty file alive, by a path.
                let _ = file.empty();
                self.renew(page);
            }
            Holders::Unknown => self.renew(page),
        }
        user
    }

    /// Gives the memory in a place back to the kernel; other memory will take its place.
    fn renew(&mut self, page: PageId) {
        if self.ledger.renewed(page).is_ok() {
            self.slots[page.0] = Slot::EMPTY;
        }
    }

    /// Gives up to `files` clean files that only other users could have back to the kernel. Says how many.
    pub fn unbind(&mut self, user: u32, files: usize) -> usize {
        let bound_to_others = |&page: &PageId| {
            let is_idle = matches!(
                self.ledger.state(page),
                Some(PageState::Clean | PageState::Dirty)
            );
            is_idle
                && self
                    .ledger
                    .bound(page)
                    .is_some_and(|owner| owner != Owner(user))
        };
        let pages = (0..self.slots.len()).map(PageId);
        let unbound: Vec<PageId> = pages.filter(bound_to_others).take(files).collect();
        for &page in &unbound {
            if let Some(file) = self.file(page) {
                let _ = file.empty();
            }
            self.renew(page);
        }
        unbound.len()
    }

    /// The next file to make clean.
    pub fn order(&mut self, shelf: usize) -> Option<Order<F>> {
        let batch = self.ledger.take_batch()?;
        let page = *batch.pages.first()?;
        let work = match self.slots[page.0].file.take() {
            Some(file) => Work::Scrub(file),
            None => Work::Fresh {
                size: self.size,
                pages: self.spec.file_pages,
            },
        };
        Some(Order {
            shelf,
            job: batch.job,
            page,
            work,
        })
    }

    /// Puts a finished file on the shelf. `Err` says why there is none.
    pub fn finish(&mut self, finished: Finished<F>) -> Result<(), String> {
        let Finished {
            job, page, outcome, ..
        } = finished;
        // Each order is finished once, so the ledger knows the job.
        match outcome {
            Outcome::Clean(file) => {
                self.slots[page.0].file = Some(file);
                self.ledger.done(job).map_err(|error| error.to_string())
            }
            Outcome::Failed(error) => {
                let _ = self.ledger.failed(job);
                let _ = self.ledger.fenced(job);
                self.renew(page);
                Err(error.to_string())
            }
            Outcome::Stuck(error) => {
                let _ = self.ledger.failed(job);
                Err(error.to_string())
            }
        }
    }
}

impl<F: File> Shelf<F> {
    /// Users that are charged for a file, once for each.
    pub fn charged(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().filter_map(|slot| slot.user)
    }

    fn all_places(&self, holds: impl Fn(&Slot<F>, PageState) -> bool) -> bool {
        let mut places = self.slots.iter().enumerate();
        places.all(|(index, slot)| {
            let state = self.ledger.state(PageId(index));
            state.is_some_and(|state| holds(slot, state))
        })
    }
}

impl<F: File> Invariants for Shelf<F> {
    fn broken_invariant(&self) -> Option<String> {
        let is_charged = |slot: &Slot<F>, state| match state {
            PageState::Lent(owner) => slot.user == Some(owner.0),
            PageState::Returned => slot.user.is_some(),
            _ => slot.user.is_none(),
        };
        first_broken([
            (
                self.all_places(|slot, state| state != PageState::Clean || slot.file.is_some()),
                "a clean place has no file",
            ),
            (
                self.all_places(is_charged),
                "a file is charged to another user than the one that has it",
            ),
        ])
        .or_else(|| self.ledger.broken_invariant())
    }
}
