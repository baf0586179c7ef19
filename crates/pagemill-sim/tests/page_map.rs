//! What the page map says of a page is what happened to it: compared with the list of all events.

mod common;

use std::collections::BTreeMap;

use common::{exit, load, migrate, shape, wait};
use pagemill_map::Map;
use pagemill_sim::TimelineKind;
use pagemill_sim::gpu::{Gpu, GpuMachine, Limits, Options, Report, Step, SyntheticGrid, WarpPlace};
use pagemill_types::PageSize;

const PAGE_BYTES: u64 = 4096;
const PAGES: u64 = 48;

/// Two kernels read all pages twice, with room for a third of them; the CPU reads some between.
fn thrash(policy: &str, timeline: bool) -> Report {
    let mut machine = GpuMachine::gtx480();
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
    let mut gpu = Gpu::new(&machine, mode, options).unwrap();
    let first = gpu.alloc("first", PAGES / 2 * PAGE_BYTES).unwrap();
    let second = gpu.alloc("second", PAGES / 2 * PAGE_BYTES).unwrap();
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
        gpu.launch_grid(kernel, &mut SyntheticGrid::new(shape(6, 1), step))
            .unwrap();
        gpu.copy_from_gpu(second, 0..3 * PAGE_BYTES).unwrap();
    }
    gpu.finish()
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
