use super::super::costs::BatchCost;
use super::super::touches::{Order, Pattern};
use super::*;
use pagemill_map::{Effect, Map};
use pagemill_policy::paging::READ_AHEADS;
use pagemill_policy::residency::{EVICTIONS, GROWTHS};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The units in frames, and those of them that have changed, as the histories have them.
fn replayed(map: &Map) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let (mut there, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for (page, events) in &map.pages {
        for event in events {
            let first = page * (map.page_bytes >> 12) + u64::from(event.first >> 12);
            let units = first..first + u64::from(event.bytes >> 12);
            match map.legend.causes[usize::from(event.cause)].effect {
                Effect::Arrive => there.extend(units),
                Effect::Mark => changed.extend(units),
                _ => units.for_each(|unit| {
                    assert!(there.remove(&unit), "unit {unit} was in a frame");
                    changed.remove(&unit);
                }),
            }
        }
    }
    (there, changed)
}

proptest! {
    #[test]
    fn histories_are_what_is_in_frames(
        (growth, eviction, ahead) in (0..GROWTHS.len(), 0..EVICTIONS.len(), 0..READ_AHEADS.len()),
        is_random: bool, units in 100u32..900, touches in 0u64..600, seed: u64,
    ) {
        let order = if is_random { Order::Random } else { Order::Ascending };
        let pattern = Pattern { order, units, touches, writes: 0.4, think_ns: 100, seed };
        let mut touches = Touches::of_pattern(&pattern);
        let discard = TraceEvent::Discard { first: 30, units: 50, is_gone: false };
        touches.events.push(discard);
        let mut spec = PagingSpec::new(150);
        (spec.growth, spec.eviction) = (&GROWTHS[growth], &EVICTIONS[eviction]);
        spec.read_ahead = &READ_AHEADS[ahead];
        let cost = BatchCost { call: Picos(5000), unit: Picos(900) };
        let store = StoreCost { name: "store".to_owned(), put: cost, get: cost, checks_itself: false };
        let machine = PagerMachine {
            round_trip: Picos(2000), decide: Picos(300), take: cost, give: cost,
            hash: Picos(7), zero: Picos(40), stores: Vec::new(),
        };
        let recording = Recording::new(&touches.events, spec.migration.page.bytes());
        let run = run(&touches, &spec, (&machine, &store), Some(recording)).unwrap();
        let plain = replay(&touches, &spec, &machine, &store).unwrap();
        prop_assert_eq!(run.report, plain);
        let (mut there, mut changed) = (BTreeSet::new(), BTreeSet::new());
        for unit in (0..u64::from(units)).filter(|unit| run.is_resident(*unit)) {
            there.insert(unit);
            if run.units[unit as usize].change.is_some() {
                changed.insert(unit);
            }
        }
        let end = run.report.time;
        let map = Map::decode(&run.recording.unwrap().finish(end)).unwrap();
        prop_assert_eq!((map.sampled_bits, map.full_ps), (0, None));
        prop_assert_eq!(map.bands.len(), 1);
        prop_assert_eq!(replayed(&map), (there, changed));
        let moved = |names: &[&str]| -> u64 {
            let events = map.pages.iter().flat_map(|(_, events)| events);
            let name = |cause: u8| map.legend.causes[usize::from(cause)].name.as_str();
            let own = events.filter(|event| names.contains(&name(event.cause)));
            own.map(|event| u64::from(event.bytes >> 12)).sum()
        };
        prop_assert_eq!(moved(&["read fault", "write fault", "moved along"]), plain.fetched_units);
        prop_assert_eq!(moved(&["zeros"]), plain.zero_units);
        prop_assert_eq!(moved(&["eviction, written"]), plain.written_units);
        prop_assert_eq!(moved(&["eviction, unchanged"]), plain.clean_units);
    }
}
