use std::fmt;

use pagemill_types::{PageRange, RangeSet};

use super::Migration;
use crate::surroundings::{Alone, Surroundings};

/// Where the bytes of a page may be used in place (Zhang et al. 2019, fig. 1b).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PageState {
    /// Wholly in CPU memory.
    #[default]
    ValidInCpu,
    /// Some ranges are in GPU memory, the rest in CPU memory.
    PartialValid,
    /// Wholly in GPU memory.
    ValidInGpu,
}

impl fmt::Display for PageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ValidInCpu => "valid-in-CPU",
            Self::PartialValid => "partial-valid",
            Self::ValidInGpu => "valid-in-GPU",
        })
    }
}

/// What a GPU request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuDecision {
    /// Every requested byte is in GPU memory.
    Local,
    /// Something has to move first.
    Fetch {
        /// How much moves.
        bytes: u64,
    },
}

/// What a CPU request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuDecision {
    /// The page is in CPU memory.
    Local,
    /// The page has to come back, all of it.
    BringBack {
        /// Page size in bytes: what moves.
        page_bytes: u64,
        /// How much of it was valid in GPU memory.
        gpu_valid_bytes: u64,
        /// The state the page leaves.
        was: PageState,
    },
}

/// State and valid ranges of one page.
///
/// The state is the one after every decided transfer has arrived; who waits for which transfer is a matter of
/// time, and the caller keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    state: PageState,
    valid: RangeSet,
}

impl Page {
    /// A page in CPU memory.
    pub const fn new() -> Self {
        Self {
            state: PageState::ValidInCpu,
            valid: RangeSet::new(),
        }
    }

    /// Where the page is.
    pub fn state(&self) -> PageState {
        self.state
    }

    /// The ranges in GPU memory.
    pub fn valid(&self) -> &RangeSet {
        &self.valid
    }

    /// Decides a GPU access to the bytes `request` of a page with nothing around it, and appends to `fetch` what moves for it,
    /// ascending and disjoint.
    ///
    /// # Panics
    /// If `request` is empty or reaches past the page, or if the policy leaves part of it behind.
    pub fn gpu_request(
        &mut self,
        migration: &Migration,
        request: PageRange,
        fetch: &mut Vec<PageRange>,
    ) -> GpuDecision {
        let planned = fetch.len();
        let decision = self.plan(migration, request, &Alone, fetch);
        if decision != GpuDecision::Local {
            self.commit(migration, request, &fetch[planned..]);
        }
        decision
    }

    /// The ranges `planned` for `request` are valid from now on.
    ///
    /// # Panics
    /// If the policy leaves part of the request behind.
    pub fn commit(&mut self, migration: &Migration, request: PageRange, planned: &[PageRange]) {
        for &range in planned {
            self.insert(migration, range);
        }
        assert!(
            self.valid.contains(request),
            "policy {} left part of request {request} in CPU memory",
            migration.spec().policy.name
        );
    }

    /// Decides a GPU access to the bytes `request`, appends to `fetch` what moves for it, and leaves the page as it is, until
    /// [`Page::commit`], or [`Page::arrive`] where ranges become valid when their migration ends.
    ///
    /// # Panics
    /// If `request` is empty or reaches past the page.
    pub fn plan(
        &self,
        migration: &Migration,
        request: PageRange,
        around: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) -> GpuDecision {
        let page_bytes = migration.page_bytes();
        assert!(
            request.start < request.end && request.end <= page_bytes,
            "request {request} is not within a page of {page_bytes} B"
        );
        if self.state == PageState::ValidInGpu || self.valid.contains(request) {
            return GpuDecision::Local;
        }
        let planned = fetch.len();
        let (policy, units) = (migration.policy(), migration.round_out(request));
        policy.plan(page_bytes, &self.valid, units, around, fetch);
        let bytes = fetch[planned..].iter().map(|&range| range.bytes()).sum();
        GpuDecision::Fetch { bytes }
    }

    /// A migration of `range` has ended. Migrations that were planned beside each other can leave more ranges than the page's
    /// entry holds: the two with the smallest gap then become one, which covers bytes that never moved (Zhang et al. 2019,
    /// section 4.1: an entry of one range has one offset and one length).
    pub fn arrive(&mut self, migration: &Migration, range: PageRange) {
        self.insert(migration, range);
        let Some(limit) = migration.policy().range_limit() else {
            return;
        };
        while self.valid.len() > limit as usize {
            let Some(gap) = self.valid.gaps().min_by_key(|gap| gap.bytes()) else {
                return;
            };
            self.insert(migration, gap);
        }
    }

    /// `range` is valid from now on.
    fn insert(&mut self, migration: &Migration, range: PageRange) {
        self.valid.insert(range);
        self.state = if self.valid.covered_bytes() == u64::from(migration.page_bytes()) {
            PageState::ValidInGpu
        } else {
            PageState::PartialValid
        };
    }

    /// Decides a CPU access: afterwards the page is wholly in CPU memory.
    pub fn cpu_request(&mut self, migration: &Migration) -> CpuDecision {
        if self.state == PageState::ValidInCpu {
            return CpuDecision::Local;
        }
        let decision = CpuDecision::BringBack {
            // The page returns as a whole (section 3.2), also where little of it ever left. Whether that moves its
            // bytes or the valid ones alone is for the page manager (`gmmu.cpu_return`).
            page_bytes: u64::from(migration.page_bytes()),
            gpu_valid_bytes: self.valid.covered_bytes(),
            was: self.state,
        };
        self.state = PageState::ValidInCpu;
        self.valid.clear();
        decision
    }
}
