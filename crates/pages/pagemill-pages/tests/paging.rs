//! Replays of paged programs against a trivial model, and traces against what they were made of.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use pagemill_pages::paging::{
    BatchCost, Order, PagerMachine, PagingReport, Pattern, StoreCost, Touches, replay,
};
use pagemill_policy::paging::{PagingSpec, READ_AHEADS, Trace, TraceEvent};
use pagemill_policy::residency::PageMask;
use pagemill_types::Picos;
use proptest::prelude::*;

const PAGE_UNITS: u64 = 16;

/// Every cost is another power of ten picoseconds, so that sums show what they are made of.
fn machine() -> PagerMachine {
    let batch = |call, unit| BatchCost {
        call: Picos(call),
        unit: Picos(unit),
    };
    PagerMachine {
        round_trip: Picos(1),
        decide: Picos(10),
        take: batch(0, 100),
        give: batch(0, 1000),
        hash: Picos(0),
        zero: Picos(10_000),
        stores: vec![StoreCost {
            name: "compressed".to_owned(),
            put: batch(0, 1_000_000),
            get: batch(0, 100_000),
            checks_itself: true,
        }],
    }
}

fn spec(budget_units: u32) -> PagingSpec {
    let mut spec = PagingSpec::new(budget_units);
    spec.read_ahead = READ_AHEADS.find("none").expect("a policy");
    spec
}

fn run(touches: &Touches, spec: &PagingSpec) -> PagingReport {
    let machine = machine();
    replay(touches, spec, &machine, &machine.stores[0]).expect("it fits")
}

#[test]
fn units_that_are_read_are_hashed_unless_the_store_checks_them() {
    let pattern = Pattern {
        order: Order::Random,
        units: 300,
        touches: 900,
        writes: 0.5,
        think_ns: 0,
        seed: 3,
    };
    let touches = Touches::of_pattern(&pattern);
    let with = |checks_itself| {
        let mut machine = machine();
        machine.hash = Picos(7);
        machine.stores[0].checks_itself = checks_itself;
        replay(&touches, &spec(128), &machine, &machine.stores[0]).expect("it fits")
    };
    let (checked, other) = (with(true), with(false));
    assert!(checked.fetched_units > 0);
    let more = other.service.0 - checked.service.0;
    assert_eq!(more, 7 * checked.fetched_units);
}

/// Pages that leave in the order in which something last came to them.
#[derive(Default)]
struct Model {
    resident: BTreeMap<u64, BTreeSet<u64>>,
    order: VecDeque<u64>,
    changed: BTreeSet<u64>,
    stored: BTreeSet<u64>,
    report: PagingReport,
}

impl Model {
    fn touch(&mut self, unit: u64, is_write: bool, budget: usize) {
        let page = unit / PAGE_UNITS;
        if self.resident.entry(page).or_default().insert(unit) {
            match is_write {
                true => self.report.write_faults += 1,
                false => self.report.read_faults += 1,
            }
            match self.stored.contains(&unit) {
                true => self.report.fetched_units += 1,
                false => self.report.zero_units += 1,
            }
            self.order.retain(|other| *other != page);
            while self.resident.values().map(BTreeSet::len).sum::<usize>() > budget {
                let oldest = self.order.pop_front().expect("a page");
                self.evict(oldest);
            }
            self.order.push_back(page);
        } else {
            self.report.avoided_faults += 1;
        }
        if is_write {
            self.changed.insert(unit);
        }
    }

    fn evict(&mut self, page: u64) {
        self.report.evicted_pages += 1;
        for unit in self.resident.remove(&page).unwrap_or_default() {
            self.report.evicted_units += 1;
            if self.changed.remove(&unit) {
                self.stored.insert(unit);
                self.report.written_units += 1;
            } else {
                self.report.clean_units += 1;
            }
        }
    }
}

fn counts(report: &PagingReport) -> [u64; 9] {
    [
        report.read_faults,
        report.write_faults,
        report.fetched_units,
        report.zero_units,
        report.evicted_units,
        report.written_units,
        report.clean_units,
        report.evicted_pages,
        report.avoided_faults,
    ]
}

/// A trace as a pager of `spec` would write it, of touches that the model makes too. Every unit is the program's.
fn recorded(touches: &[(u64, bool)], units: u64, budget: u32) -> (Trace, Model) {
    let mut model = Model::default();
    let mut events: Vec<TraceEvent> = (0..units)
        .step_by(512)
        .map(|first| TraceEvent::Enter { first, units: 512 })
        .collect();
    for &(unit, is_write) in touches {
        let before = model.resident.clone();
        let changed = model.changed.clone();
        let faults = model.report.read_faults + model.report.write_faults;
        model.touch(unit, is_write, budget as usize);
        if model.report.read_faults + model.report.write_faults == faults {
            continue;
        }
        events.push(TraceEvent::Fault {
            unit,
            is_write,
            think_ns: 7,
        });
        for (page, held) in &before {
            if !model.resident.contains_key(page) && !held.is_empty() {
                let first = page * PAGE_UNITS;
                let gone = held.iter().filter(|unit| changed.contains(unit));
                events.push(TraceEvent::Evicted {
                    first,
                    changed: gone.map(|unit| (unit - first) as u32).collect(),
                    zero: PageMask::EMPTY,
                });
            }
        }
    }
    let mut bytes = Trace::head("a program", &spec(budget));
    events.iter().for_each(|event| event.write(&mut bytes));
    let trace = Trace::parse(&bytes).expect("a trace");
    assert_eq!(trace.events, events);
    assert_eq!(
        (trace.program.as_str(), &trace.spec),
        ("a program", &spec(budget))
    );
    (trace, model)
}

proptest! {
    /// Faults and bytes of the recording's own rules are those of the recording.
    #[test]
    fn a_trace_replayed_under_its_own_rules_moves_what_was_moved(
        touches in prop::collection::vec((0_u64..700, any::<bool>()), 1..3000),
    ) {
        let budget = 130;
        let (trace, model) = recorded(&touches, 700, budget);
        let found = run(&Touches::of_trace(trace).expect("rules"), &spec(budget));
        let mut expected = counts(&model.report);
        // Touches that were no faults are not in the trace.
        expected[8] = 0;
        // A write to a unit that was read before is known once the unit leaves.
        prop_assert_eq!(counts(&found), expected);
    }

    /// With frames for everything, each unit faults once and nothing is written.
    #[test]
    fn enough_frames_leave_first_touches_alone(
        touches in prop::collection::vec((0_u64..700, any::<bool>()), 1..2000),
    ) {
        let (trace, _) = recorded(&touches, 700, 130);
        let found = run(&Touches::of_trace(trace).expect("rules"), &spec(4096));
        let distinct: BTreeSet<u64> = touches.iter().map(|(unit, _)| *unit).collect();
        prop_assert_eq!(found.read_faults + found.write_faults, distinct.len() as u64);
        prop_assert_eq!((found.fetched_units, found.written_units), (0, 0));
    }
}

#[test]
fn a_pattern_in_order_faults_at_every_unit_of_every_pass() {
    let pattern = Pattern {
        order: Order::Ascending,
        units: 1024,
        touches: 2048,
        writes: 0.0,
        think_ns: 0,
        seed: 1,
    };
    let found = run(&Touches::of_pattern(&pattern), &spec(256));
    assert_eq!((found.write_faults, found.read_faults), (1024, 2048));
    assert_eq!((found.zero_units, found.fetched_units), (1024, 2048));
    // All were changed once; what left again had not changed since.
    assert_eq!(found.written_units, 1024);
    assert_eq!(found.evicted_units, 3 * 1024 - 256);
    assert!(found.resident_units_max <= 256);
}

#[test]
fn time_is_the_sum_of_its_parts_where_nothing_overlaps() {
    let pattern = Pattern {
        order: Order::Ascending,
        units: 100,
        touches: 0,
        writes: 0.0,
        think_ns: 3,
        seed: 1,
    };
    let found = run(&Touches::of_pattern(&pattern), &spec(256));
    // Each touch: 3 ns of the program's own, of which 1 ps is the round trip; then decide, zero, give.
    assert_eq!(found.time, Picos(100 * (3000 + 10 + 10_000 + 1000)));
    assert_eq!(found.service, Picos(100 * (10 + 10_000 + 1000)));
}
