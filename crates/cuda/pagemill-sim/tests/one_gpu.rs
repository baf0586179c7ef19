//! The built-in patterns and the loop of programs run against each other, over the same page managers: the same reads, below and
//! beyond GPU memory.

use crate::common::patterns::{
    MIB, driven, in_the_loop_of_patterns, in_the_loop_of_programs, machine, multi_range, point,
};
use pagemill_pages::patterns::{UvmPoint, UvmReport};
use pagemill_policy::residency::AccessPattern;
use pagemill_sim::gpu::{Report, TransferMode};

/// The point in both loops.
fn both(point: &UvmPoint, mode: TransferMode) -> (UvmReport, Report) {
    let machine = machine(32 * MIB);
    (
        in_the_loop_of_patterns(&machine, point),
        in_the_loop_of_programs(&machine, point, mode),
    )
}

/// How far `got` is from `wanted`, in percent.
fn off(got: u64, wanted: u64) -> f64 {
    100.0 * (got as f64 / wanted.max(1) as f64 - 1.0)
}

/// Both loops agree on time and bytes within so many percent.
fn agree(point: &UvmPoint, mode: TransferMode, percent: f64) {
    let (fast, program) = both(point, mode);
    let moved = &program.memory.migration;
    let fast_ns = fast.time.as_nanos() * u64::from(point.loops);
    let (time, bytes_in, bytes_out) = (
        off(program.kernel_time_ns, fast_ns),
        off(moved.migrated_bytes, fast.migrated_bytes),
        off(moved.returned_bytes, fast.evicted_bytes),
    );
    let what = format!(
        "{:?} {} at {} x {}: time {fast_ns} and {} ns ({time:+.2} %), in {} and {} B ({bytes_in:+.2} %), out {} and {} B ({bytes_out:+.2} %)",
        point.pattern,
        point.strategy.name,
        point.factor,
        point.loops,
        program.kernel_time_ns,
        fast.migrated_bytes,
        moved.migrated_bytes,
        fast.evicted_bytes,
        moved.returned_bytes,
    );
    eprintln!("{what}");
    assert!(time.abs() <= percent, "{what}");
    assert!(bytes_in.abs() <= percent, "{what}");
    if fast.evicted_bytes > 0 || moved.returned_bytes > 0 {
        assert!(bytes_out.abs() <= percent, "{what}");
    }
}

#[test]
fn partial_pages_take_the_same_time_in_both_loops() {
    for pattern in [AccessPattern::GridStride, AccessPattern::BlockStride] {
        for (factor, loops) in [(0.75, 1), (0.75, 2), (1.5, 1), (1.5, 2)] {
            let point = point(pattern, "partial-pages", factor, loops);
            agree(&point, TransferMode::Migrate(multi_range()), 2.0);
        }
    }
}

#[test]
fn the_driver_serves_the_same_in_both_loops() {
    use AccessPattern::{BlockStride, GridStride, RandomWarp};
    // Random reads are not aligned: the loop of programs translates each of their two segments, the fast one both at once.
    for (pattern, factors, percent) in [
        (GridStride, [0.75, 1.5].as_slice(), 2.0),
        (BlockStride, &[0.75, 1.5], 2.0),
        (RandomWarp, &[0.5], 8.0),
    ] {
        for &factor in factors {
            let point = point(pattern, "on-demand", factor, 1);
            agree(&point, driven("on-demand"), percent);
        }
    }
}

/// Blocks that are at many pages at a time keep the link busy both ways: the time is that of the bytes that come, and not of
/// those that leave as well.
#[test]
fn the_link_works_both_ways_at_once() {
    let point = point(AccessPattern::BlockStride, "partial-pages", 3.0, 2);
    let (_, program) = both(&point, TransferMode::Migrate(multi_range()));
    let moved = &program.memory.migration;
    assert!(moved.returned_bytes > moved.migrated_bytes / 2);
    let one_way_ns = moved.migrated_bytes / 16;
    let of_one_way = program.kernel_time_ns as f64 / one_way_ns as f64;
    assert!(of_one_way < 1.2, "{of_one_way} times the bytes that came");
}
