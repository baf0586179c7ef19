//! Bulk copies under full timing: they wait for their bytes, one request for each segment.

use crate::common::gtx480::gtx480;
use pagemill_ptx::{Swizzle, TensorDimension, TensorElement, TensorMap};
use pagemill_sim::{Host, LaunchShape, Options, TransferMode};
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

.visible .entry ahead(.param .u64 data, .param .u32 bytes, .param .u32 rounds)
{
    .reg .pred %p<4>;
    .reg .b32 %r<12>;
    .reg .f32 %f<3>;
    .reg .b64 %d<4>;
    .shared .align 16 .b8 tile[16384];
    .shared .align 8 .b64 object;
    ld.param.u64 %d1, [data];
    ld.param.u32 %r1, [bytes];
    ld.param.u32 %r5, [rounds];
    mov.u32 %r2, object;
    mov.u32 %r3, tile;
    mov.u32 %r4, %tid.x;
    // The translation of the page is known before the copy begins.
    ld.global.u32 %r8, [%d1];
    and.b32 %r9, %r8, 0;
    setp.ne.u32 %p1, %r4, %r9;
    @%p1 bra WORK;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r1;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%d1], %r1, [%r2];
WORK:
    bar.sync 0;
    mov.f32 %f1, 0f3F800000;
    mov.u32 %r6, 0;
NEXT:
    setp.ge.u32 %p3, %r6, %r5;
    @%p3 bra LOOP;
    fma.rn.f32 %f1, %f1, %f1, %f1;
    add.u32 %r6, %r6, 1;
    bra NEXT;
LOOP:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra LOOP;
    st.global.f32 [%d1], %f1;
    ret;
}

.visible .entry tile(.param .align 64 .b8 map[128], .param .u32 x, .param .u32 y, .param .u32 bytes)
{
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    .shared .align 128 .b8 tile[16384];
    .shared .align 8 .b64 object;
    mov.b64 %d1, map;
    cvta.param.u64 %d2, %d1;
    ld.param.u32 %r1, [bytes];
    ld.param.u32 %r5, [x];
    ld.param.u32 %r6, [y];
    mov.u32 %r2, object;
    mov.u32 %r3, tile;
    mov.u32 %r4, %tid.x;
    setp.ne.u32 %p1, %r4, 0;
    @%p1 bra WAIT;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r1;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%d2, {%r5, %r6}], [%r2];
WAIT:
    bar.sync 0;
LOOP:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra LOOP;
    ret;
}
";

/// Time of one block of a kernel, and the segments that its accesses touched; `arguments` are made of the address of 20,000 bytes.
fn launch(kernel: &str, arguments: impl Fn(u64) -> Vec<u8>) -> (Picos, u64) {
    let machine = gtx480();
    let mut host = Host::new(&machine, TransferMode::IdealOverlap, Options::default()).unwrap();
    let module = host.gpu.load_module("bulk", PTX).unwrap();
    let data = host.alloc("data", 20000).unwrap();
    let shape = LaunchShape {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
        cooperative: false,
        cluster: None,
    };
    let report = host
        .launch_packed(module, kernel, &shape, &arguments(data.address.0))
        .unwrap();
    (report.time(), report.stats.execution.segments)
}

/// A copy that begins `offset` bytes into the data.
fn run(kernel: &str, offset: u64, bytes: u32) -> (Picos, u64) {
    launch(kernel, |data| {
        [&(data + offset).to_le_bytes()[..], &bytes.to_le_bytes()].concat()
    })
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

/// A copy of `rows` rows of 128 bytes that begins at (`x`, `y`) of a matrix of 64 rows of 256 bytes, `pitch` apart.
fn run_tile(rows: u32, x: i32, y: i32, pitch: u64) -> (Picos, u64) {
    let dimension = |size, stride_bytes, box_size| TensorDimension {
        size,
        stride_bytes,
        box_size,
        step: 1,
    };
    launch("tile", |data| {
        let map = TensorMap {
            address: data,
            element: TensorElement::U32,
            dimensions: vec![dimension(64, 4, 32), dimension(64, pitch, rows)],
            swizzle: Swizzle::Bytes128,
            fills_with_nan: false,
        };
        let words = map.to_words();
        let map: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let rest = [x.to_le_bytes(), y.to_le_bytes(), (rows * 128).to_le_bytes()].concat();
        [map, rest].concat()
    })
}

#[test]
fn a_tile_is_one_access_for_each_segment_of_its_rows() {
    for (rows, x, y, segments) in [
        (16, 0, 0, 16),
        // Each row crosses a segment's end.
        (16, 8, 0, 32),
        (16, 3, 5, 32),
        // Half of a row, or half of all rows, is outside.
        (16, 48, 0, 16),
        (16, -16, 0, 16),
        (16, 0, 56, 8),
        (16, 0, 70, 0),
    ] {
        let found = run_tile(rows, x, y, 256).1;
        assert_eq!(found, segments, "{rows} rows at {x}, {y}");
    }
}

#[test]
fn a_tile_of_neighbors_takes_as_long_as_a_copy() {
    for rows in [1, 8, 32] {
        let (tile, segments) = run_tile(rows, 0, 0, 128);
        let copy = run("bulk", 0, rows * 128);
        assert_eq!(segments, copy.1);
        let (tile, copy) = (tile.0 as f64, copy.0.0 as f64);
        assert!((tile / copy - 1.0).abs() < 0.05, "{tile} and {copy} ps");
    }
}

/// Time in ps of a block that copies `bytes`, works for `rounds` rounds, and only then waits for the copy.
fn run_ahead(bytes: u32, rounds: u32) -> f64 {
    let (time, _) = launch("ahead", |data| {
        [
            &data.to_le_bytes()[..],
            &bytes.to_le_bytes(),
            &rounds.to_le_bytes(),
        ]
        .concat()
    });
    time.0 as f64
}

#[test]
fn a_warp_works_while_its_copy_is_under_way() {
    let nothing = run_ahead(0, 0);
    // From the issue of the last access to its arrival, a few hundred cycles.
    let flight = run_ahead(128, 0) - nothing;
    let rounds = 2;
    let work = run_ahead(0, rounds) - nothing;
    assert!(
        work > 0.1 * flight && work < 0.9 * flight,
        "{work} and {flight} ps"
    );
    // The work fits into the flight.
    let both = run_ahead(128, rounds) - nothing;
    assert!(
        both < flight + 0.1 * work,
        "{both} for {flight} and {work} ps"
    );
    // And a copy hides behind longer work, but for its issue.
    let long = run_ahead(0, 400) - nothing;
    let both = run_ahead(128, 400) - nothing;
    assert!(
        both < long + 0.2 * flight,
        "{both} for {flight} and {long} ps"
    );
}
