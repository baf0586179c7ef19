//! What the page map says of a page is what happened to it: compared with the list of all events.

use crate::common::gtx480::gtx480;
use std::collections::BTreeMap;

use crate::common::{driver_machine, exit, load, migrate, shape, wait};
use pagemill_map::{Event, Map};
use pagemill_policy::residency::STRATEGIES;
use pagemill_sim::TimelineKind;
use pagemill_sim::gpu::{
    DriverRun, Host, Limits, Options, Report, Step, SyntheticGrid, TransferMode, WarpPlace,
};
use pagemill_types::PageSize;

const PAGE_BYTES: u64 = 4096;
const PAGES: u64 = 48;

/// Two kernels read all pages twice, with room for a third of them; the CPU reads some between.
fn thrash(policy: &str, timeline: bool) -> Report {
    let mut machine = gtx480();
    machine.memory_bytes = Some(16 * PAGE_BYTES);
    let mode = migrate(policy, PageSize::KIB_4, 512);
    let limits = Limits {
        timeline_events: 1_000_000,
        ..Limits::default()
    };
    let options = Options {
        timeline,
        limits,
        ..Options::default()
    };
    let mut host = Host::new(&machine, mode, options).unwrap();
    let first = host.alloc("first", PAGES / 2 * PAGE_BYTES).unwrap();
    let second = host.alloc("second", PAGES / 2 * PAGE_BYTES).unwrap();
    for kernel in ["probe", "build"] {
        let step = |place: WarpPlace, step: &mut Step| {
            let at = place.step / 2;
            let page = (place.block * 7 + at * 5) % PAGES;
            match place.step % 2 {
                _ if at == 2 * PAGES => exit(step),
                0 => load(step, first.address.0 + page * PAGE_BYTES + at % 8 * 512, 0),
                _ => wait(step, 1),
            }
        };
        host.launch_grid(kernel, &mut SyntheticGrid::new(shape(6, 1), step))
            .unwrap();
        host.copy_from_gpu(second, 0..3 * PAGE_BYTES).unwrap();
    }
    host.finish()
}

#[test]
fn the_history_of_every_page_is_that_of_the_exact_run() {
    for policy in ["whole-page", "multi-range"] {
        let report = thrash(policy, true);
        let map = Map::decode(&report.page_map).unwrap();
        let mut arrived: BTreeMap<u64, Vec<(u64, u64, u64)>> = BTreeMap::new();
        let mut evicted: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for event in report.timeline.events() {
            match event.kind {
                TimelineKind::Migration { page, .. } => {
                    arrived
                        .entry(page)
                        .or_default()
                        .push((event.start.0, event.end.0, event.bytes))
                }
                TimelineKind::Eviction { page } => {
                    evicted.entry(page).or_default().push(event.end.0);
                }
                _ => {}
            }
        }
        assert!(evicted.len() > 20, "{policy}: pages were evicted");
        assert_eq!((map.sampled_bits, map.full_ps), (0, None));
        assert_eq!(map.pages.len(), arrived.len(), "{policy}");
        for (page, events) in &map.pages {
            let came = events.iter().filter(|event| event.cause == 0);
            let came: Vec<_> = came
                .map(|event| (event.start_ps, event.done_ps, u64::from(event.bytes)))
                .collect();
            assert_eq!(came, arrived[page], "{policy}: page {page}");
            let mut left: Vec<u64> = events
                .iter()
                .filter(|event| event.cause == 3)
                .map(|event| event.done_ps)
                .collect();
            // A page leaves as often as it was evicted, with all of its ranges at a time.
            left.dedup();
            let expected = evicted.remove(page).unwrap_or_default();
            assert_eq!(left, expected, "{policy}: page {page}");
        }
        // What the CPU read between came back for it.
        let host_reads = map.pages.iter().flat_map(|(_, events)| events);
        assert!(host_reads.clone().any(|event| event.cause == 4), "{policy}");
        assert!(
            host_reads.clone().all(|event| event.launch <= 2),
            "{policy}"
        );
        let total: u64 = map.tiles.iter().map(|tile| tile.arrived).sum();
        assert_eq!(total, report.memory.migration.migrated_bytes, "{policy}");
    }
}

/// A GPU of 4 blocks of 2 MiB under a driver; two kernels go through 8 blocks twice, and the CPU writes to some between.
fn thrash_under_a_driver(timeline: bool) -> Report {
    const MIB: u64 = 1 << 20;
    let mut machine = gtx480();
    machine.memory_bytes = Some(8 * MIB);
    machine.driver = Some(driver_machine());
    let mode = TransferMode::Driver(DriverRun {
        strategy: STRATEGIES.find("on-demand").unwrap(),
        stripe_bytes: 2 * MIB,
    });
    let limits = Limits {
        timeline_events: 1_000_000,
        ..Limits::default()
    };
    let options = Options {
        timeline,
        limits,
        ..Options::default()
    };
    let mut host = Host::new(&machine, mode, options).unwrap();
    let data = host.alloc("data", 16 * MIB).unwrap();
    host.copy_to_gpu(data, 0..12 * MIB).unwrap();
    for kernel in ["probe", "build"] {
        let step = |place: WarpPlace, step: &mut Step| {
            let at = place.step / 2;
            let address = (place.block * 5 + at * 3) % 256 * (MIB >> 4);
            match place.step % 2 {
                _ if at == 512 => exit(step),
                0 => load(step, data.address.0 + address, 0),
                _ => wait(step, 1),
            }
        };
        host.launch_grid(kernel, &mut SyntheticGrid::new(shape(6, 1), step))
            .unwrap();
        host.copy_from_gpu(data, 0..3 * MIB).unwrap();
    }
    host.finish()
}

#[test]
fn the_history_of_every_block_is_that_of_the_exact_run_under_a_driver() {
    let report = thrash_under_a_driver(true);
    let map = Map::decode(&report.page_map).unwrap();
    assert_eq!((map.page_bytes, map.sampled_bits), (2 << 20, 0));
    let cause = |event: &Event| map.legend.causes[usize::from(event.cause)].name.clone();
    let mut arrived: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
    let mut evicted: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
    for event in report.timeline.events() {
        let (start, end) = (event.start.0, event.end.0);
        match event.kind {
            TimelineKind::Migration { page, .. } => {
                *arrived.entry((page, start, end)).or_default() += event.bytes;
            }
            TimelineKind::Eviction { page } => {
                *evicted.entry((page, start, end)).or_default() += event.bytes;
            }
            _ => {}
        }
    }
    assert!(evicted.len() > 20, "{} blocks were evicted", evicted.len());
    let of_causes = |names: &[&str]| {
        let mut sums: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
        for (page, events) in &map.pages {
            for event in events
                .iter()
                .filter(|event| names.contains(&cause(event).as_str()))
            {
                *sums
                    .entry((*page, event.start_ps, event.done_ps))
                    .or_default() += u64::from(event.bytes);
            }
        }
        sums
    };
    assert_eq!(of_causes(&["fault", "moved along"]), arrived);
    assert_eq!(of_causes(&["eviction"]), evicted);
    let migration = &report.memory.migration;
    let total = |names: &[&str]| of_causes(names).values().sum::<u64>();
    assert_eq!(total(&["first touch"]), migration.populated_bytes);
    assert_eq!(total(&["eviction", "CPU touch"]), migration.returned_bytes);
    assert!(total(&["CPU touch"]) > 0 && total(&["first touch"]) > 0);
    let there: u64 = map.tiles.iter().map(|tile| tile.arrived).sum();
    let gone: u64 = map.tiles.iter().map(|tile| tile.left).sum();
    assert_eq!(there - gone, report.resident_bytes);
    let without = thrash_under_a_driver(false);
    assert_eq!(report.time_ns, without.time_ns);
    assert_eq!(report.memory, without.memory);
    assert!(without.page_map.is_empty());
}

#[test]
fn bands_have_the_names_of_allocations_and_launches_those_of_kernels() {
    let map = Map::decode(&thrash("multi-range", true).page_map).unwrap();
    let bands: Vec<&str> = map.bands.iter().map(|band| band.name.as_str()).collect();
    assert_eq!(bands, ["first", "second"]);
    let launches: Vec<&str> = map
        .launches
        .iter()
        .map(|launch| launch.name.as_str())
        .collect();
    assert_eq!(launches, ["probe", "build"]);
    assert!(
        map.launches
            .iter()
            .all(|launch| launch.start_ps < launch.end_ps)
    );
}

#[test]
fn a_map_changes_no_time_and_is_there_only_if_asked_for() {
    let (with, without) = (thrash("multi-range", true), thrash("multi-range", false));
    assert_eq!(with.time_ns, without.time_ns);
    assert_eq!(with.memory, without.memory);
    assert!(without.page_map.is_empty());
}
