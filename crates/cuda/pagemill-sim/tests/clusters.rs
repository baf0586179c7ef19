//! Clusters under full timing: their blocks are resident together, remote shared memory costs more, and mistakes end.

use crate::common::gtx480::gtx480;
use pagemill_sim::{GpuError, Host, LaunchFailure, LaunchShape, ModuleId, Options, TransferMode};
use pagemill_types::Picos;

/// `ring`: each block stores its number into the block `distance` further `times` times, and returns what it got.
/// `stuck`: a warp waits at a barrier of its block for one that waits at the barrier of the cluster.
const PTX: &str = r"
.version 8.0
.target sm_90
.address_size 64

.visible .entry ring(.param .u64 out, .param .u32 distance, .param .u32 times)
{
    .reg .pred %p<2>;
    .reg .b32 %r<12>;
    .reg .b64 %d<4>;
    .shared .align 4 .b8 inbox[4];
    ld.param.u64 %d1, [out];
    ld.param.u32 %r1, [distance];
    ld.param.u32 %r2, [times];
    mov.u32 %r3, %cluster_ctarank;
    mov.u32 %r4, %cluster_nctarank;
    mov.u32 %r5, %ctaid.x;
    add.u32 %r6, %r3, %r1;
    rem.u32 %r6, %r6, %r4;
    mov.u32 %r7, inbox;
    mapa.shared::cluster.u32 %r8, %r7, %r6;
    barrier.cluster.arrive;
    barrier.cluster.wait;
LOOP:
    st.shared::cluster.u32 [%r8], %r5;
    sub.u32 %r2, %r2, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra LOOP;
    barrier.cluster.arrive.release;
    barrier.cluster.wait.acquire;
    ld.shared.u32 %r9, [%r7];
    mul.wide.u32 %d2, %r5, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r9;
    ret;
}

.visible .entry stuck()
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %tid.x;
    setp.eq.u32 %p1, %r1, 1;
    setp.lt.and.u32 %p2, %r2, 32, %p1;
    @!%p2 bra MEET;
    bar.sync 1, 64;
MEET:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}
";

fn host(timing: bool) -> (Host, ModuleId) {
    let options = Options {
        timing,
        ..Options::default()
    };
    let machine = gtx480();
    let mut host = Host::new(&machine, TransferMode::IdealOverlap, options).unwrap();
    let module = host.gpu.load_module("clusters", PTX).unwrap();
    (host, module)
}

fn shape(blocks: u32, threads: u32, cluster: u32, dynamic_shared_bytes: u32) -> LaunchShape {
    LaunchShape {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes,
        cooperative: false,
        cluster: Some([cluster, 1, 1]),
    }
}

/// What the blocks got, and the time of the kernel.
fn ring(timing: bool, shape: &LaunchShape, distance: u32, times: u32) -> (Vec<u32>, Picos) {
    let (mut host, module) = host(timing);
    let blocks = u64::from(shape.grid[0]);
    let out = host.alloc("out", 4 * blocks).unwrap();
    let arguments = [
        &out.address.0.to_le_bytes()[..],
        &distance.to_le_bytes(),
        &times.to_le_bytes(),
    ];
    let report = host
        .launch_packed(module, "ring", shape, &arguments.concat())
        .unwrap();
    let bytes = host.gpu.bytes(out.address, 4 * blocks).unwrap();
    let words = bytes.chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    (words.collect(), report.time())
}

#[test]
fn blocks_of_a_cluster_are_resident_together_on_every_shape() {
    // 15 SMs hold 120 small blocks, or 15 with much shared memory: clusters that divide neither leave places empty.
    for (cluster, shared_bytes) in [
        (2, 0),
        (4, 40_000),
        (7, 40_000),
        (8, 0),
        (15, 40_000),
        (16, 0),
    ] {
        let blocks = 40 * cluster;
        let shape = shape(blocks, 32, cluster, shared_bytes);
        let wanted: Vec<u32> = (0..blocks)
            .map(|block| block / cluster * cluster + (block + cluster - 1) % cluster)
            .collect();
        let timed = ring(true, &shape, 1, 3);
        assert_eq!(timed.0, wanted, "clusters of {cluster}");
        assert!(timed.1 > Picos::ZERO);
        assert_eq!(ring(true, &shape, 1, 3), timed, "clusters of {cluster}");
        assert_eq!(ring(false, &shape, 1, 3).0, wanted, "clusters of {cluster}");
    }
}

#[test]
fn shared_memory_of_another_block_is_151_cycles_further_away() {
    let machine = gtx480();
    for times in [1, 10, 100] {
        let shape = shape(4, 32, 4, 0);
        let (own, remote) = (
            ring(true, &shape, 0, times).1,
            ring(true, &shape, 1, times).1,
        );
        let wanted = machine.core_clock.cycles(151 * u64::from(times));
        let (found, wanted) = ((remote - own).0, wanted.0);
        // Each of a few steps is rounded to a picosecond.
        assert!(found.abs_diff(wanted) < 10, "{times}: {found} for {wanted}");
    }
}

#[test]
fn clusters_that_no_sms_hold_are_refused() {
    let (mut host, module) = host(true);
    let out = host.alloc("out", 64).unwrap();
    let arguments = [&out.address.0.to_le_bytes()[..], &[1, 0, 0, 0, 1, 0, 0, 0]].concat();
    let refused = host.launch_packed(module, "ring", &shape(16, 32, 16, 40_000), &arguments);
    let Err(GpuError::Launch { failure, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        matches!(failure, LaunchFailure::DoesNotFit(_)),
        "{failure:?}"
    );
    let refused = host.launch_packed(module, "ring", &shape(17, 32, 17, 0), &arguments);
    assert!(matches!(refused, Err(GpuError::Refused(_))), "{refused:?}");
}

#[test]
fn clusters_that_wait_forever_end() {
    for timing in [true, false] {
        let (mut host, module) = host(timing);
        let stopped = host.launch_packed(module, "stuck", &shape(8, 64, 2, 0), &[]);
        let message = stopped.map(|_| ()).expect_err("it cannot end").to_string();
        assert!(message.contains("wait"), "{message}");
    }
}
