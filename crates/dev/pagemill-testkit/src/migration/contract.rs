use std::collections::BTreeSet;

use pagemill_policy::migration::{
    CpuDecision, GpuDecision, Migration, MigrationSpec, Page, PageState, PolicyEntry,
};
use pagemill_policy::surroundings::Alone;
use pagemill_types::{PageRange, RangeSet};

use super::{every_range, small_specs};

/// How much the contract tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContractReport {
    /// Specifications built from the entry.
    pub specs: usize,
    /// Distinct pages reached, over all specifications.
    pub pages: usize,
    /// GPU requests decided.
    pub requests: usize,
}

/// Checks that a migration policy keeps its contract in every state it can reach on a small page.
///
/// From an untouched page, every request is tried in every page that requests lead to. A page remembers
/// nothing but its valid ranges, so this covers sequences of requests of any length.
///
/// # Panics
/// On the first breach, with policy, specification, page and request.
pub fn migration_policy_contract(entry: &'static PolicyEntry) -> ContractReport {
    assert!(
        !entry.summary.is_empty(),
        "policy {} has no summary",
        entry.name
    );
    let spelled = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    assert!(
        !entry.name.is_empty() && entry.name.chars().all(spelled),
        "{:?} is no policy name",
        entry.name
    );
    let mut report = ContractReport::default();
    for spec in [32, 64, 256]
        .into_iter()
        .flat_map(|unit| small_specs(entry, unit))
    {
        explore(&spec, &mut report);
    }
    report
}

/// Tries every request in every page that `spec` can lead to.
fn explore(spec: &MigrationSpec, report: &mut ContractReport) {
    let migration = spec
        .build()
        .unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    let mut seen: BTreeSet<Vec<PageRange>> = BTreeSet::from([Vec::new()]);
    let mut open = vec![Page::new()];
    report.specs += 1;
    while let Some(page) = open.pop() {
        report.pages += 1;
        for request in every_range(spec) {
            report.requests += 1;
            let next = Step {
                migration: &migration,
                before: &page,
                request,
            }
            .check();
            if seen.insert(next.valid().as_slice().to_vec()) {
                open.push(next);
            }
        }
    }
}

/// One GPU request to one page.
struct Step<'a> {
    migration: &'a Migration,
    before: &'a Page,
    request: PageRange,
}

impl Step<'_> {
    /// The page afterwards, all of it checked.
    fn check(&self) -> Page {
        let mut page = self.before.clone();
        if self.before.valid().contains(self.request) {
            self.check_local(&mut page);
            return page;
        }
        let planned = self.check_plan();
        let mut fetch = Vec::new();
        let decision = page.gpu_request(self.migration, self.request, &mut fetch);
        self.require(fetch == planned, "the page moves what the policy planned");
        let bytes = planned.iter().map(|range| range.bytes()).sum();
        self.require(
            decision == GpuDecision::Fetch { bytes },
            "the decision says how much moves",
        );
        self.check_page(&page, &planned);
        self.check_local(&mut page);
        self.check_way_back(page.clone());
        page
    }

    /// Asks the policy itself, and checks the ranges it names.
    fn check_plan(&self) -> Vec<PageRange> {
        const OTHER: PageRange = PageRange { start: 1, end: 2 };
        let plan = |mut fetch: Vec<PageRange>| {
            let policy = self.migration.policy();
            policy.plan(
                self.migration.page_bytes(),
                self.before.valid(),
                self.request,
                &Alone,
                &mut fetch,
            );
            fetch
        };
        let planned = plan(Vec::new());
        self.require(
            planned == plan(Vec::new()),
            "the same question has the same answer",
        );
        let appended = plan(vec![OTHER]);
        let kept = appended.first() == Some(&OTHER) && appended[1..] == planned[..];
        self.require(
            kept,
            "ranges are appended, and depend on nothing in the list",
        );

        let page = PageRange {
            start: 0,
            end: self.migration.page_bytes(),
        };
        for range in &planned {
            self.require(range.start < range.end, "no range is empty");
            self.require(page.contains(*range), "ranges lie within the page");
            self.require(
                *range == self.migration.round_out(*range),
                "ranges are whole units",
            );
            self.require(
                !self.before.valid().overlaps(*range),
                "nothing moves that is valid already",
            );
        }
        let ascending = planned.windows(2).all(|pair| pair[0].end <= pair[1].start);
        self.require(ascending, "ranges are ascending and disjoint");
        planned
    }

    fn check_page(&self, page: &Page, planned: &[PageRange]) {
        self.require(
            page.valid().contains(self.request),
            "the request is valid afterwards",
        );
        let mut expected: RangeSet = self.before.valid().clone();
        expected.extend(planned.iter().copied());
        self.require(
            *page.valid() == expected,
            "valid is what was valid and what moved",
        );
        let limit = self.migration.policy().range_limit();
        let ranges = page.valid().len();
        self.require(
            limit.is_none_or(|limit| ranges <= limit as usize),
            "ranges stay within the limit",
        );
        let whole = page.valid().covered_bytes() == u64::from(self.migration.page_bytes());
        let state = if whole {
            PageState::ValidInGpu
        } else {
            PageState::PartialValid
        };
        self.require(
            page.state() == state,
            "the page is valid in the GPU exactly if no byte is missing",
        );
    }

    /// Everything requested is there: nothing moves, nothing changes.
    fn check_local(&self, page: &mut Page) {
        let before = page.clone();
        let mut fetch = Vec::new();
        let decision = page.gpu_request(self.migration, self.request, &mut fetch);
        self.require(
            decision == GpuDecision::Local && fetch.is_empty(),
            "what is valid moves no second time",
        );
        self.require(*page == before, "a local access changes nothing");
    }

    fn check_way_back(&self, mut page: Page) {
        let expected = CpuDecision::BringBack {
            page_bytes: u64::from(self.migration.page_bytes()),
            gpu_valid_bytes: page.valid().covered_bytes(),
            was: page.state(),
        };
        self.require(
            page.cpu_request(self.migration) == expected,
            "a CPU request brings the page back",
        );
        self.require(page == Page::new(), "a page that came back is as new");
        self.require(
            page.cpu_request(self.migration) == CpuDecision::Local,
            "it comes back once",
        );
    }

    #[track_caller]
    fn require(&self, kept: bool, rule: &str) {
        assert!(
            kept,
            "policy {} breaks the contract ({rule}): request {} to a page with {:?} under {:?}",
            self.migration.spec().policy.name,
            self.request,
            self.before.valid().as_slice(),
            self.migration.spec(),
        );
    }
}
