//! The built-in patterns, in either of the two loops that run them.

use super::gtx480::gtx480;
use pagemill_pages::parts::link::ReadSpec;
use pagemill_pages::patterns::{UvmPoint, UvmReport, run};
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_policy::residency::{AccessPattern, STRATEGIES, Variant};
use pagemill_sim::gpu::{
    DriverMachine, DriverRun, FaultOrder, FaultSpec, GpuMachine, Host, Memory, Options,
    PatternCosts, PatternGrid, Report, TransferMode, Translation, TranslationSpec,
};
use pagemill_types::{Bandwidth, PageSize, Picos};

pub const MIB: u64 = 1 << 20;

/// 15 SMs with `memory_bytes` behind 16 GB/s, and a driver.
pub fn machine(memory_bytes: u64) -> GpuMachine {
    let ns = Picos::from_nanos;
    let mut machine = gtx480();
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
        looks_up_local: true,
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
    machine.memory_bytes = Some(memory_bytes);
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
        ..super::driver_machine()
    });
    machine
}

pub fn multi_range() -> MigrationSpec {
    let mut spec = MigrationSpec::new(PageSize::MIB_2, POLICIES.find("multi-range").unwrap());
    spec.range_slots = Some(8);
    spec
}

pub fn point(pattern: AccessPattern, strategy: &str, factor: f64, loops: u32) -> UvmPoint {
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

/// The point in the fast loop of the patterns.
pub fn in_the_loop_of_patterns(machine: &GpuMachine, point: &UvmPoint) -> UvmReport {
    let patterns = machine
        .for_patterns()
        .expect("it has all that patterns need");
    run(&patterns, point).expect("a valid point")
}

/// The point in the loop of programs.
pub fn in_the_loop_of_programs(
    machine: &GpuMachine,
    point: &UvmPoint,
    mode: TransferMode,
) -> Report {
    let patterns = machine
        .for_patterns()
        .expect("it has all that patterns need");
    let spec = point.pattern_spec(&patterns);
    let mut host = Host::new(machine, mode, Options::default()).expect("a valid machine");
    let buffer = host.alloc("data", spec.bytes).expect("there is room");
    host.copy_to_gpu(buffer, 0..spec.bytes)
        .expect("it is all of it");
    for _ in 0..point.loops {
        let mut grid = PatternGrid::new(spec, point.variant, buffer.address.0);
        host.launch_grid("pattern", &mut grid).expect("it fits");
    }
    host.finish()
}

/// The driver's mode with `strategy`.
pub fn driven(strategy: &str) -> TransferMode {
    TransferMode::Driver(DriverRun {
        strategy: STRATEGIES.find(strategy).unwrap(),
        stripe_bytes: 2 * MIB,
    })
}
