use pagemill_types::{PageRange, RangeSet};

use super::{MigrationPolicy, PolicyEntry};
use crate::surroundings::Surroundings;

/// Moves the whole page at its first request: what unified memory does today (Zhang et al. 2019, fig. 1a).
#[derive(Clone, Copy, Debug)]
pub struct WholePage;

impl WholePage {
    /// How scenarios find this policy.
    pub const ENTRY: PolicyEntry = PolicyEntry {
        name: "whole-page",
        summary: "the first request moves the whole page",
        parameters: &[],
        build: &|_| Box::new(Self),
    };
}

impl MigrationPolicy for WholePage {
    fn plan(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        _request: PageRange,
        _: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        let page = PageRange {
            start: 0,
            end: page_bytes,
        };
        fetch.extend(valid.missing(page));
    }

    fn range_limit(&self) -> Option<u32> {
        Some(1)
    }
}
