//! Worked cases that a reader can follow, and the values that are refused.

use pagemill_policy::migration::{
    CpuDecision, FullSlotRule, GpuDecision, MigrationSpec, MigrationSpecError, POLICIES, Page,
    PageState,
};
use pagemill_policy::surroundings::Alone;
use pagemill_types::{PageRange, PageSize};

const KIB: u32 = 1024;

/// Kibibyte `start` up to kibibyte `end`.
fn kib(start: u32, end: u32) -> PageRange {
    PageRange {
        start: start * KIB,
        end: end * KIB,
    }
}

fn spec(policy: &str) -> MigrationSpec {
    MigrationSpec::new(
        PageSize::new(64 << 10).unwrap(),
        POLICIES.find(policy).unwrap(),
    )
}

/// The valid ranges after `requests`, in KiB.
fn after(spec: &MigrationSpec, requests: &[PageRange]) -> Vec<(u32, u32)> {
    let migration = spec.build().unwrap();
    let mut page = Page::new();
    for &request in requests {
        page.gpu_request(&migration, request, &mut Vec::new());
    }
    page.valid()
        .iter()
        .map(|range| (range.start / KIB, range.end / KIB))
        .collect()
}

#[test]
fn the_first_request_moves_the_whole_page() {
    assert_eq!(after(&spec("whole-page"), &[kib(30, 31)]), [(0, 64)]);
}

#[test]
fn a_single_range_takes_the_gap_along() {
    assert_eq!(
        after(&spec("single-range"), &[kib(30, 31), kib(10, 11)]),
        [(10, 31)]
    );
}

#[test]
fn many_ranges_take_only_gaps_under_the_threshold() {
    let mut spec = spec("multi-range");
    spec.gap_threshold_bytes = 4 * KIB;
    assert_eq!(
        after(&spec, &[kib(10, 11), kib(14, 15)]),
        [(10, 15)],
        "a gap of 3 KiB"
    );
    assert_eq!(
        after(&spec, &[kib(10, 11), kib(15, 16)]),
        [(10, 11), (15, 16)],
        "a gap of 4 KiB"
    );
    assert_eq!(
        after(&spec, &[kib(10, 11), kib(16, 17), kib(13, 14)]),
        [(10, 17)],
        "gaps on both sides"
    );
}

#[test]
fn full_slots_close_the_gap_that_their_rule_names() {
    let requests = [kib(10, 11), kib(13, 14), kib(50, 51)];
    let mut spec = spec("multi-range");
    spec.range_slots = Some(2);
    assert_eq!(after(&spec, &requests), [(10, 14), (50, 51)]);
    spec.when_full = FullSlotRule::NearestRange;
    assert_eq!(after(&spec, &requests), [(10, 11), (13, 51)]);
}

#[test]
fn requests_are_rounded_out_to_units() {
    for policy in ["single-range", "multi-range"] {
        let request = PageRange {
            start: 5 * KIB - 1,
            end: 5 * KIB + 1,
        };
        assert_eq!(after(&spec(policy), &[request]), [(4, 6)], "{policy}");
    }
}

#[test]
fn a_page_goes_through_its_three_states() {
    let migration = spec("multi-range").build().unwrap();
    let mut page = Page::new();
    let mut fetch = Vec::new();
    assert_eq!(page.state(), PageState::ValidInCpu);
    assert_eq!(page.cpu_request(&migration), CpuDecision::Local);

    let decision = page.gpu_request(&migration, kib(0, 32), &mut fetch);
    assert_eq!(decision, GpuDecision::Fetch { bytes: 32 << 10 });
    assert_eq!(page.state(), PageState::PartialValid);

    page.gpu_request(&migration, kib(16, 64), &mut fetch);
    assert_eq!(page.state(), PageState::ValidInGpu);
    assert_eq!(fetch, [kib(0, 32), kib(32, 64)]);

    let back = CpuDecision::BringBack {
        page_bytes: 65_536,
        gpu_valid_bytes: 65_536,
        was: PageState::ValidInGpu,
    };
    assert_eq!(page.cpu_request(&migration), back);
    assert_eq!(page.state(), PageState::ValidInCpu);
}

#[test]
fn a_partly_valid_page_comes_back_whole() {
    let migration = spec("single-range").build().unwrap();
    let mut page = Page::new();
    page.gpu_request(&migration, kib(3, 4), &mut Vec::new());
    let back = CpuDecision::BringBack {
        page_bytes: 65_536,
        gpu_valid_bytes: 1024,
        was: PageState::PartialValid,
    };
    assert_eq!(page.cpu_request(&migration), back);
}

#[test]
#[should_panic(expected = "65535..65537 is not within a page of 65536 B")]
fn a_request_past_the_page_is_refused() {
    let migration = spec("whole-page").build().unwrap();
    let request = PageRange {
        start: 65_535,
        end: 65_537,
    };
    Page::new().gpu_request(&migration, request, &mut Vec::new());
}

#[test]
fn the_largest_page_has_no_overflow() {
    let page_size = PageSize::new(1 << 30).unwrap();
    let mut spec = MigrationSpec::new(page_size, POLICIES.find("multi-range").unwrap());
    spec.unit_bytes = 1 << 30;
    let migration = spec.build().unwrap();
    let mut page = Page::new();
    let last = PageRange {
        start: (1 << 30) - 1,
        end: 1 << 30,
    };
    page.gpu_request(&migration, last, &mut Vec::new());
    assert_eq!(page.state(), PageState::ValidInGpu);
}

#[test]
fn values_that_cannot_work_are_refused() {
    for unit_bytes in [0, 3, 1000, 65_537, 1 << 17] {
        let error = MigrationSpec {
            unit_bytes,
            ..spec("multi-range")
        }
        .build()
        .unwrap_err();
        assert_eq!(
            error,
            MigrationSpecError::Unit {
                unit_bytes,
                page_bytes: 65_536
            }
        );
        assert!(
            error
                .to_string()
                .contains("use a power of two from 1 B to 65536 B"),
            "{error}"
        );
    }
    let error = MigrationSpec {
        range_slots: Some(0),
        ..spec("multi-range")
    }
    .build()
    .unwrap_err();
    assert_eq!(error, MigrationSpecError::NoRangeSlot);
}

#[test]
fn rules_are_found_by_their_names() {
    for rule in FullSlotRule::ALL {
        assert_eq!(rule.name().parse(), Ok(rule));
    }
    let message = "largest-gap"
        .parse::<FullSlotRule>()
        .unwrap_err()
        .to_string();
    assert!(message.contains("smallest-gap, nearest-range"), "{message}");
}

/// The valid ranges after migrations of `ranges` have ended, in KiB.
fn after_arrivals(spec: &MigrationSpec, ranges: &[PageRange]) -> Vec<(u32, u32)> {
    let migration = spec.build().unwrap();
    let mut page = Page::new();
    for &range in ranges {
        page.arrive(&migration, range);
    }
    let in_kib = |range: &PageRange| (range.start / KIB, range.end / KIB);
    page.valid().iter().map(in_kib).collect()
}

#[test]
fn an_entry_that_is_too_small_for_what_arrives_covers_the_smallest_gap() {
    let arrivals = [kib(30, 31), kib(10, 11), kib(50, 51)];
    assert_eq!(after_arrivals(&spec("single-range"), &arrivals), [(10, 51)]);
    let mut two = spec("multi-range");
    two.range_slots = Some(2);
    assert_eq!(after_arrivals(&two, &arrivals), [(10, 31), (50, 51)]);
    let many = spec("multi-range");
    assert_eq!(
        after_arrivals(&many, &arrivals),
        [(10, 11), (30, 31), (50, 51)]
    );
}

#[test]
fn a_plan_leaves_the_page_as_it_is() {
    let migration = spec("single-range").build().unwrap();
    let mut page = Page::new();
    page.arrive(&migration, kib(30, 31));
    let before = page.clone();
    let mut planned = Vec::new();
    let decision = page.plan(&migration, kib(10, 11), &Alone, &mut planned);
    assert_eq!(planned, [kib(10, 30)]);
    assert_eq!(
        decision,
        GpuDecision::Fetch {
            bytes: 20 * u64::from(KIB)
        }
    );
    assert_eq!(page, before);
}
