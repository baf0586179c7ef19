//! Who has what: shelves, leases and what each user is charged for.

use std::collections::BTreeMap;

use pagemill_linux::channel::Peer;
use pagemill_linux::hugetlb::HugeSize;
use pagemill_linux::process::own_user;
use pagemill_policy::zeroing::{Counts, PageId};
use pagemill_types::{Invariants, first_broken};
use pagemill_zero_client::protocol::{Counters, PageCounts, Reason, UserPages};

use super::cleaner::{Finished, Order};
use super::config::{Config, Quota, Recycle};
use super::file::File;
use super::shelf::Shelf;

/// Places of a lease: which shelf, and which place on it.
pub(super) type Places = Vec<(usize, PageId)>;

/// Lengths of files in bytes, and a descriptor of each.
pub(super) type Lent<F> = (Vec<u64>, Vec<<F as File>::Lent>);

/// Why nothing is lent.
pub(super) struct Refusal {
    pub reason: Reason,
    pub message: String,
}

pub(super) struct Inventory<F> {
    size: HugeSize,
    /// The longest files first.
    shelves: Vec<Shelf<F>>,
    pub charged_pages: BTreeMap<u32, usize>,
    quota: Quota,
    /// Whom the pool runs as.
    own_user: u32,
    recycle: Recycle,
    pub counters: Counters,
}

impl<F: File> Inventory<F> {
    pub fn new(config: &Config) -> Self {
        let mut specs = config.shelves.clone();
        specs.sort_by(|a, b| b.cmp(a));
        Self {
            size: config.size,
            shelves: specs
                .into_iter()
                .map(|spec| Shelf::new(config.size, spec))
                .collect(),
            charged_pages: BTreeMap::new(),
            quota: config.quota,
            own_user: own_user(),
            recycle: config.recycle,
            counters: Counters::default(),
        }
    }

    /// Lends at least `bytes` bytes to a user, all or nothing. `claimed_pages` are left to earlier requests.
    pub fn lend(
        &mut self,
        peer: Peer,
        bytes: u64,
        page_bytes: u64,
        single_file: bool,
        claimed_pages: usize,
    ) -> Result<Places, Refusal> {
        let pages = self.pages_for(bytes, page_bytes)?;
        self.check_possible(pages, single_file)?;
        self.check_quota(peer.user, pages)?;
        if !self.leaves(claimed_pages, pages) {
            return Err(self.exhausted(pages));
        }
        let Some(plan) = self.plan(peer.user, pages, single_file) else {
            self.make_room(peer.user, pages);
            return Err(self.exhausted(pages));
        };
        let planned: usize = (plan.iter().zip(&self.shelves))
            .map(|(files, shelf)| files * shelf.spec.file_pages)
            .sum();
        // Files may be longer than what was asked for.
        if !self.leaves(claimed_pages, planned) {
            return Err(self.exhausted(pages));
        }
        self.check_quota(peer.user, planned)?;
        let mut places = Places::new();
        for (index, files) in plan.into_iter().enumerate() {
            let shelf = &mut self.shelves[index];
            let lent = std::iter::repeat_with(|| shelf.lend(peer.user)).take(files);
            places.extend(lent.flatten().map(|page| (index, page)));
        }
        *self.charged_pages.entry(peer.user).or_default() += planned;
        self.counters.leases += 1;
        self.counters.lent_pages += planned as u64;
        self.debug_check();
        Ok(places)
    }

    fn pages_for(&self, bytes: u64, page_bytes: u64) -> Result<usize, Refusal> {
        let own_bytes = self.size.bytes() as u64;
        if page_bytes != own_bytes {
            return Err(refusal(
                Reason::PageSize,
                format!("this pool has pages of {own_bytes} bytes, not of {page_bytes}"),
            ));
        }
        if bytes == 0 {
            return Err(refusal(Reason::Garbage, "0 bytes cannot be lent".into()));
        }
        Ok(usize::try_from(bytes.div_ceil(own_bytes)).unwrap_or(usize::MAX))
    }

    /// What no waiting would change.
    fn check_possible(&self, pages: usize, single_file: bool) -> Result<(), Refusal> {
        let most = if single_file {
            self.shelves
                .first()
                .map_or(0, |shelf| shelf.spec.file_pages)
        } else {
            self.pages()
        };
        if pages > most {
            let what = if single_file {
                "its longest file"
            } else {
                "it"
            };
            return Err(refusal(
                Reason::TooLarge,
                format!("{pages} pages are more than this pool can lend: {what} has {most}"),
            ));
        }
        Ok(())
    }

    /// Whether lending `pages` leaves what others have a claim to.
    fn leaves(&self, claimed_pages: usize, pages: usize) -> bool {
        claimed_pages == 0 || self.idle_pages(true) >= pages.saturating_add(claimed_pages)
    }

    /// Pages that are clean, or will be without anything being returned; the latter only if `is_cleaning`.
    pub fn idle_pages(&self, is_cleaning: bool) -> usize {
        let of_shelf = |shelf: &Shelf<F>| {
            let counts = shelf.counts();
            let files = match is_cleaning {
                true => counts.clean + counts.zeroing + counts.dirty,
                false => counts.clean,
            };
            files * shelf.spec.file_pages
        };
        self.shelves.iter().map(of_shelf).sum()
    }

    /// Pages of a lease.
    pub fn pages_in(&self, places: &[(usize, PageId)]) -> usize {
        let pages = places
            .iter()
            .map(|(shelf, _)| self.shelves[*shelf].spec.file_pages);
        pages.sum()
    }

    fn pages(&self) -> usize {
        let of_shelf = |shelf: &Shelf<F>| shelf.spec.file_pages * shelf.spec.files;
        self.shelves.iter().map(of_shelf).sum()
    }

    fn check_quota(&mut self, user: u32, pages: usize) -> Result<(), Refusal> {
        let charged = self.charged_pages.get(&user).copied().unwrap_or(0);
        let pool_pages = self.pages();
        let quota_pages = self.quota.pages_of(user, self.own_user, pool_pages);
        // A quota of everything is none: then it is pages that lack, and waiting helps.
        if quota_pages < pool_pages && charged + pages > quota_pages {
            self.counters.over_quota += 1;
            return Err(refusal(
                Reason::Quota,
                format!(
                    "user {user} has {charged} pages, lent or not let go of; {pages} more would pass its {quota_pages} \
                     (`pagemill zero serve --quota` sets them)"
                ),
            ));
        }
        Ok(())
    }

    /// How many files of each shelf: as few files as possible. `None` where there is too little.
    fn plan(&self, user: u32, pages: usize, single_file: bool) -> Option<Vec<usize>> {
        let clean: Vec<usize> = self
            .shelves
            .iter()
            .map(|shelf| shelf.clean_for(user))
            .collect();
        let mut plan = vec![0; clean.len()];
        let fits = |index: usize, pages: usize| self.shelves[index].spec.file_pages >= pages;
        if single_file {
            let shortest = (0..clean.len())
                .rev()
                .find(|&index| clean[index] > 0 && fits(index, pages))?;
            plan[shortest] = 1;
            return Some(plan);
        }
        let mut left = pages;
        for (index, shelf) in self.shelves.iter().enumerate() {
            plan[index] = (left / shelf.spec.file_pages).min(clean[index]);
            left -= plan[index] * shelf.spec.file_pages;
        }
        if left > 0 {
            // What remains is less than a file of every shelf that has one left: the shortest such is cut least.
            let spare = (0..clean.len())
                .rev()
                .find(|&index| clean[index] > plan[index] && fits(index, left))?;
            plan[spare] += 1;
            left = self.shelves[spare].spec.file_pages - left;
            // Shorter files that the one more has made needless.
            for (index, shelf) in self.shelves.iter().enumerate().skip(spare + 1) {
                let needless = (left / shelf.spec.file_pages).min(plan[index]);
                plan[index] -= needless;
                left -= needless * shelf.spec.file_pages;
            }
        }
        Some(plan)
    }

    /// Turns files that only others could have into files for all users.
    fn make_room(&mut self, user: u32, pages: usize) {
        let mut left = pages;
        for shelf in &mut self.shelves {
            let files = left.div_ceil(shelf.spec.file_pages);
            left = left.saturating_sub(shelf.unbind(user, files) * shelf.spec.file_pages);
            if left == 0 {
                return;
            }
        }
    }

    fn exhausted(&self, pages: usize) -> Refusal {
        let clean = self.page_counts().clean;
        refusal(
            Reason::Exhausted,
            format!("{pages} pages were asked for, and {clean} of the pool are clean now"),
        )
    }

    /// The lengths of places and a descriptor of each, for the borrower.
    pub fn hand_out(&self, peer: Peer, places: &[(usize, PageId)]) -> Result<Lent<F>, String> {
        let one = |&(shelf, page): &(usize, PageId)| {
            let file = self.shelves[shelf]
                .file(page)
                .ok_or("a clean place is empty")?;
            let lent = file.lend(peer).map_err(|error| error.to_string())?;
            Ok((file.bytes() as u64, lent))
        };
        places.iter().map(one).collect()
    }

    /// The end of a lease.
    pub fn take_back(&mut self, places: Places) {
        for (shelf, page) in places {
            self.shelves[shelf].take_back(page);
        }
        self.prove();
    }

    /// Finds the returned files that no process holds any more.
    pub fn prove(&mut self) {
        let charged = &mut self.charged_pages;
        let mut freed = |user: u32, pages: usize| {
            if let Some(own) = charged.get_mut(&user) {
                *own = own.saturating_sub(pages);
                if *own == 0 {
                    charged.remove(&user);
                }
            }
        };
        for shelf in &mut self.shelves {
            shelf.prove(self.recycle, &mut freed);
        }
        self.debug_check();
    }

    /// The next file to make clean: of the longest that a request waiting for `awaited_pages` can use whole. Otherwise the
    /// shelf with the smallest part of its files clean goes first.
    pub fn order(&mut self, awaited_pages: Option<usize>) -> Option<Order<F>> {
        let mut by_need: Vec<usize> = (0..self.shelves.len()).collect();
        by_need.sort_by_key(|&index| {
            let shelf = &self.shelves[index];
            let is_awaited = awaited_pages.is_some_and(|pages| shelf.spec.file_pages <= pages);
            let clean = shelf.counts().clean * 1024 / shelf.spec.files.max(1);
            // Shelves are in order of their file lengths already.
            (!is_awaited, if is_awaited { 0 } else { clean })
        });
        by_need
            .into_iter()
            .find_map(|index| self.shelves[index].order(index))
    }

    /// Notes a finished order. `Err` says why there is no clean file.
    pub fn finish(&mut self, finished: Finished<F>) -> Result<(), String> {
        let Finished {
            shelf,
            is_fresh,
            wall_ns,
            cpu_ns,
            ..
        } = finished;
        let pages = self.shelves[shelf].spec.file_pages as u64;
        self.counters.cleaner_wall_ns += wall_ns;
        self.counters.cleaner_cpu_ns += cpu_ns;
        let result = self.shelves[shelf].finish(finished);
        match (&result, is_fresh) {
            (Ok(()), true) => self.counters.fresh_pages += pages,
            (Ok(()), false) => self.counters.recycled_pages += pages,
            (Err(_), _) => self.counters.failures += 1,
        }
        self.debug_check();
        result
    }

    /// Whether some file was returned and is still held, or may be.
    pub fn awaits_proof(&self) -> bool {
        self.shelves.iter().any(|shelf| shelf.counts().returned > 0)
    }

    pub fn page_counts(&self) -> PageCounts {
        let mut sum = PageCounts::default();
        for shelf in &self.shelves {
            let Counts {
                dirty,
                zeroing,
                clean,
                lent,
                returned,
                quarantined,
            } = shelf.counts();
            let pages = |files: usize| (files * shelf.spec.file_pages) as u64;
            sum.clean += pages(clean);
            sum.zeroing += pages(zeroing);
            sum.dirty += pages(dirty + quarantined);
            sum.lent += pages(lent);
            sum.returned += pages(returned);
        }
        sum
    }

    pub fn users(&self) -> Vec<UserPages> {
        let users = self.charged_pages.iter();
        users
            .map(|(&user, &pages)| UserPages {
                user,
                pages: pages as u64,
            })
            .collect()
    }
}

impl<F: File> Invariants for Inventory<F> {
    fn broken_invariant(&self) -> Option<String> {
        let mut charged_pages: BTreeMap<u32, usize> = BTreeMap::new();
        for shelf in &self.shelves {
            for user in shelf.charged() {
                *charged_pages.entry(user).or_default() += shelf.spec.file_pages;
            }
        }
        first_broken([(
            charged_pages == self.charged_pages,
            "users are not charged for the pages that they have",
        )])
        .or_else(|| self.shelves.iter().find_map(Invariants::broken_invariant))
    }
}

pub(super) fn refusal(reason: Reason, message: String) -> Refusal {
    Refusal { reason, message }
}
