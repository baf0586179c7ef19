//! The oversubscription benchmark on a small machine: what is counted adds up, no time is less than the bytes need,
//! and what is decided shows in the time.

use crate::a100::a100_pcie4_x86;
use pagemill_map::Map;
use pagemill_pages::TimelineKind;
use pagemill_pages::parts::link::ReadSpec;
use pagemill_pages::patterns::{
    Bound, UvmError, UvmMachine, UvmMemory, UvmPoint, UvmReport, run, run_watched,
};
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_policy::residency::{AccessPattern, STRATEGIES, Variant};
use pagemill_types::{Bandwidth, Clock, PageSize, Picos};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

fn bandwidth(gigabytes: u64) -> Bandwidth {
    Bandwidth::new(gigabytes * 1_000_000_000).unwrap()
}

/// An A100 made small: 4 SMs and 32 MiB, with a link and a memory to match.
fn machine() -> UvmMachine {
    let mut machine = a100_pcie4_x86();
    machine.sm.count = 4;
    machine.sm.clock = Clock::new(1_000_000_000).unwrap();
    machine.sm.max_threads = 1024;
    machine.memory = UvmMemory {
        bytes: 33 * MIB,
        reserved_bytes: MIB,
        bandwidth: bandwidth(20),
        latency: Picos::from_nanos(400),
    };
    machine.link.to_gpu = bandwidth(4);
    machine.link.to_cpu = bandwidth(4);
    machine.link.header_bytes = 32;
    machine.link.reads = Some(ReadSpec {
        latency: Picos::from_nanos(1000),
        packet_bytes: 128,
        outstanding: 256,
    });
    machine.translation.l2_entries = 64;
    machine
}

fn partial() -> MigrationSpec {
    let mut spec = MigrationSpec::new(PageSize::MIB_2, POLICIES.find("multi-range").unwrap());
    spec.range_slots = Some(8);
    spec
}

fn point(pattern: AccessPattern, strategy: &str, factor: f64) -> UvmPoint {
    UvmPoint {
        pattern,
        variant: Variant::LockStep,
        strategy: STRATEGIES.find(strategy).unwrap(),
        factor,
        ballast: 0.0,
        stripe_bytes: 2 * MIB,
        random_page_bytes: 2 * MIB,
        loops: 1,
        reuse: false,
        seed: 0,
        partial: partial(),
    }
}

fn report(pattern: AccessPattern, strategy: &str, factor: f64) -> UvmReport {
    run(&machine(), &point(pattern, strategy, factor)).unwrap()
}

/// How long `bytes` take at `gigabytes` a second.
fn least(bytes: u64, gigabytes: u64) -> Picos {
    Picos(bytes * 1000 / gigabytes)
}

#[test]
fn data_that_fit_are_read_at_the_speed_of_gpu_memory() {
    for strategy in ["stripe", "stripe-even", "bulk-prefetch"] {
        let report = report(AccessPattern::GridStride, strategy, 0.75);
        assert_eq!(
            (report.faults, report.migrated_bytes, report.remote_bytes),
            (0, 0, 0)
        );
        // Each block writes four bytes at the end: a sector.
        assert_eq!(
            report.local_bytes,
            report.allocated_bytes + 32 * u64::from(report.blocks)
        );
        assert!(report.time >= least(report.allocated_bytes, 20));
        assert!(
            report.time.0 < least(report.allocated_bytes, 20).0 * 11 / 10,
            "{report:?}"
        );
        assert_eq!(report.bound, Bound::GpuMemory);
        assert!(report.setup >= least(report.allocated_bytes, 4));
    }
}

#[test]
fn zero_copy_pays_for_headers_and_for_unaligned_reads() {
    let grid = report(AccessPattern::GridStride, "zero-copy", 1.5);
    let packets = grid.allocated_bytes / 128;
    assert!(grid.time >= least(grid.allocated_bytes + packets * 32, 4));
    assert_eq!((grid.migrated_bytes, grid.local_bytes), (0, 0));
    let block = report(AccessPattern::BlockStride, "zero-copy", 1.5);
    assert!(block.remote_bytes > grid.remote_bytes);
    assert!(block.time > grid.time);
}

#[test]
fn on_demand_moves_each_page_once_if_all_fit() {
    for pattern in [AccessPattern::GridStride, AccessPattern::BlockStride] {
        let report = report(pattern, "on-demand", 0.75);
        assert_eq!(report.migrated_bytes, report.allocated_bytes, "{pattern}");
        assert_eq!(report.evicted_bytes, 0);
        assert!(report.time >= least(report.migrated_bytes, 4));
        assert!(report.batches > 0 && report.block_services >= report.batches);
    }
}

#[test]
fn what_is_not_resident_at_the_end_was_evicted() {
    for pattern in AccessPattern::ALL {
        let report = report(pattern, "on-demand", 2.0);
        let resident = report.migrated_bytes - report.evicted_bytes;
        assert!(resident <= report.gpu_bytes, "{pattern}: {report:?}");
        assert!(report.evicted_bytes > 0, "{pattern}");
    }
}

#[test]
fn random_reads_collapse_beyond_gpu_memory() {
    let fits = report(AccessPattern::RandomWarp, "on-demand", 0.75);
    let over = report(AccessPattern::RandomWarp, "on-demand", 2.0);
    assert!(fits.bandwidth_bytes_per_second() > 20 * over.bandwidth_bytes_per_second());
    let mut machine = machine();
    machine.driver.policy.access_counters = Some(Default::default());
    let counted = run(
        &machine,
        &point(AccessPattern::RandomWarp, "on-demand", 2.0),
    )
    .unwrap();
    assert!(counted.time < over.time, "evicted pages stay mapped");
}

#[test]
fn read_mostly_copies_nothing_back() {
    let report = report(AccessPattern::GridStride, "read-mostly", 2.0);
    assert_eq!(report.evicted_bytes, 0);
    assert!(report.migrated_bytes >= report.allocated_bytes);
}

#[test]
fn partial_pages_move_what_is_read_and_little_else() {
    let grid = report(AccessPattern::GridStride, "partial-pages", 2.0);
    assert!(grid.migrated_bytes >= grid.allocated_bytes);
    assert!(grid.migrated_bytes - grid.evicted_bytes <= grid.gpu_bytes);
    assert!(grid.time >= least(grid.migrated_bytes, 4));
    let random = report(AccessPattern::RandomWarp, "partial-pages", 2.0);
    let driver = report(AccessPattern::RandomWarp, "on-demand", 2.0);
    assert!(random.migrated_bytes < driver.migrated_bytes);
}

/// More accesses wait for room in the fault tables than one replay wakes, and those it wakes find their page.
#[test]
fn accesses_that_wait_for_room_are_woken_when_no_fault_is_left() {
    let mut machine = machine();
    machine.memory.bytes = 9 * MIB;
    let mut point = point(AccessPattern::RandomWarp, "read-mostly", 0.3);
    let lock_step = run(&machine, &point).unwrap();
    point.variant = Variant::FreeRunning;
    assert_eq!(run(&machine, &point).unwrap().reads, lock_step.reads);
}

#[test]
fn data_that_fit_stay_between_loops_if_they_may() {
    let machine = machine();
    let mut point = point(AccessPattern::BlockStride, "on-demand", 0.75);
    let once = run(&machine, &point).unwrap();
    point.loops = 3;
    point.reuse = true;
    let kept = run(&machine, &point).unwrap();
    assert_eq!(kept.migrated_bytes, once.migrated_bytes);
    assert!(kept.time.0 < once.time.0);
}

#[test]
fn loops_are_averaged_and_on_demand_starts_each_anew() {
    let machine = machine();
    let mut twice = point(AccessPattern::BlockStride, "on-demand", 0.75);
    twice.loops = 2;
    let twice = run(&machine, &twice).unwrap();
    let once = report(AccessPattern::BlockStride, "on-demand", 0.75);
    assert_eq!(twice.migrated_bytes, 2 * once.migrated_bytes);
    assert_eq!(twice.reads, 2 * once.reads);
    let ratio = twice.time.0 as f64 / once.time.0 as f64;
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn a_report_says_why_and_stripes_beat_faults() {
    let reports: Vec<UvmReport> = STRATEGIES
        .iter()
        .map(|strategy| report(AccessPattern::RandomWarp, strategy.name, 1.5))
        .collect();
    assert!(reports.iter().all(|report| report.why().contains("limit")));
    let bandwidth = |name| {
        let place = STRATEGIES.iter().position(|strategy| strategy.name == name);
        reports[place.unwrap()].bandwidth_bytes_per_second()
    };
    assert!(bandwidth("stripe") > bandwidth("on-demand"));
}

#[test]
fn what_cannot_be_run_is_refused() {
    let machine = machine();
    let refused = |change: &dyn Fn(&mut UvmPoint)| {
        let mut point = point(AccessPattern::GridStride, "on-demand", 1.0);
        change(&mut point);
        run(&machine, &point).expect_err("refused").to_string()
    };
    assert!(refused(&|point| point.factor = 0.0).contains("factor is 0"));
    assert!(refused(&|point| point.factor = f64::NAN).contains("factor is NaN"));
    assert!(refused(&|point| point.ballast = 1.0).contains("ballast is 1"));
    assert!(refused(&|point| point.loops = 0).contains("0 loops"));
    assert!(refused(&|point| point.ballast = 0.98).contains("2 MiB"));
    let error = UvmError::NoLoop;
    assert!(error.to_string().contains("1 or more"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_same_point_gives_the_same_report_and_both_variants_read_the_same(
        pattern in prop::sample::select(&AccessPattern::ALL[..]),
        strategy in 0..STRATEGIES.len(),
        factor in 0.3_f64..3.0,
        counters in any::<bool>(),
        seed in 0_u64..100,
    ) {
        let mut machine = machine();
        machine.memory.bytes = 9 * MIB;
        machine.driver.policy.access_counters = counters.then(Default::default);
        let mut point = point(pattern, STRATEGIES[strategy].name, factor);
        point.seed = seed;
        let report = run(&machine, &point).unwrap();
        prop_assert_eq!(run(&machine, &point).unwrap(), report);
        let lanes_bytes = report.reads * 128;
        prop_assert!(pattern == AccessPattern::RandomWarp || lanes_bytes >= report.allocated_bytes);
        prop_assert!(report.local_bytes + report.remote_bytes >= report.reads * 4);
        prop_assert!(report.time >= least(report.local_bytes, 20).max(least(report.remote_bytes, 4)));
        point.variant = Variant::FreeRunning;
        prop_assert_eq!(run(&machine, &point).unwrap().reads, report.reads);
    }
}

#[test]
fn the_timeline_has_every_byte_that_moved_and_changes_nothing() {
    for strategy in ["on-demand", "partial-pages"] {
        let point = point(AccessPattern::RandomWarp, strategy, 1.5);
        let (report, recorded) =
            run_watched(&machine(), &point, usize::MAX, &mut |_| true).unwrap();
        let timeline = &recorded.timeline;
        assert_eq!(report, run(&machine(), &point).unwrap());
        let bytes = |is_wanted: fn(&TimelineKind) -> bool| -> u64 {
            let events = timeline.events().iter();
            events
                .filter(|event| is_wanted(&event.kind))
                .map(|event| event.bytes)
                .sum()
        };
        let migrated = bytes(|kind| matches!(kind, TimelineKind::Migration { .. }));
        let evicted = bytes(|kind| matches!(kind, TimelineKind::Eviction { .. }));
        assert_eq!(
            (migrated, evicted),
            (report.migrated_bytes, report.evicted_bytes)
        );
        assert!(
            timeline
                .events()
                .iter()
                .all(|event| event.start <= event.end)
        );
        let map = Map::decode(&recorded.page_map).unwrap();
        let came: u64 = map.tiles.iter().map(|tile| tile.arrived).sum();
        let gone: u64 = map.tiles.iter().map(|tile| tile.left).sum();
        assert_eq!((came, gone), (migrated, evicted), "{strategy}");
        assert_eq!(map.launched, point.loops);
        let batches = timeline.events().iter();
        let batches = batches.filter(|event| event.kind == TimelineKind::FaultBatch);
        assert_eq!(batches.count() as u64, report.batches);

        let (_, sampled) = run_watched(&machine(), &point, 10, &mut |_| true).unwrap();
        let kept = sampled.timeline.events();
        assert!((5..=10).contains(&kept.len()), "{}", kept.len());
        let mut all = timeline.events().iter();
        assert!(kept.iter().all(|event| all.any(|other| other == event)));
        let left_out = timeline.events().len() - kept.len();
        assert_eq!(sampled.timeline.dropped() as usize, left_out);
        assert_eq!(sampled.page_map, recorded.page_map, "{strategy}");
    }
}

#[test]
fn who_watches_sees_it_grow_and_can_end_it() {
    let mut point = point(AccessPattern::RandomWarp, "on-demand", 1.5);
    point.loops = 2;
    let mut seen = Vec::new();
    let watched = run_watched(&machine(), &point, 0, &mut |done| {
        seen.push(done);
        true
    });
    assert_eq!(watched.unwrap().0, run(&machine(), &point).unwrap());
    assert!(seen.is_sorted(), "{seen:?}");
    assert!(seen.iter().all(|done| (0.0..=1.0).contains(done)));
    assert!(seen.iter().any(|&done| done < 0.5) && seen.iter().any(|&done| done >= 0.5));

    let mut asked = 0;
    let stopped = run_watched(&machine(), &point, 0, &mut |_| {
        asked += 1;
        false
    });
    assert_eq!(stopped.map(|_| ()), Err(UvmError::Stopped));
    assert_eq!(asked, 1);
}
