//! ATT caches against a trivial model, and what the document says of the published one.

use pagemill_policy::translation::{AttSpec, Lookup, ORGANIZATIONS, TableLayout, lines_ahead};
use pagemill_testkit::translation::ModelCache;
use pagemill_testkit::translation_organization_contract;
use pagemill_types::PageSize;
use proptest::prelude::*;

#[test]
fn every_organization_keeps_the_contract() {
    for entry in &ORGANIZATIONS {
        translation_organization_contract(entry);
    }
}

fn specs() -> impl Strategy<Value = AttSpec> {
    (0..ORGANIZATIONS.len(), 0u32..4, 0u32..8, 0u32..4, 12u32..22).prop_map(
        |(organization, group, groups, ways, page)| {
            let layout = TableLayout {
                page: PageSize::new(1 << page).expect("a power of two"),
                large: None,
                entry_bytes: 8,
                group_entries: 1 << group,
            };
            AttSpec {
                layout,
                organization: &ORGANIZATIONS[organization],
                cache_bytes: layout.group_bytes() << groups,
                ways: 1 << ways.min(groups),
                prefetch_groups: 0,
            }
        },
    )
}

#[derive(Clone, Debug)]
enum Use {
    Lookup(u64),
    Invalidate(u64, u64),
}

fn uses() -> impl Strategy<Value = Vec<Use>> {
    let entry = || {
        prop_oneof![
            0u64..64,
            0u64..5000,
            any::<u64>().prop_map(|entry| entry >> 20)
        ]
    };
    let one = prop_oneof![
        9 => entry().prop_map(Use::Lookup),
        1 => (entry(), 0u64..40).prop_map(|(first, more)| Use::Invalidate(first, first + more)),
    ];
    prop::collection::vec(one, 1..300)
}

proptest! {
    #[test]
    fn a_cache_behaves_as_the_model(spec in specs(), uses in uses()) {
        let mut cache = spec.build().unwrap();
        let mut model = ModelCache::new((spec.organization.build)(&spec));
        for one in uses {
            match one {
                Use::Lookup(entry) => {
                    let is_hit = matches!(cache.lookup(entry), Lookup::Hit(_));
                    prop_assert_eq!(is_hit, model.lookup(entry));
                    prop_assert!(cache.contains(entry));
                }
                Use::Invalidate(first, last) => {
                    prop_assert_eq!(cache.invalidate(first, last), model.invalidate(first, last));
                    prop_assert!(!cache.contains(first) && !cache.contains(last));
                }
            }
        }
    }

    #[test]
    fn prefetch_stays_between_here_and_the_end(current in 0u64..1000, more in 0u64..50, depth in 0u32..20) {
        let last = current + more;
        let ahead: Vec<u64> = lines_ahead(current, last, depth).collect();
        let expected: Vec<u64> = (current + 1..=last).take(depth as usize).collect();
        prop_assert_eq!(ahead, expected);
    }
}

/// Section 2.2 of Guo et al. 2011, in numbers.
#[test]
fn the_published_cache_maps_128_mib() {
    let spec = AttSpec::published();
    assert_eq!(spec.groups(), 2048);
    assert_eq!(spec.groups() * spec.layout.group_entries, 16 << 10);
    assert_eq!(spec.reach_bytes(), 128 << 20);
    let mut cache = spec.build().unwrap();
    let misses = (0..16 << 10)
        .filter(|&entry| matches!(cache.lookup(entry), Lookup::Miss(_)))
        .count();
    assert_eq!(misses, 2048, "one miss for eight entries");
    assert!((0..16 << 10).all(|entry| cache.contains(entry)));
}

#[test]
fn sizes_that_no_cache_has_are_refused() {
    let refused = |change: fn(&mut AttSpec)| {
        let mut spec = AttSpec::published();
        change(&mut spec);
        spec.build().unwrap_err().key
    };
    assert_eq!(refused(|spec| spec.cache_bytes = 100), "cache_bytes");
    assert_eq!(refused(|spec| spec.cache_bytes = 0), "cache_bytes");
    assert_eq!(refused(|spec| spec.cache_bytes = 3 * 64), "cache_bytes");
    assert_eq!(refused(|spec| spec.ways = 3), "ways");
    assert_eq!(refused(|spec| spec.ways = 4096), "ways");
    assert_eq!(
        refused(|spec| spec.layout.group_entries = 0),
        "group_entries"
    );
    assert_eq!(refused(|spec| spec.layout.entry_bytes = 7), "entry_bytes");
    let unknown = ORGANIZATIONS.find("full").unwrap_err();
    assert!(unknown.to_string().contains("direct-mapped"), "{unknown}");
}

#[test]
fn an_idle_cache_takes_no_memory() {
    let mut cache = AttSpec::published().build().unwrap();
    assert_eq!(cache.state_bytes(), 0);
    assert!(!cache.contains(0));
    assert_eq!(cache.invalidate(0, u64::MAX >> 4), 0);
    cache.lookup(0);
    assert_eq!(cache.state_bytes(), 2048 * 8);
}
