//! Bulk copies under full timing: they wait for their bytes, one request for each segment.

use pagemill_sim::{Gpu, GpuMachine, LaunchShape, Options, TransferMode};
use pagemill_types::Picos;

/// `bulk` moves `bytes` bytes of `data` to shared memory and waits for them, `back` moves them from there, and `word` loads 16 bytes
/// with a plain load, if `bytes` is not 0.
const PTX: &str = r"
.version 8.0
.target sm_90
.address_size 64

.visible .entry bulk(.param .u64 data, .param .u32 bytes)
{
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    .shared .align 16 .b8 tile[16384];
    .shared .align 8 .b64 object;
    ld.param.u64 %d1, [data];
    ld.param.u32 %r1, [bytes];
    mov.u32 %r2, object;
    mov.u32 %r3, tile;
    mov.u32 %r4, %tid.x;
    setp.ne.u32 %p1, %r4, 0;
    @%p1 bra WAIT;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r1;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%d1], %r1, [%r2];
WAIT:
    bar.sync 0;
LOOP:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra LOOP;
    ret;
}

.visible .entry word(.param .u64 data, .param .u32 bytes)
{
    .reg .pred %p<2>;
    .reg .b32 %r<3>;
    .reg .b64 %d<4>;
    .shared .align 16 .b8 tile[16];
    ld.param.u64 %d1, [data];
    ld.param.u32 %r1, [bytes];
    mov.u32 %r2, tile;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    ld.global.v2.u64 {%d2, %d3}, [%d1];
    st.shared.v2.u64 [%r2], {%d2, %d3};
DONE:
    ret;
}

.visible .entry back(.param .u64 data, .param .u32 bytes)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<2>;
    .shared .align 16 .b8 tile[16384];
    ld.param.u64 %d1, [data];
    ld.param.u32 %r1, [bytes];
    mov.u32 %r2, tile;
    cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], %r1;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;
}
";

/// Time of one block, and the segments that its accesses touched; the copy begins `offset` bytes into the data.
fn run(kernel: &str, offset: u64, bytes: u32) -> (Picos, u64) {
    let machine = GpuMachine::gtx480();
    let mut gpu = Gpu::new(&machine, TransferMode::IdealOverlap, Options::default()).unwrap();
    let module = gpu.load_module("bulk", PTX).unwrap();
    let data = gpu.alloc("data", 20000).unwrap();
    let shape = LaunchShape {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
        cooperative: false,
        cluster: None,
    };
    let place = (data.address.0 + offset).to_le_bytes();
    let arguments = [&place[..], &bytes.to_le_bytes()].concat();
    let report = gpu
        .launch_packed(module, kernel, &shape, &arguments)
        .unwrap();
    (report.time(), report.stats.execution.segments)
}

#[test]
fn a_copy_is_one_access_for_each_segment() {
    for kernel in ["bulk", "back"] {
        for (offset, bytes) in [(0, 0), (0, 16), (0, 128), (0, 16384), (112, 32), (48, 4096)] {
            let segments = match bytes {
                0 => 0,
                _ => (offset + u64::from(bytes)).div_ceil(128) - offset / 128,
            };
            let found = run(kernel, offset, bytes).1;
            // All threads of `back` store the same bytes.
            assert_eq!(found, segments, "{kernel}: {bytes} bytes at {offset}");
        }
    }
}

#[test]
fn a_copy_arrives_no_sooner_than_its_bytes() {
    let nothing = run("bulk", 0, 0).0;
    let load = run("word", 0, 16).0 - run("word", 0, 0).0;
    let copy = run("bulk", 0, 16).0 - nothing;
    // They differ by a few instructions, a load by hundreds of cycles from what waits for nothing.
    assert!(copy.0 * 10 > load.0 * 9, "{copy:?} for a load of {load:?}");
    let mut before = nothing;
    for bytes in [16, 1024, 4096, 16384] {
        let after = run("bulk", 0, bytes).0;
        assert!(after > before, "{bytes} bytes");
        before = after;
    }
}

#[test]
fn accesses_of_a_copy_overlap() {
    let nothing = run("bulk", 0, 0).0;
    let one = run("bulk", 0, 128).0 - nothing;
    let many = run("bulk", 0, 16384).0 - nothing;
    // One behind the other, they would take 128 times as long.
    assert!(many < Picos(one.0 * 32), "{many:?} for {one:?}");
}
