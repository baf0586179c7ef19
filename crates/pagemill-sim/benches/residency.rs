//! Host time of simulated reads beyond the memory of a GPU.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use pagemill_policy::migration::{MigrationSpec, find_policy};
use pagemill_policy::residency::{AccessPattern, DriverSpec, HostPage, Variant, find_strategy};
use pagemill_sim::uvm::{
    self, DriverCosts, DriverPolicy, FaultSpec, TranslationSpec, UvmLink, UvmMachine, UvmMemory,
    UvmPoint, UvmSm,
};
use pagemill_testkit::bench::rate;
use pagemill_types::{Bandwidth, Clock, PageSize, Picos};

const MIB: u64 = 1 << 20;

/// The size of an A100, but for its memory.
fn machine() -> UvmMachine {
    let ns = Picos::from_nanos;
    let gigabytes =
        |count: u64| Bandwidth::new(count * 1_000_000_000).expect("it is more than nothing");
    let driver = DriverSpec::new(1, 1);
    UvmMachine {
        name: "bench".to_owned(),
        sm: UvmSm {
            count: 108,
            clock: Clock::new(1_410_000_000).expect("it is more than nothing"),
            max_threads: 2048,
            max_blocks: 32,
            iteration: ns(30),
            unrolled_reads: 4,
        },
        memory: UvmMemory {
            bytes: 512 * MIB,
            reserved_bytes: 0,
            bandwidth: gigabytes(1400),
            latency: ns(450),
        },
        link: UvmLink {
            to_gpu: gigabytes(31),
            to_cpu: gigabytes(31),
            read_latency: ns(1200),
            read_bytes: 128,
            copy_bytes: 128,
            header_bytes: 26,
            outstanding_reads: 768,
            copy_latency: ns(900),
        },
        translation: TranslationSpec {
            sms_per_utlb: 2,
            utlb_entries: 16,
            l2_entries: 32768,
            l2_ways: 16,
            l2_latency: ns(100),
            concurrent_walks: 16,
            walk_latency: ns(600),
            local_page: PageSize::MIB_2,
            remote_page: PageSize::KIB_4,
        },
        faults: FaultSpec {
            utlb_outstanding: 56,
            batch_entries: 256,
            interrupt_latency: ns(10_000),
        },
        driver: DriverCosts {
            batch: ns(20_000),
            entry: ns(150),
            block: ns(8000),
            chunk: ns(5000),
            host_page_unmap: ns(60),
            eviction: ns(10_000),
            eviction_waits: true,
            replay: ns(5000),
        },
        policy: DriverPolicy {
            host_page: HostPage::Kib4,
            growth: driver.growth,
            density_percent: 51,
            eviction: driver.eviction,
            thrashing: driver.thrashing,
            access_counters: None,
        },
    }
}

fn run(pattern: AccessPattern, strategy: &str) -> u64 {
    let point = UvmPoint {
        pattern,
        variant: Variant::LockStep,
        strategy: find_strategy(strategy).expect("it is listed"),
        factor: 1.5,
        ballast: 0.0,
        stripe_bytes: 2 * MIB,
        random_page_bytes: 2 * MIB,
        loops: 1,
        reuse: false,
        seed: 0,
        partial: MigrationSpec::new(
            PageSize::MIB_2,
            find_policy("multi-range").expect("it is listed"),
        ),
    };
    let report = uvm::run(&machine(), &point).expect("the point is sound");
    black_box(report).reads
}

const STRATEGIES: [&str; 4] = ["on-demand", "zero-copy", "stripe", "partial-pages"];

#[divan::bench(args = STRATEGIES, consts = [0, 1, 2], sample_count = 3)]
fn reads<const PATTERN: usize>(bencher: Bencher, strategy: &str) {
    let pattern = AccessPattern::ALL[PATTERN];
    bencher
        .counter(ItemsCount::new(768 * MIB / 128))
        .bench(|| run(pattern, strategy));
}

fn main() {
    divan::main();
    for pattern in AccessPattern::ALL {
        for strategy in STRATEGIES {
            let name = format!("residency-{pattern}-{strategy}");
            rate(&name, "reads/s", || run(pattern, strategy));
        }
    }
}
