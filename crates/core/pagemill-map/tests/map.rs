//! A map says what happened: sums equal a plain list of the changes, histories equal the list, and all stays small.

use std::collections::BTreeMap;

use pagemill_map::{Cause, Change, Effect, Legend, Limits, Map, Recorder};
use proptest::prelude::*;

const PAGE_BYTES: u64 = 4096;
const BASE: u64 = 1 << 40;
const SMALL: Limits = Limits {
    rows: 40,
    columns: 50,
    events: 1000,
    launches: 4,
};

fn legend() -> Legend {
    let cause = |name: &str, effect| Cause {
        name: name.to_owned(),
        effect,
        state: (effect == Effect::Mark).then(|| "pinned".to_owned()),
    };
    Legend {
        absent: "on the CPU".to_owned(),
        partial: "partly on the GPU".to_owned(),
        present: "on the GPU".to_owned(),
        departed: "back on the CPU".to_owned(),
        marked: "pinned".to_owned(),
        place: "SM".to_owned(),
        causes: vec![
            cause("fault", Effect::Arrive),
            cause("eviction", Effect::Leave),
            cause("repeat", Effect::Repeat),
            cause("pin", Effect::Mark),
        ],
    }
}

fn change(page: u64, cause: u8, start_ps: u64, first: u32, bytes: u32) -> Change {
    Change {
        cause,
        page: BASE / PAGE_BYTES + page,
        range: first..first + bytes,
        start_ps,
        done_ps: start_ps + 1000,
        place: 3,
    }
}

/// A repeated move is bytes that move again.
fn told(recorder: &mut Recorder, change: &Change) {
    recorder.changed(change);
    if change.cause == 2 {
        recorder.moved_again(change.page, change.range.clone(), change.done_ps);
    }
}

fn recorded(changes: &[Change], limits: Limits) -> Map {
    let mut recorder = Recorder::new(PAGE_BYTES, legend(), limits);
    recorder.allocated("a", BASE, 16 * PAGE_BYTES);
    recorder.launch("kernel", 0);
    let (early, late) = changes.split_at(changes.len() / 2);
    early.iter().for_each(|change| told(&mut recorder, change));
    // Rows of what is there may become coarser for what comes.
    recorder.allocated("b", BASE + 16 * PAGE_BYTES, 48 * PAGE_BYTES);
    late.iter().for_each(|change| told(&mut recorder, change));
    recorder.ended(1);
    recorder.finish("test", 5000, 16_000_000_000)
}

fn changes(count: usize) -> impl Strategy<Value = Vec<Change>> {
    let one = (0u64..16, 0u8..4, 0u64..1 << 30, 0u32..32, 1u32..=32);
    let one = one.prop_map(|(page, cause, at, first, units)| {
        change(page, cause, at, first * 64, units * 64)
    });
    prop::collection::vec(one, 0..count)
}

proptest! {
    #[test]
    fn a_map_is_what_happened(changes in changes(200)) {
        let map = recorded(&changes, SMALL);
        for (cause, field) in [(0u8, 0usize), (1, 1), (2, 2), (3, 3)] {
            let told: u64 = changes.iter().filter(|change| change.cause == cause)
                .map(|change| u64::from(change.range.end - change.range.start)).sum();
            let counted: u64 = map.tiles.iter()
                .map(|tile| [tile.arrived, tile.left, tile.repeated, tile.marked][field]).sum();
            prop_assert_eq!(counted, told);
        }
        for cause in 0..4usize {
            let told = changes.iter().filter(|change| usize::from(change.cause) == cause).count() as u64;
            prop_assert_eq!(map.bands.iter().map(|band| band.counts[cause]).sum::<u64>(), told);
            prop_assert_eq!(map.counts.iter().skip(cause).step_by(4).sum::<u64>(), told);
        }
        prop_assert_eq!(map.tiles.iter().map(|tile| tile.events).sum::<u64>(), changes.len() as u64);
        let mut by_page: BTreeMap<u64, Vec<(u64, u32, u8)>> = BTreeMap::new();
        for change in &changes {
            by_page.entry(change.page).or_default().push((change.start_ps, change.range.start, change.cause));
        }
        prop_assert_eq!(map.pages.len(), by_page.len());
        for (page, expected) in by_page {
            let history = map.history(page).unwrap();
            let history: Vec<_> = history.iter().map(|event| (event.start_ps, event.first, event.cause)).collect();
            prop_assert_eq!(history, expected);
        }
    }

    #[test]
    fn tiles_are_where_and_when_things_happened(changes in changes(60)) {
        let map = recorded(&changes, Limits { columns: 16, rows: 24, ..Limits::default() });
        prop_assert!(map.columns <= 16 && map.tiles.len() <= 16 * 24);
        // Of every band and column, the bytes that arrived in it.
        let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
        for change in changes.iter().filter(|change| change.cause == 0) {
            *expected.entry(change.done_ps / map.column_ps).or_default() += u64::from(change.range.end - change.range.start);
        }
        for column in 0..map.columns {
            let arrived: u64 = map.tiles.iter().skip(column).step_by(map.columns).map(|tile| tile.arrived).sum();
            prop_assert_eq!(arrived, expected.get(&(column as u64)).copied().unwrap_or(0));
        }
        let rows: usize = map.bands.iter().map(|band| band.rows).sum();
        prop_assert_eq!(rows * map.columns, map.tiles.len());
    }

    #[test]
    fn what_the_link_carried_lies_evenly_over_its_time(
        carried in prop::collection::vec((0u64..1 << 26, 0u64..1 << 24, 0u64..1 << 34, any::<bool>()), 1..30),
    ) {
        let mut recorder = Recorder::new(PAGE_BYTES, legend(), Limits { columns: 16, ..SMALL });
        recorder.allocated("a", BASE, PAGE_BYTES);
        for (start_ps, length_ps, bytes, is_incoming) in &carried {
            recorder.carried((*start_ps, start_ps + length_ps), *bytes, *is_incoming);
        }
        let map = recorder.finish("test", 0, 0);
        let read = Map::decode(&map.encode());
        prop_assert_eq!(read.as_ref(), Ok(&map));
        prop_assert_eq!(map.carried.len(), map.columns);
        for way in [0, 1] {
            let of_way = || carried.iter().filter(|(.., is_incoming)| *is_incoming == (way == 0));
            let sum: u64 = of_way().map(|(_, _, bytes, _)| bytes).sum();
            prop_assert_eq!(map.carried.iter().map(|column| column[way]).sum::<u64>(), sum);
            for (column, bytes) in map.carried.iter().enumerate() {
                let begin = (column as u64 * map.column_ps) as f64;
                let end = begin + map.column_ps as f64;
                let expected: f64 = of_way().map(|&(start, length, bytes, _)| {
                    let (start, length) = (start as f64, length as f64);
                    match length > 0.0 {
                        true => bytes as f64 * ((start + length).min(end) - start.max(begin)).max(0.0) / length,
                        false if begin <= start && start < end => bytes as f64,
                        false => 0.0,
                    }
                }).sum();
                // A byte for each rounding: one at each border, and one more each time that columns fold.
                prop_assert!((bytes[way] as f64 - expected).abs() <= 2.0 * carried.len() as f64 + expected * 1e-9,
                    "column {} has {} bytes, not {}", column, bytes[way], expected);
            }
        }
    }

    #[test]
    fn with_too_many_events_histories_are_fewer_and_whole(changes in changes(400)) {
        let map = recorded(&changes, Limits { events: 40, ..SMALL });
        prop_assert!(map.pages.iter().map(|(_, events)| events.len()).sum::<usize>() <= 40);
        if map.full_ps.is_none() {
            for (page, events) in &map.pages {
                let told = changes.iter().filter(|change| change.page == *page).count();
                prop_assert_eq!(events.len(), told);
            }
        }
    }

    #[test]
    fn what_was_written_is_read(changes in changes(100)) {
        let map = recorded(&changes, SMALL);
        prop_assert_eq!(Map::decode(&map.encode()), Ok(map));
    }

    #[test]
    fn damaged_bytes_are_an_error_or_a_map(changes in changes(30), at: prop::sample::Index, value: u8) {
        let mut bytes = recorded(&changes, SMALL).encode();
        let at = at.index(bytes.len());
        bytes[at] = value;
        let _ = Map::decode(&bytes);
        let _ = Map::decode(&bytes[..at]);
    }
}

#[test]
fn a_hundred_million_accesses_fit_in_five_megabytes() {
    // In a run that thrashes, one access in a hundred moves something. All tiles and histories are full.
    let mut recorder = Recorder::new(PAGE_BYTES, legend(), Limits::default());
    let pages = 1u64 << 16;
    recorder.allocated("table", BASE, pages * PAGE_BYTES);
    recorder.launch("probe", 0);
    let mut random = 1u64;
    for at in 0..1_000_000u64 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let (page, cause) = (random >> 48, (at & 1) as u8);
        recorder.changed(&change(
            page,
            cause,
            at * 700,
            (random >> 40) as u32 & 0xf00,
            128,
        ));
    }
    let bytes = recorder.finish("test", 0, 1).encode();
    assert!(bytes.len() * 4 / 3 < 5_000_000, "{} bytes", bytes.len());
    let map = Map::decode(&bytes).unwrap();
    assert!(
        map.pages.len() > 500,
        "{} pages have a history",
        map.pages.len()
    );
}

#[test]
fn a_map_is_blank_until_something_changes() {
    assert!(recorded(&[], SMALL).is_blank());
    for cause in 0..4 {
        assert!(!recorded(&[change(0, cause, 0, 0, 64)], SMALL).is_blank());
    }
}

#[test]
fn a_map_of_four_planes_is_still_read() {
    // As files were written before there were marks: the header does not count the planes.
    let old = std::fs::read("tests/four-planes.map").expect("a map of the first version");
    let map = Map::decode(&old).expect("it is read");
    assert!(map.tiles.iter().all(|tile| tile.marked == 0));
    assert!(map.tiles.iter().any(|tile| tile.arrived > 0));
    assert_eq!(Map::decode(&map.encode()), Ok(map));
}
