//! Host time of simulated reads beyond the memory of a GPU.

#[path = "../../../pages/pagemill-pages/tests/common/a100.rs"]
mod a100;
#[allow(dead_code, reason = "tests use the rest")]
#[path = "../tests/common/mod.rs"]
mod common;

use a100::a100_pcie4_x86;
use std::hint::black_box;

use common::patterns;
use divan::Bencher;
use divan::counter::ItemsCount;
use pagemill_pages::patterns::{UvmMachine, UvmPoint, run as run_pattern};
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_policy::residency::{AccessPattern, STRATEGIES, Variant};
use pagemill_testkit::bench::{cost, rate};
use pagemill_types::PageSize;

const MIB: u64 = 1 << 20;

/// An A100, but for its memory.
fn machine() -> UvmMachine {
    let mut machine = a100_pcie4_x86();
    machine.memory.bytes = 512 * MIB;
    machine.memory.reserved_bytes = 0;
    machine
}

fn run(pattern: AccessPattern, strategy: &str) -> u64 {
    let point = UvmPoint {
        pattern,
        variant: Variant::LockStep,
        strategy: STRATEGIES.find(strategy).expect("it is listed"),
        factor: 1.5,
        ballast: 0.0,
        stripe_bytes: 2 * MIB,
        random_page_bytes: 2 * MIB,
        loops: 1,
        reuse: false,
        seed: 0,
        partial: MigrationSpec::new(
            PageSize::MIB_2,
            POLICIES.find("multi-range").expect("it is listed"),
        ),
    };
    let report = run_pattern(&machine(), &point).expect("the point is sound");
    black_box(report).reads
}

const TIMED: [&str; 4] = ["on-demand", "zero-copy", "stripe", "partial-pages"];

#[divan::bench(args = TIMED, consts = [0, 1, 2], sample_count = 3)]
fn reads<const PATTERN: usize>(bencher: Bencher, strategy: &str) {
    let pattern = AccessPattern::ALL[PATTERN];
    bencher
        .counter(ItemsCount::new(768 * MIB / 128))
        .bench(|| run(pattern, strategy));
}

fn main() {
    divan::main();
    for pattern in AccessPattern::ALL {
        for strategy in &TIMED {
            let name = format!("residency-{pattern}-{strategy}");
            rate(&name, "reads/s", || run(pattern, strategy));
        }
        // What the loop of programs takes over the loop of patterns, for the same reads.
        let machine = patterns::machine(64 * MIB);
        let point = patterns::point(pattern, "on-demand", 1.5, 1);
        cost(
            &format!("residency-{pattern}-loop-of-programs"),
            || {
                let mode = patterns::driven("on-demand");
                black_box(patterns::in_the_loop_of_programs(&machine, &point, mode));
            },
            || {
                black_box(patterns::in_the_loop_of_patterns(&machine, &point));
            },
        );
    }
}
