//! The ledger of the pager against a model that keeps sets of units, and rules that hold whatever the policies decide.

use std::collections::BTreeSet;

use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_policy::paging::{
    Fault, Ledger, PagingSpec, PagingSpecError, Plan, READ_AHEADS, ReadAhead, Streams, UNIT_BYTES,
    UNITS_AHEAD_MAX,
};
use pagemill_policy::residency::{EVICTIONS, GROWTHS, PageMask};
use pagemill_types::PageSize;
use proptest::prelude::*;

const PAGES: u32 = 40;

#[derive(Clone, Debug)]
enum Event {
    Fault {
        page: u32,
        unit: u32,
    },
    Discard {
        page: u32,
        units: std::ops::Range<u32>,
    },
    /// A page is held and put back without some units.
    Hold {
        page: u32,
        lost: std::ops::Range<u32>,
    },
}

fn event(page_units: u32) -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..PAGES, 0..page_units).prop_map(|(page, unit)| Event::Fault { page, unit }),
        1 => (0..PAGES, 0..page_units, 1..=page_units)
            .prop_map(|(page, start, units)| Event::Discard { page, units: start..start + units }),
        1 => (0..PAGES, 0..page_units, 0..page_units)
            .prop_map(|(page, start, units)| Event::Hold { page, lost: start..start + units }),
    ]
}

fn spec() -> impl Strategy<Value = PagingSpec> {
    let choice = (
        0..POLICIES.len(),
        0..GROWTHS.len(),
        0..EVICTIONS.len(),
        0..READ_AHEADS.len(),
    );
    (
        choice,
        prop_oneof![Just(16u64), Just(64), Just(512)],
        0u32..4,
    )
        .prop_map(
            |((policy, growth, eviction, read_ahead), page_units, more)| {
                let page =
                    PageSize::new(page_units * u64::from(UNIT_BYTES)).expect("a power of two");
                let mut spec = PagingSpec::new(0);
                spec.migration = MigrationSpec::new(page, &POLICIES[policy]);
                spec.migration.unit_bytes = UNIT_BYTES;
                spec.growth = &GROWTHS[growth];
                spec.eviction = &EVICTIONS[eviction];
                spec.read_ahead = &READ_AHEADS[read_ahead];
                spec.budget_units = spec.least_budget_units() + more * 100;
                spec
            },
        )
}

fn set(page: u32, units: PageMask) -> impl Iterator<Item = (u32, u32)> {
    units.pages().map(move |unit| (page, unit))
}

proptest! {
    #[test]
    fn what_is_in_frames_is_what_was_fetched_and_neither_evicted_nor_discarded(
        (spec, events) in spec().prop_flat_map(|spec| {
            let units = spec.page_units();
            (Just(spec), proptest::collection::vec(event(units), 1..200))
        }),
        absent in 0..PAGES,
    ) {
        let mut ledger = Ledger::new(&spec).expect("a spec that fits");
        ledger.extend_to(PAGES);
        let half = PageMask::range(0..spec.page_units() / 2);
        ledger.set_present(absent, half);
        let mut model: BTreeSet<(u32, u32)> = BTreeSet::new();
        let mut plan = Plan::default();
        for event in events {
            match event {
                Event::Fault { page, unit } => {
                    if page == absent && !half.contains(unit) {
                        continue;
                    }
                    let met = ledger.fault(page, unit, &mut plan);
                    prop_assert_eq!(met == Fault::Resident, model.contains(&(page, unit)));
                    if met == Fault::Resident {
                        continue;
                    }
                    prop_assert_eq!(met, Fault::Planned);
                    prop_assert_eq!(plan.fetch[0].page, page);
                    prop_assert!(plan.fetch[0].units.contains(unit));
                    for gone in &plan.evict {
                        for unit in set(gone.page, gone.units) {
                            prop_assert!(model.remove(&unit), "evicted {unit:?}, which was not there");
                        }
                        prop_assert!(!model.iter().any(|unit| unit.0 == gone.page), "a page leaves as a whole");
                        ledger.left(gone.page, PageMask::EMPTY);
                    }
                    for come in &plan.fetch {
                        for unit in set(come.page, come.units) {
                            prop_assert!(unit.1 < spec.page_units());
                            prop_assert!(unit.0 != absent || half.contains(unit.1), "absent {unit:?}");
                            prop_assert!(model.insert(unit), "fetched {unit:?} again");
                        }
                        ledger.arrived(come.page);
                    }
                    prop_assert!(model.len() <= spec.budget_units as usize);
                }
                Event::Discard { page, units } => {
                    let units = PageMask::range(units);
                    let gone = ledger.discard(page, units);
                    let expected: Vec<_> = set(page, units).filter(|unit| model.remove(unit)).collect();
                    prop_assert_eq!(set(page, gone).collect::<Vec<_>>(), expected);
                }
                Event::Hold { page, lost } => {
                    ledger.hold(page);
                    prop_assert_eq!(ledger.fault(page, 0, &mut plan), Fault::InTransit);
                    let lost = PageMask::range(lost);
                    ledger.put_back(page, PageMask::FULL.without(&lost));
                    model.retain(|unit| unit.0 != page || !lost.contains(unit.1));
                }
            }
            prop_assert_eq!(ledger.resident_units() as usize, model.len());
        }
    }

    #[test]
    fn stretches_are_the_runs_of_a_mask(pages in proptest::collection::btree_set(0u32..512, 0..200)) {
        let mask = PageMask::from_iter(pages.iter().copied());
        let stretches: Vec<_> = mask.stretches().collect();
        prop_assert_eq!(stretches.len() as u32, mask.runs());
        prop_assert_eq!(stretches.iter().cloned().flatten().collect::<BTreeSet<_>>(), pages);
    }
}

#[test]
fn pages_in_transit_stay() {
    let mut spec = PagingSpec::new(0);
    spec.budget_units = spec.least_budget_units();
    let mut ledger = Ledger::new(&spec).expect("a spec that fits");
    ledger.extend_to(64);
    let mut plan = Plan::default();
    // Every frame is on its way in: nothing can make room for one more, and nothing may hang.
    for page in 0..spec.budget_units + 1 {
        let (page, unit) = (page % 64, page / 64 * 5);
        match ledger.fault(page, unit, &mut plan) {
            Fault::InTransit => assert!(ledger.is_in_transit(page)),
            met => assert_eq!(met, Fault::Planned),
        }
        assert!(plan.evict.is_empty());
    }
}

#[test]
fn what_cannot_leave_is_in_frames_again() {
    let mut spec = PagingSpec::new(0);
    spec.read_ahead = READ_AHEADS.find("none").expect("a policy");
    spec.budget_units = spec.least_budget_units();
    let mut ledger = Ledger::new(&spec).expect("a spec that fits");
    ledger.extend_to(spec.budget_units + 1);
    let mut plan = Plan::default();
    for page in 0..spec.budget_units {
        ledger.fault(page, 0, &mut plan);
        ledger.arrived(page);
    }
    ledger.fault(spec.budget_units, 0, &mut plan);
    let pinned = plan.evict[0];
    ledger.left(pinned.page, pinned.units);
    ledger.arrived(spec.budget_units);
    assert_eq!(ledger.resident_units(), spec.budget_units + 1);
    assert_eq!(ledger.fault(pinned.page, 0, &mut plan), Fault::Resident);
    ledger.fault(spec.budget_units, 1, &mut plan);
    assert_eq!(plan.evict.len(), 2, "the next fault makes up for it");
}

#[test]
fn streams_double_either_way_and_random_faults_bring_nothing() {
    let doubled = [0, 1, 3, 7, 15, 31, 63, 63, UNITS_AHEAD_MAX].map(u64::from);
    let mut streams = Streams::default();
    let (mut up, mut down) = (1000, 900_000);
    for ahead in doubled {
        let moved = streams.faulted(up);
        assert_eq!(moved, up..up + ahead + 1);
        up = moved.end;
        let moved = streams.faulted(down);
        assert_eq!(moved, down - ahead..down + 1);
        down = moved.start - 1;
    }
    for fault in 0..100 {
        let unit = fault * 1000;
        assert_eq!(Streams::default().faulted(unit), unit..unit + 1);
    }
    let mut streams = Streams::default();
    for fault in (0..100).rev() {
        let unit = fault * 1000;
        assert_eq!(streams.faulted(unit), unit..unit + 1);
    }
}

#[test]
fn a_descending_stream_ends_at_the_first_unit() {
    let mut streams = Streams::default();
    let mut at = 40;
    while at > 0 {
        at = streams.faulted(at).start.saturating_sub(1);
    }
    assert_eq!(streams.faulted(0), 0..1);
}

#[test]
fn what_does_not_fit_is_refused_with_what_does() {
    let text = |spec: &PagingSpec| Ledger::new(spec).expect_err("refused").to_string();
    let mut spec = PagingSpec::new(3);
    assert!(
        text(&spec).starts_with("12 KiB of frames are too few"),
        "{}",
        text(&spec)
    );
    spec.budget_units = spec.least_budget_units();
    spec.migration.unit_bytes = 1024;
    assert_eq!(
        spec.check(),
        Err(PagingSpecError::Unit { unit_bytes: 1024 })
    );
    spec.migration.page = PageSize::KIB_4;
    assert_eq!(
        text(&spec),
        "pages of 4 KiB cannot be paged: use a power of two from 64 KiB to 2 MiB"
    );
}
