//! Two users, a few pages, an engine and a CPU that do one small thing at a time, in every order.

use std::collections::{BTreeMap, BTreeSet};

use pagemill_policy::zeroing::{
    Fault, JobId, Ledger, Mode, Owner, PageId, PageState, Settings, Watermarks,
};
use pagemill_types::Invariants;

const USERS: [Owner; 2] = [Owner(0), Owner(1)];

/// A planted mistake, to see that the exploration finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    None,
    /// A page counts as unreachable while the former holder maps it.
    NoProof,
    /// An engine counts as fenced off, and writes on.
    NoFence,
    /// The engine says that it is done, and writes nothing.
    NoEngine,
}

/// What a user must never see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// Bytes of an earlier holder.
    Leak,
    /// Zeroes, or bytes of another, where it wrote.
    Wipe,
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bytes {
    Zeroes,
    /// Whatever was there before the first lease.
    Boot,
    Of(Owner),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lease {
    owner: Owner,
    wrote: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    ledger: Ledger,
    bytes: Vec<Bytes>,
    leases: Vec<Option<Lease>>,
    /// Users that gave the page back and map it still.
    former: Vec<BTreeSet<Owner>>,
    /// Pages that the engine has yet to write.
    engine: BTreeMap<JobId, BTreeSet<PageId>>,
    faults_left: u32,
    jobs_left: u32,
}

/// What an exploration met.
#[derive(Debug, Default)]
pub struct Explored {
    pub worlds: usize,
    pub violations: BTreeSet<Violation>,
    /// States that some page was in.
    pub states: BTreeSet<&'static str>,
}

/// Visits every world that can be reached.
pub fn explore(mode: Mode, flaw: Flaw, pages: usize, faults: u32) -> Explored {
    let mut explored = Explored::default();
    let mut seen = BTreeSet::new();
    let mut open = vec![World::new(mode, pages, faults)];
    while let Some(world) = open.pop() {
        if !seen.insert(world.clone()) {
            continue;
        }
        assert_eq!(world.ledger.broken_invariant(), None);
        explored.violations.extend(world.violations());
        explored.states.extend(world.state_names());
        open.extend(world.successors(flaw));
    }
    explored.worlds = seen.len();
    explored
}

impl World {
    fn new(mode: Mode, pages: usize, faults: u32) -> Self {
        let settings = Settings {
            mode,
            watermarks: Watermarks {
                low_pages: 1,
                high_pages: pages,
            },
            batch_pages: 2,
        };
        settings.check().expect("settings that make sense");
        Self {
            ledger: Ledger::new(settings, pages),
            bytes: vec![Bytes::Boot; pages],
            leases: vec![None; pages],
            former: vec![BTreeSet::new(); pages],
            engine: BTreeMap::new(),
            faults_left: faults,
            jobs_left: faults,
        }
    }

    /// What users would see if they looked now. They may look at any time.
    fn violations(&self) -> impl Iterator<Item = Violation> {
        let pages = self.leases.iter().zip(&self.bytes);
        pages.filter_map(|(lease, bytes)| match (lease.as_ref()?, bytes) {
            (Lease { wrote: false, .. }, Bytes::Zeroes) => None,
            (Lease { wrote: false, .. }, _) => Some(Violation::Leak),
            (lease, bytes) => (*bytes != Bytes::Of(lease.owner)).then_some(Violation::Wipe),
        })
    }

    fn state_names(&self) -> impl Iterator<Item = &'static str> {
        let states = self.pages().filter_map(|page| self.ledger.state(page));
        states.map(|state| match state {
            PageState::Dirty => "dirty",
            PageState::Zeroing(_) => "zeroing",
            PageState::Clearing(_) => "clearing",
            PageState::Waiting { .. } => "waiting",
            PageState::Expired { .. } => "expired",
            PageState::Clean => "clean",
            PageState::Lent(_) => "lent",
            PageState::Returned => "returned",
            PageState::Quarantined(_) => "quarantined",
        })
    }

    fn pages(&self) -> impl Iterator<Item = PageId> + use<> {
        (0..self.bytes.len()).map(PageId)
    }

    /// Every world that one step leads to.
    fn successors(&self, flaw: Flaw) -> Vec<Self> {
        let mut next = Vec::new();
        if self.faults_left > 0 {
            next.extend(USERS.map(|user| self.after(|world| world.fault(user))));
        }
        for page in self.pages() {
            self.page_steps(page, flaw, &mut next);
        }
        if self.jobs_left > 0 {
            let mut world = self.clone();
            if let Some(batch) = world.ledger.take_batch() {
                world.jobs_left -= 1;
                world
                    .engine
                    .insert(batch.job, batch.pages.into_iter().collect());
                next.push(world);
            }
        }
        for (&job, to_write) in &self.engine {
            self.engine_steps(job, to_write, flaw, &mut next);
        }
        next
    }

    fn after(&self, step: impl FnOnce(&mut Self)) -> Self {
        let mut world = self.clone();
        step(&mut world);
        world
    }

    fn fault(&mut self, owner: Owner) {
        self.faults_left -= 1;
        match self.ledger.fault(owner) {
            Fault::Map(page) => self.map(page, owner),
            Fault::ClearThenMap(_) | Fault::Exhausted => {}
            Fault::Wait { page, job } => {
                self.engine.insert(job, BTreeSet::from([page]));
            }
            Fault::MapNow { page, job } => {
                self.map(page, owner);
                self.engine.insert(job, BTreeSet::from([page]));
            }
        }
    }

    fn map(&mut self, page: PageId, owner: Owner) {
        assert!(self.leases[page.0].is_none(), "two holders of one page");
        self.leases[page.0] = Some(Lease {
            owner,
            wrote: false,
        });
    }

    fn page_steps(&self, page: PageId, flaw: Flaw, next: &mut Vec<Self>) {
        let index = page.0;
        if let Some(PageState::Clearing(owner)) = self.ledger.state(page) {
            next.push(self.after(|world| {
                world.bytes[index] = Bytes::Zeroes;
                world.ledger.cleared(page).expect("it was being cleared");
                world.map(page, owner);
            }));
        }
        if let Some(Lease { owner, .. }) = self.leases[index] {
            next.push(self.after(|world| {
                world.bytes[index] = Bytes::Of(owner);
                world.leases[index] = Some(Lease { owner, wrote: true });
            }));
            next.push(self.after(|world| {
                world.ledger.returned(page).expect("it was lent");
                world.leases[index] = None;
                world.former[index].insert(owner);
            }));
        }
        for &owner in &self.former[index] {
            next.push(self.after(|world| world.bytes[index] = Bytes::Of(owner)));
            next.push(self.after(|world| {
                world.former[index].remove(&owner);
            }));
        }
        let is_returned = self.ledger.state(page) == Some(PageState::Returned);
        if is_returned && (self.former[index].is_empty() || flaw == Flaw::NoProof) {
            next.push(self.after(|world| {
                let told = world.ledger.unreachable(page, None);
                told.expect("it was returned");
            }));
        }
    }

    fn engine_steps(
        &self,
        job: JobId,
        to_write: &BTreeSet<PageId>,
        flaw: Flaw,
        next: &mut Vec<Self>,
    ) {
        for &page in to_write {
            next.push(self.after(|world| {
                world.bytes[page.0] = Bytes::Zeroes;
                world.engine.entry(job).or_default().remove(&page);
            }));
        }
        if to_write.is_empty() || flaw == Flaw::NoEngine {
            next.push(self.after(|world| world.engine_done(job)));
        }
        let fails = self.after(|world| {
            let _ = world.ledger.failed(job);
        });
        next.push(fails);
        let expires = self.after(|world| {
            let _ = world.ledger.deadline(job);
        });
        next.push(expires);
        let is_given_up = self.pages().any(|page| {
            let state = self.ledger.state(page);
            matches!(state, Some(PageState::Quarantined(own) | PageState::Expired { job: own, .. }) if own == job)
        });
        if is_given_up {
            next.push(self.after(|world| {
                if flaw != Flaw::NoFence {
                    world.engine.remove(&job);
                }
                world.ledger.fenced(job).expect("the job was open");
            }));
        }
    }

    fn engine_done(&mut self, job: JobId) {
        self.engine.remove(&job);
        let waiting: Vec<(PageId, Owner)> = self
            .pages()
            .filter_map(|page| match self.ledger.state(page) {
                Some(PageState::Waiting { job: own, owner }) if own == job => Some((page, owner)),
                _ => None,
            })
            .collect();
        // After a fence without force the ledger knows nothing of the job any more: it refuses, rightly.
        if self.ledger.done(job).is_ok() {
            for (page, owner) in waiting {
                self.map(page, owner);
            }
        }
        // Late: the fault has given up and still fences the engine off.
        let is_expired = self.pages().any(
            |page| matches!(self.ledger.state(page), Some(PageState::Expired { job: own, .. }) if own == job),
        );
        if is_expired {
            self.engine.insert(job, BTreeSet::new());
        }
    }
}
