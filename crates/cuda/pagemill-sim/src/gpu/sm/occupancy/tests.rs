use super::*;
use crate::gtx480::gtx480;

fn shape(
    threads_per_block: u32,
    registers_per_thread: u32,
    shared_bytes_per_block: u32,
) -> GridShape {
    GridShape {
        blocks: 1,
        threads_per_block,
        warps_per_block: threads_per_block.div_ceil(32),
        registers_per_thread,
        shared_bytes_per_block,
        cluster_blocks: 1,
    }
}

#[test]
fn each_resource_limits_in_its_turn() {
    let sm = gtx480().sm;
    let cases = [
        (shape(64, 16, 0), 8, Limiter::Blocks),
        (shape(256, 16, 0), 6, Limiter::Threads),
        (shape(250, 16, 0), 6, Limiter::Threads),
        (shape(256, 32, 0), 4, Limiter::Registers),
        (shape(256, 200, 0), 2, Limiter::Registers),
        (shape(256, 16, 20_000), 2, Limiter::SharedMemory),
        (shape(1024, 16, 50_000), 0, Limiter::SharedMemory),
        (shape(1025, 16, 0), 0, Limiter::Threads),
    ];
    for (shape, blocks_per_sm, limiter) in cases {
        assert_eq!(
            occupancy(&sm, &shape),
            Occupancy {
                blocks_per_sm,
                limiter
            },
            "{shape:?}"
        );
    }
}

/// An SM of compute capability 9.0.
fn hopper() -> SmSpec {
    SmSpec {
        compute_capability: 90,
        schedulers: 4,
        max_threads: 2048,
        max_warps: 64,
        max_blocks: 32,
        registers: 1 << 16,
        register_unit: 256,
        max_registers_per_thread: 255,
        shared_bytes: 228 << 10,
        shared_unit: 128,
        ..gtx480().sm
    }
}

#[test]
fn blocks_share_an_sm_as_on_an_h100() {
    const DYNAMIC_KIB: [u32; 11] = [0, 1, 8, 16, 32, 48, 64, 100, 113, 200, 227];
    let sm = hopper();
    let mut judged = 0;
    let measured = include_str!("h100.txt").lines();
    for line in measured.filter(|line| !line.starts_with('#')) {
        let (kernel, blocks) = line.split_once(':').expect("two parts");
        let numbers = |text: &str| -> Vec<u32> {
            let parts = text.split_whitespace();
            parts.map(|part| part.parse().expect("a number")).collect()
        };
        let kernel = numbers(kernel);
        for (kib, blocks) in DYNAMIC_KIB.into_iter().zip(numbers(blocks)) {
            let shared = kernel[1] + (kib << 10);
            // The kernel had not asked for more than the plain amount yet; after it, for all others.
            if kernel[2] == 32 && kib == 48 && shared > sm.shared_bytes_per_block() {
                assert_eq!(blocks, 0, "{line}");
                continue;
            }
            let shape = shape(kernel[2], kernel[0], shared);
            let found = occupancy(&sm, &shape).blocks_per_sm;
            assert_eq!(found, blocks, "{line}: {kib} KiB");
            judged += 1;
        }
    }
    assert_eq!(judged, 659);
}

#[test]
fn the_system_keeps_its_share_of_shared_memory_from_compute_capability_8() {
    let limits = |compute_capability| {
        let sm = SmSpec {
            compute_capability,
            ..hopper()
        };
        let plain = sm.shared_bytes_per_block();
        [
            plain,
            sm.shared_bytes_per_block_max(),
            sm.reserved_shared_bytes(),
        ]
    };
    assert_eq!(limits(75), [49_152, 233_472, 0]);
    assert_eq!(limits(80), [49_152, 232_448, 1024]);
    assert_eq!(limits(90), [49_152, 232_448, 1024]);
    // As an H100 says of kernels of 31, 70 and 136 registers.
    let threads = [31, 70, 136].map(|registers| hopper().threads_by_registers(registers));
    assert_eq!(threads, [1024, 896, 384]);
}
