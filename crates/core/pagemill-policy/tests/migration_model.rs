//! The three policies against one `bool` a unit: random requests to large pages.

use pagemill_policy::migration::{FullSlotRule, Migration, MigrationSpec, POLICIES, Page};
use pagemill_testkit::migration::{Rule, UnitMap};
use pagemill_types::{PageRange, PageSize};
use proptest::prelude::*;

const RULES: [(&str, Rule); 3] = [
    ("whole-page", Rule::WholePage),
    ("single-range", Rule::SingleRange),
    ("multi-range", Rule::MultiRange),
];

fn any_spec() -> impl Strategy<Value = (MigrationSpec, Rule)> {
    let values = (
        prop::sample::select(&RULES[..]),
        8u32..=16,
        0u32..=8,
        0u32..=5000,
        prop::option::of(1u32..=6),
        prop::sample::select(&FullSlotRule::ALL[..]),
    );
    values.prop_map(
        |((name, rule), page_shift, unit_shift, threshold, slots, when_full)| {
            let page = PageSize::new(1 << page_shift).unwrap();
            let spec = MigrationSpec {
                unit_bytes: 1 << unit_shift,
                gap_threshold_bytes: threshold,
                range_slots: slots,
                when_full,
                ..MigrationSpec::new(page, POLICIES.find(name).unwrap())
            };
            (spec, rule)
        },
    )
}

/// A request of at most 512 B somewhere in the page, or `None`: the CPU asks.
type Request = Option<(u32, u32)>;

fn any_requests() -> impl Strategy<Value = Vec<Request>> {
    let gpu = (any::<u32>(), 1u32..=512).prop_map(Some);
    prop::collection::vec(prop_oneof![12 => gpu, 1 => Just(None)], 1..40)
}

fn placed((start, bytes): (u32, u32), migration: &Migration) -> PageRange {
    let start = start % migration.page_bytes();
    PageRange {
        start,
        end: (start + bytes).min(migration.page_bytes()),
    }
}

proptest! {
    #[test]
    fn pages_hold_what_the_model_holds((spec, rule) in any_spec(), requests in any_requests()) {
        let migration = spec.build().unwrap();
        let (mut page, mut model) = (Page::new(), UnitMap::new(&spec));
        let mut fetch = Vec::new();
        for request in requests {
            if let Some(request) = request {
                let request = placed(request, &migration);
                page.gpu_request(&migration, request, &mut fetch);
                model.request(&spec, rule, request);
            } else {
                page.cpu_request(&migration);
                model = UnitMap::new(&spec);
            }
            prop_assert_eq!(page.valid(), &model.ranges());
        }
    }
}
