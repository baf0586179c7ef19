#[path = "../../../../../pages/pagemill-pages/tests/common/a100.rs"]
mod a100;

use a100::a100_pcie4_x86;
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_policy::residency::{AccessPattern, STRATEGIES, Variant};

use super::*;

fn wanted(factor: f64) -> UvmPoint {
    UvmPoint {
        pattern: AccessPattern::GridStride,
        variant: Variant::LockStep,
        strategy: STRATEGIES.find("on-demand").expect("a strategy"),
        factor,
        ballast: 0.0,
        stripe_bytes: BLOCK_BYTES,
        random_page_bytes: BLOCK_BYTES,
        reuse: true,
        loops: 1,
        seed: 0,
        partial: MigrationSpec::new(
            pagemill_types::PageSize::MIB_2,
            POLICIES.find("multi-range").expect("a policy"),
        ),
    }
}

#[test]
fn a_short_run_reads_no_more_than_it_may() {
    let machine = a100_pcie4_x86();
    for factor in [0.5, 1.5, 8.0] {
        let Size::Scaled { share, ballast } = Size::new(&machine, &wanted(factor), false) else {
            panic!("40 GB times {factor} is no little");
        };
        let read = machine.free_bytes(ballast) as f64 * factor;
        assert!(read <= SCALED_READ_BYTES * 1.01, "{read}");
        assert!((0.0..1.0).contains(&share));
    }
    assert_eq!(Size::new(&machine, &wanted(1.5), true), Size::Full);
    assert_eq!(Size::new(&machine, &wanted(0.01), false), Size::Full);
}
