//! The built-in patterns and the loop of programs run against each other, over the same page managers: the same reads, below and
//! beyond GPU memory.

mod common;

use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_policy::residency::{AccessPattern, STRATEGIES, Variant};
use pagemill_sim::gpu::{
    DriverMachine, DriverRun, FaultOrder, FaultSpec, Gpu, GpuMachine, Memory, Options,
    PatternCosts, PatternGrid, Report, TransferMode, Translation, TranslationSpec,
};
use pagemill_sim::parts::link::ReadSpec;
use pagemill_sim::uvm::{UvmMachine, UvmPoint, UvmReport, run};
use pagemill_types::{Bandwidth, PageSize, Picos};

const MIB: u64 = 1 << 20;

/// 15 SMs with 32 MiB behind 16 GB/s, and a driver.
fn machine() -> GpuMachine {
    let ns = Picos::from_nanos;
    let mut machine = GpuMachine::gtx480();
    machine.sm.max_threads = 1024;
    machine.translation = Translation::TwoLevels(TranslationSpec {
        sms_per_utlb: 2,
        utlb_entries: 16,
        l2_entries: 1024,
        l2_ways: 16,
        l2_latency: ns(100),
        concurrent_walks: 16,
        walk_latency: ns(600),
        local_page: PageSize::MIB_2,
        remote_page: PageSize::KIB_4,
    });
    machine.memory = Memory::Rate {
        bandwidth: Bandwidth::new(400_000_000_000).unwrap(),
        latency: ns(450),
        slices: 12,
        writes: None,
    };
    machine.link.reads = Some(ReadSpec {
        latency: ns(1200),
        packet_bytes: 128,
        outstanding: 768,
    });
    machine.link.payload_bytes = 128;
    machine.memory_bytes = Some(32 * MIB);
    machine.gmmu = pagemill_sim::gpu::GmmuSpec::ideal();
    machine.patterns = Some(PatternCosts {
        iteration: ns(30),
        unrolled_reads: 4,
    });
    machine.driver = Some(DriverMachine {
        faults: FaultSpec {
            utlb_outstanding: 56,
            batch_entries: 256,
            interrupt_latency: ns(10_000),
            order: FaultOrder::Arrival,
        },
        ..common::driver_machine()
    });
    machine
}

fn multi_range() -> MigrationSpec {
    let mut spec = MigrationSpec::new(PageSize::MIB_2, POLICIES.find("multi-range").unwrap());
    spec.range_slots = Some(8);
    spec
}

fn point(pattern: AccessPattern, strategy: &str, factor: f64, loops: u32) -> UvmPoint {
    UvmPoint {
        pattern,
        variant: Variant::LockStep,
        strategy: STRATEGIES.find(strategy).unwrap(),
        factor,
        ballast: 0.0,
        stripe_bytes: 2 * MIB,
        random_page_bytes: 2 * MIB,
        loops,
        reuse: true,
        seed: 0,
        partial: multi_range(),
    }
}

/// The point in the fast loop of the patterns, and in the loop of programs.
fn both(point: &UvmPoint, mode: TransferMode) -> (UvmReport, Report) {
    let machine = machine();
    let patterns = UvmMachine::of(&machine).expect("it has all that patterns need");
    let fast = run(&patterns, point).expect("a valid point");
    let spec = point.pattern_spec(&patterns);
    let mut gpu = Gpu::new(&machine, mode, Options::default()).expect("a valid machine");
    let buffer = gpu.alloc("data", spec.bytes).expect("there is room");
    gpu.copy_to_gpu(buffer, 0..spec.bytes)
        .expect("it is all of it");
    for _ in 0..point.loops {
        let mut grid = PatternGrid::new(spec, point.variant, buffer.address.0);
        gpu.launch_grid("pattern", &mut grid).expect("it fits");
    }
    (fast, gpu.finish())
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
            let mode = TransferMode::Driver(DriverRun {
                strategy: point.strategy,
                stripe_bytes: point.stripe_bytes,
            });
            agree(&point, mode, percent);
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
