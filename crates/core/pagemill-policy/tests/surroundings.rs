//! What policies see around a page, against what the manager that asks says of itself.
#![expect(
    clippy::disallowed_types,
    reason = "the policies of this test write down what they were asked"
)]

use std::sync::Mutex;

use pagemill_policy::migration::{MigrationSpec, PolicyEntry};
use pagemill_policy::paging::{Ledger, PagingSpec, Plan, READ_AHEADS, UNIT_BYTES};
use pagemill_policy::residency::{
    BLOCK_BYTES, Driver, DriverPolicy, Effects, GrowthEntry, PageMask,
};
use pagemill_testkit::looker::{Looker, Seen};
use pagemill_types::{PageSize, Picos};

#[test]
fn a_growth_policy_sees_the_blocks_of_the_driver() {
    static SEEN: Mutex<Vec<Seen>> = Mutex::new(Vec::new());
    static ENTRY: GrowthEntry = GrowthEntry {
        name: "looker",
        summary: "looks",
        build: &|_| Box::new(Looker(&SEEN)),
    };
    let policy = DriverPolicy {
        growth: &ENTRY,
        ..DriverPolicy::default()
    };
    let mut driver = Driver::empty(2 * BLOCK_BYTES, &policy);
    driver.allocate(0..BLOCK_BYTES);
    driver.allocate(BLOCK_BYTES..4 * BLOCK_BYTES);
    driver.first_touched_by_host(0..4 * BLOCK_BYTES);
    let mut effects = Effects::default();
    for (block, pages) in [(0, 16), (1, 512), (1, 512), (2, 1)] {
        let faulted = PageMask::range(0..pages);
        driver.service(block, &faulted, Picos::ZERO, &mut effects);
    }
    let seen = |page, allocation, valid_bytes, free, faults| Seen {
        page,
        allocation,
        valid_bytes,
        frames: (Some(2), Some(free)),
        faults,
    };
    let first = 16 * 4096;
    let expected = [
        seen(0, 0..1, [0; 4], 2, (0, 0, vec![])),
        seen(1, 1..4, [first, 0, 0, 0], 1, (1, 0, vec![0])),
        // The third service finds every page there and asks nothing.
        seen(2, 1..4, [first, BLOCK_BYTES, 0, 0], 0, (2, 0, vec![1, 0])),
    ];
    assert_eq!(*SEEN.lock().unwrap(), expected);
}

#[test]
fn a_migration_policy_sees_the_pages_of_a_pager() {
    static SEEN: Mutex<Vec<Seen>> = Mutex::new(Vec::new());
    static ENTRY: PolicyEntry = PolicyEntry {
        name: "looker",
        summary: "looks",
        parameters: &[],
        build: &|_| Box::new(Looker(&SEEN)),
    };
    let page_units = 16;
    let page = PageSize::new(u64::from(page_units * UNIT_BYTES)).expect("a page size");
    let mut spec = PagingSpec::new(0);
    spec.migration = MigrationSpec::new(page, &ENTRY);
    spec.migration.unit_bytes = UNIT_BYTES;
    spec.budget_units = spec.least_budget_units();
    let frames = u64::from(spec.budget_units / page_units);
    spec.read_ahead = READ_AHEADS.find("none").expect("a policy");
    let mut ledger = Ledger::new(&spec).expect("sound");
    ledger.extend_to(6);
    ledger.set_absent(3, PageMask::range(0..page_units));
    let mut plan = Plan::default();
    for (page, unit) in [(1, 0), (1, 2), (4, 1)] {
        ledger.fault(page, unit, &mut plan);
        ledger.arrived(page);
    }
    let seen = |page, allocation, units: u64, held, faults| Seen {
        page,
        allocation,
        valid_bytes: [0, units * u64::from(UNIT_BYTES), 0, 0],
        frames: (Some(frames), Some(frames - held)),
        faults,
    };
    let expected = [
        seen(1, 0..3, 0, 0, (0, 0, vec![])),
        seen(1, 0..3, 1, 1, (1, 1, vec![1])),
        seen(4, 4..6, 2, 1, (2, 0, vec![1, 1])),
    ];
    assert_eq!(*SEEN.lock().unwrap(), expected);
}
