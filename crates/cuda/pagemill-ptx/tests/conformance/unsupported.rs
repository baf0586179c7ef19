//! Instructions that are refused, and the table of them in `docs/cuda.md`.

use std::path::Path;

use pagemill_ptx::Module;

/// What is refused, why, and instructions of that kind.
type Refused = (&'static str, &'static str, &'static [&'static str]);

const REFUSED: &[Refused] = &[
    (
        "`tcgen05`",
        "tensor memory of `sm_100a`, `sm_103a` and `sm_110a`; no machine here has it",
        &[
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;",
            "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1;",
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];",
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d1];",
            "tcgen05.wait::ld.sync.aligned;",
        ],
    ),
    (
        "`mma.sp`, `wgmma.mma_async.sp`",
        "sparse matrices",
        &[
            "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4}, %r5, 0x0;",
            "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f2,%f3,%f4}, %d1, %d2, %r1, 0, %p1, 1, 1, 0, 0;",
        ],
    ),
    (
        "`mma` with `kind::mxf8f6f4`, `kind::mxf4`, `kind::mxf4nvf4`, or elements of six or four bits",
        "block-scaled products of `sm_120a`",
        &[
            "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4}, %r7, {0, 0}, %r8, {0, 0};",
            "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};",
        ],
    ),
    (
        "`mma.m8n8k4` of `f16`",
        "made for `sm_70`, by pairs of quarters of a warp",
        &[
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, {%r1,%r2}, {%r3,%r4}, {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8};",
        ],
    ),
    (
        "`cp.async.bulk.tensor` with `im2col`, `tile::gather4` or `tile::scatter4`; `cp.async.bulk` with a byte mask",
        "only tiles and plain bytes are copied",
        &[
            "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3, %r4}], [%r5], {%h1};",
            "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3, %r4, %r5, %r6}], [%r7];",
            "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%d1, {%r2, %r3, %r4, %r5, %r6}], [%r1];",
            "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [%r1], 32, %h1;",
        ],
    ),
    (
        "`ldmatrix` and `stmatrix` of `b8` and narrower",
        "only matrices of 16-bit elements",
        &[
            "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
            "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r1};",
        ],
    ),
    (
        "`multimem`",
        "memory of several GPUs at one address",
        &["multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%d1];"],
    ),
    (
        "`clusterlaunchcontrol`",
        "clusters that take over blocks of others (`sm_100`)",
        &[
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];",
        ],
    ),
    (
        "`st.bulk`",
        "fills shared memory (`sm_100`)",
        &["st.bulk.weak.shared::cta [%d1], 128, 0;"],
    ),
    (
        "`add`, `sub` and `fma` of `f32` with one `f16` or `bf16`",
        "arithmetic of `sm_100`",
        &[
            "add.rn.f32.f16 %f1, %h1, %f2;",
            "fma.rn.f32.bf16 %f1, %h1, %h2, %f2;",
        ],
    ),
    (
        "`cvt.rs`, and `cvt` with a scale",
        "rounding by random bits, scaled conversions",
        &[
            "cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f4}, %r2;",
            "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;",
        ],
    ),
    (
        "`txq`, `suq`, `sured`, `tex` of references",
        "questions to textures, and atomics on surfaces",
        &[
            "txq.width.b32 %r1, [%d1];",
            "suq.width.b32 %r1, [%d1];",
            "sured.b.add.2d.u32.trap [%d1, {%r1, %r2}], %r3;",
        ],
    ),
    (
        "`vset`, `vshl`, `vshr`, `vmad`, and selectors of video instructions",
        "compilers make other code of them",
        &[
            "vset.s32.s32.eq %r1, %r2, %r3;",
            "vshl.u32.u32.u32.wrap %r1, %r2, %r3;",
            "vmad.s32.s32.s32 %r1, %r2.b0, %r3.b0, %r4;",
            "vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1;",
        ],
    ),
];

fn module(instruction: &str) -> String {
    format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %d<9>;\n\
         {instruction}\nret;\n}}\n"
    )
}

#[test]
fn what_is_not_supported_is_refused_by_its_name() {
    for (_, _, instructions) in REFUSED {
        for instruction in *instructions {
            let opcode = instruction.split(['.', ' ']).next().unwrap_or_default();
            let error = match Module::load("refused.ptx", &module(instruction)) {
                Ok(_) => panic!("{instruction} is supported"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains(opcode), "{instruction}: {error}");
            assert!(error.contains("refused.ptx:11"), "{instruction}: {error}");
        }
    }
}

#[test]
fn operands_that_have_no_meaning_are_refused() {
    for instruction in [
        "add.u32 %r1, %r2, %r3, %r4;",
        "mov.b32 %r1, %r2, %r3;",
        "ld.global.u32 %r1, [%d1], %d2;",
        "cvt.u32.u64 %r1, %d1, %d2;",
        "bar.warp.sync %r1, %r2;",
    ] {
        let loaded = Module::load("refused.ptx", &module(instruction));
        let error = loaded.map(|_| ()).expect_err(instruction).to_string();
        assert!(error.contains("operands is not supported"), "{error}");
    }
}

#[test]
fn what_is_not_supported_is_documented() {
    let mut table = "\n| refused | what it is |\n|---|---|\n".to_owned();
    for (names, what, _) in REFUSED {
        table += &format!("| {names} | {what} |\n");
    }
    table.push('\n');
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/cuda.md");
    let text = std::fs::read_to_string(path).expect("docs/cuda.md");
    let (_, rest) = text
        .split_once("<!-- refused: begin -->")
        .expect("its begin");
    let (found, _) = rest.split_once("<!-- refused: end -->").expect("its end");
    assert_eq!(
        found, table,
        "put this between the marks in docs/cuda.md:\n{table}"
    );
}
