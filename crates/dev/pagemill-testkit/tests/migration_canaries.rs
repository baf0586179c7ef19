//! The contract has teeth: each of these policies is wrong in one way, and is caught for that.

use pagemill_policy::migration::{MigrationPolicy, PolicyEntry};
use pagemill_policy::surroundings::Surroundings;
use pagemill_testkit::migration_policy_contract;
use pagemill_types::{PageRange, RangeSet};

/// Moves what `what` says about (page bytes, valid ranges, request); claims one range a page if `limited`.
#[derive(Debug)]
struct Canary {
    what: fn(u32, &RangeSet, PageRange) -> Vec<PageRange>,
    limited: bool,
}

impl MigrationPolicy for Canary {
    fn plan(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        _: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        fetch.extend((self.what)(page_bytes, valid, request));
    }

    fn range_limit(&self) -> Option<u32> {
        self.limited.then_some(1)
    }
}

macro_rules! canary {
    ($test:ident, $expected:literal, limited: $limited:literal, $what:expr) => {
        #[test]
        #[should_panic(expected = $expected)]
        fn $test() {
            static ENTRY: PolicyEntry = PolicyEntry {
                name: "canary",
                summary: "is wrong",
                parameters: &[],
                build: &|_| {
                    Box::new(Canary {
                        what: $what,
                        limited: $limited,
                    })
                },
            };
            migration_policy_contract(&ENTRY);
        }
    };
}

canary!(forgetting_the_request, "left part of request", limited: false, |_, _, _| Vec::new());

canary!(moving_valid_bytes_again, "valid already", limited: false, |_, _, request| vec![request]);

canary!(descending_ranges, "ascending", limited: false, |_, valid, request| {
    let mut ranges: Vec<PageRange> = valid.missing(request).collect();
    ranges.reverse();
    ranges
});

canary!(leaving_the_page, "within the page", limited: false, |page_bytes, _, request| {
    vec![PageRange { start: request.start, end: page_bytes + 32 }]
});

canary!(cutting_units, "whole units", limited: false, |page_bytes, valid, request| {
    let more = PageRange { start: request.start, end: (request.end + 1).min(page_bytes) };
    valid.missing(more).collect()
});

canary!(breaking_its_limit, "within the limit", limited: true, |_, valid, request| valid.missing(request).collect());

#[derive(Debug, Default)]
struct Forgetful(std::sync::atomic::AtomicU32);

impl MigrationPolicy for Forgetful {
    fn plan(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        _: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        let calls = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let whole = PageRange {
            start: 0,
            end: page_bytes,
        };
        fetch.extend(valid.missing(if calls.is_multiple_of(2) {
            request
        } else {
            whole
        }));
    }
}

#[test]
#[should_panic(expected = "the same question has the same answer")]
fn hidden_memory() {
    static ENTRY: PolicyEntry = PolicyEntry {
        name: "forgetful",
        summary: "remembers how often it was asked",
        parameters: &[],
        build: &|_| Box::new(Forgetful::default()),
    };
    migration_policy_contract(&ENTRY);
}

#[derive(Debug)]
struct Eraser;

impl MigrationPolicy for Eraser {
    fn plan(
        &self,
        _: u32,
        valid: &RangeSet,
        request: PageRange,
        _: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        fetch.clear();
        fetch.extend(valid.missing(request));
    }
}

#[test]
#[should_panic(expected = "ranges are appended")]
fn erasing_what_others_fetch() {
    static ENTRY: PolicyEntry = PolicyEntry {
        name: "eraser",
        summary: "empties the list it should append to",
        parameters: &[],
        build: &|_| Box::new(Eraser),
    };
    migration_policy_contract(&ENTRY);
}
