use super::*;
use crate::gpu::machine::GpuMachine;

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
    let sm = GpuMachine::gtx480().sm;
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
