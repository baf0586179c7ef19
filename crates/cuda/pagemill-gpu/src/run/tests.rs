use pagemill_policy::residency::{Variant, WARP_LANES};

use super::*;

fn run(bytes: u64) -> Result<Run, GpuError> {
    let pattern = AccessPattern::RandomWarp;
    let kernel = Kernel {
        pattern,
        variant: Variant::LockStep,
    };
    Run::new(
        kernel,
        PatternSpec {
            pattern,
            bytes,
            blocks: 64,
            warps_per_block: 4,
            page_bytes: 4096,
            seed: 7,
        },
    )
}

#[test]
fn a_random_run_reads_as_much_as_there_is() {
    let round_bytes = 64 * 4 * WARP_LANES * ELEMENT_BYTES;
    let run = run(round_bytes * 5).unwrap();
    assert_eq!(run.rounds(), 5);
    assert_eq!(run.bytes_read(5), round_bytes * 5);
    assert!(
        super::Run::new(
            run.kernel,
            PatternSpec {
                bytes: 4096,
                ..run.spec
            }
        )
        .is_err()
    );
}
