//! PTX kernels on the machine: results do not depend on time, and mistakes of the host are reported.

use crate::common::gtx480::gtx480;
use crate::common::migrate;
use pagemill_sim::{
    Arg, Buffer, GpuError, Host, LaunchFailure, Limits, ModuleId, Options, Report, TransferMode,
};
use pagemill_types::PageSize;

/// `out[i] = a[i] + b[i]` for i < n; `reverse` adds within a block in reverse order, through shared memory and a barrier;
/// `forever` never ends; `count` adds one atomically for each thread.
const PTX: &str = r"
.version 7.0
.target sm_75
.address_size 64

.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 out, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [a];
    ld.param.u64 %d2, [b];
    ld.param.u64 %d3, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %d4, %r5, 4;
    add.s64 %d5, %d1, %d4;
    add.s64 %d6, %d2, %d4;
    add.s64 %d7, %d3, %d4;
    ld.global.f32 %f1, [%d5];
    ld.global.f32 %f2, [%d6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%d7], %f3;
DONE:
    ret;
}

.visible .entry reverse(.param .u64 data)
{
    .reg .b32 %r<10>;
    .reg .b64 %d<4>;
    .shared .align 4 .b8 tile[1024];
    ld.param.u64 %d1, [data];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r2, 8;
    add.s32 %r4, %r3, %r1;
    mul.wide.u32 %d2, %r4, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r5, [%d3];
    mov.u32 %r6, tile;
    shl.b32 %r7, %r1, 2;
    add.s32 %r8, %r6, %r7;
    st.shared.u32 [%r8], %r5;
    bar.sync 0;
    sub.s32 %r9, 1020, %r7;
    add.s32 %r8, %r6, %r9;
    ld.shared.u32 %r5, [%r8];
    st.global.u32 [%d3], %r5;
    ret;
}

.visible .entry forever()
{
    .reg .b32 %r<3>;
    mov.u32 %r1, 0;
LOOP:
    add.s32 %r1, %r1, 1;
    bra LOOP;
}

.visible .entry count(.param .u64 counter)
{
    .reg .b32 %r<3>;
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [counter];
    atom.global.add.u32 %r1, [%d1], 1;
    ret;
}
";

fn modes() -> Vec<TransferMode> {
    vec![
        TransferMode::IdealOverlap,
        TransferMode::ProgrammerCopy,
        migrate("whole-page", PageSize::MIB_2, 1024),
        migrate("single-range", PageSize::MIB_2, 1024),
        migrate("multi-range", PageSize::KIB_4, 256),
    ]
}

fn loaded(mode: TransferMode, timing: bool) -> (Host, ModuleId) {
    let options = Options {
        timing,
        limits: Limits {
            thread_instructions: 10_000_000,
            ..Limits::default()
        },
        ..Options::default()
    };
    let mut host = Host::new(&gtx480(), mode, options).unwrap();
    let module = host.gpu.load_module("test.ptx", PTX).unwrap();
    (host, module)
}

fn floats(host: &mut Host, name: &str, n: u64, value: impl Fn(u64) -> f32) -> Buffer {
    let buffer = host.alloc(name, n * 4).unwrap();
    for (index, bytes) in host
        .gpu
        .host_bytes_mut(buffer)
        .chunks_exact_mut(4)
        .enumerate()
    {
        bytes.copy_from_slice(&value(index as u64).to_le_bytes());
    }
    host.copy_to_gpu(buffer, 0..n * 4).unwrap();
    buffer
}

fn vector_add(mode: TransferMode, timing: bool, n: u64) -> (Vec<u8>, Report) {
    let (mut host, module) = loaded(mode, timing);
    let a = floats(&mut host, "a", n, |i| i as f32);
    let b = floats(&mut host, "b", n, |i| (i * i % 977) as f32);
    let out = host.alloc("out", n * 4).unwrap();
    let args = [
        Arg::Buffer(a),
        Arg::Buffer(b),
        Arg::Buffer(out),
        Arg::U32(n as u32),
    ];
    host.launch(
        module,
        "add",
        [n.div_ceil(256) as u32, 1, 1],
        [256, 1, 1],
        0,
        &args,
    )
    .unwrap();
    host.copy_from_gpu(out, 0..n * 4).unwrap();
    (host.gpu.host_bytes(out).to_vec(), host.finish())
}

#[test]
fn every_mode_computes_what_the_cpu_does_and_counts_the_same_instructions() {
    let n = 10_240;
    let (functional, untimed) = vector_add(TransferMode::IdealOverlap, false, n);
    let expected: Vec<u8> = (0..n)
        .flat_map(|i| (i as f32 + (i * i % 977) as f32).to_le_bytes())
        .collect();
    assert_eq!(functional, expected);
    assert_eq!(untimed.time_ns, 0);
    assert_eq!(
        untimed.execution.thread_instructions,
        18 * n,
        "the branch is not taken by any thread"
    );
    for mode in modes() {
        let (result, report) = vector_add(mode.clone(), true, n);
        assert_eq!(result, expected, "{mode:?}");
        assert_eq!(
            report.execution.thread_instructions,
            untimed.execution.thread_instructions
        );
        assert_eq!(
            report.execution.warp_instructions,
            untimed.execution.warp_instructions
        );
        assert_eq!(report.touched_bytes, 3 * (n * 4).div_ceil(128) * 128);
    }
}

#[test]
fn ideal_overlap_is_the_fastest_mode_and_runs_repeat_exactly() {
    let n = 50_000;
    let ideal = vector_add(TransferMode::IdealOverlap, true, n).1;
    for mode in modes() {
        let (_, report) = vector_add(mode.clone(), true, n);
        assert!(ideal.time_ns <= report.time_ns, "{mode:?}");
        assert_eq!(report, vector_add(mode, true, n).1);
    }
}

#[test]
fn results_come_back_where_pages_migrate() {
    let n = 4096;
    let (_, report) = vector_add(migrate("multi-range", PageSize::KIB_4, 256), true, n);
    assert_eq!(report.migrated_bytes, 3 * n * 4);
    assert_eq!(
        report.returned_bytes,
        n * 4,
        "the host reads one of the three buffers"
    );
    assert_eq!(report.resident_bytes, 2 * n * 4);
    assert_eq!(report.ranges_per_page, [4, 8]);
}

#[test]
fn barriers_and_shared_memory_work_in_time() {
    let (mut host, module) = loaded(migrate("single-range", PageSize::KIB_4, 512), true);
    let data = host.alloc("data", 40 * 1024).unwrap();
    for (index, bytes) in host
        .gpu
        .host_bytes_mut(data)
        .chunks_exact_mut(4)
        .enumerate()
    {
        bytes.copy_from_slice(&(index as u32).to_le_bytes());
    }
    host.launch(
        module,
        "reverse",
        [40, 1, 1],
        [256, 1, 1],
        0,
        &[Arg::Buffer(data)],
    )
    .unwrap();
    for (index, bytes) in host.gpu.host_bytes(data).chunks_exact(4).enumerate() {
        let expected = index / 256 * 256 + (255 - index % 256);
        assert_eq!(
            u32::from_le_bytes(bytes.try_into().unwrap()),
            expected as u32
        );
    }
}

#[test]
fn atomics_lose_no_update_in_time() {
    let (mut host, module) = loaded(migrate("whole-page", PageSize::MIB_2, 1024), true);
    let counter = host.alloc("counter", 4).unwrap();
    host.launch(
        module,
        "count",
        [100, 1, 1],
        [100, 1, 1],
        0,
        &[Arg::Buffer(counter)],
    )
    .unwrap();
    assert_eq!(host.gpu.host_bytes(counter), 10_000u32.to_le_bytes());
}

#[test]
fn an_endless_kernel_is_stopped_with_and_without_time() {
    for timing in [false, true] {
        let (mut host, module) = loaded(TransferMode::IdealOverlap, timing);
        let error = host
            .launch(module, "forever", [1, 1, 1], [32, 1, 1], 0, &[])
            .unwrap_err();
        let limited = matches!(&error, GpuError::Trap(_))
            || matches!(
                &error,
                GpuError::Launch {
                    failure: LaunchFailure::InstructionLimit { .. },
                    ..
                }
            );
        assert!(limited, "{error}");
    }
}

#[test]
fn a_stray_access_names_kernel_and_thread() {
    for timing in [false, true] {
        let (mut host, module) = loaded(TransferMode::ProgrammerCopy, timing);
        let small = host.alloc("small", 64).unwrap();
        let args = [
            Arg::Buffer(small),
            Arg::Buffer(small),
            Arg::Buffer(small),
            Arg::U32(32),
        ];
        let error = host
            .launch(module, "add", [1, 1, 1], [32, 1, 1], 0, &args)
            .unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("add")
                && message.contains("thread (16, 0, 0)")
                && message.contains("small"),
            "{message}"
        );
    }
}

#[test]
fn wrong_launches_are_refused() {
    let (mut host, module) = loaded(TransferMode::IdealOverlap, true);
    let mut launch = |kernel: &str, block: u32, args: &[Arg]| {
        host.launch(module, kernel, [1, 1, 1], [block, 1, 1], 0, args)
            .unwrap_err()
    };
    assert!(
        matches!(launch("ad", 32, &[]), GpuError::UnknownKernel { known, .. } if known.contains("add, reverse"))
    );
    assert!(matches!(
        launch("add", 32, &[Arg::U32(1)]),
        GpuError::ArgumentCount {
            given: 1,
            wanted: 4,
            ..
        }
    ));
    let narrow = [Arg::U64(0), Arg::U64(0), Arg::U32(0), Arg::U32(0)];
    assert!(matches!(
        launch("add", 32, &narrow),
        GpuError::ArgumentSize {
            index: 2,
            given: 4,
            wanted: 8,
            ..
        }
    ));
    assert!(matches!(
        launch("count", 0, &[Arg::U64(0)]),
        GpuError::Refused(_)
    ));
    assert!(matches!(
        launch("count", 2000, &[Arg::U64(0)]),
        GpuError::Refused(_)
    ));
    assert!(matches!(
        host.gpu.load_module("bad.ptx", "not ptx"),
        Err(GpuError::Ptx(_))
    ));
    let mut other = Host::new(&gtx480(), TransferMode::IdealOverlap, Options::default()).unwrap();
    let unknown = other.launch(module, "count", [1, 1, 1], [1, 1, 1], 0, &[]);
    assert!(matches!(unknown, Err(GpuError::UnknownModule { .. })));
}
