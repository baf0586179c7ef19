use pagemill_types::{PageRange, RangeSet};

use super::{MigrationPolicy, PolicyEntry};
use crate::surroundings::Surroundings;

/// Keeps one contiguous valid range: the gap between it and a request moves too (Zhang et al. 2019, section 4.1).
#[derive(Clone, Copy, Debug)]
pub struct SingleRange;

impl SingleRange {
    /// How scenarios find this policy.
    pub const ENTRY: PolicyEntry = PolicyEntry {
        name: "single-range",
        summary: "one contiguous valid range a page; the gap up to a request moves with it",
        parameters: &["unit"],
        build: &|_| Box::new(Self),
    };
}

impl MigrationPolicy for SingleRange {
    fn plan(
        &self,
        _page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        _: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        let hull = valid.hull().map_or(request, |hull| hull.hull(request));
        fetch.extend(valid.missing(hull));
    }

    fn range_limit(&self) -> Option<u32> {
        Some(1)
    }
}
