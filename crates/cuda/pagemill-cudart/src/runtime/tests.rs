use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;

mod clusters;

const SCENARIO: &str = r#"
title = "A test"
kind = "cuda"
machine = "gtx480"
program.command = ["test"]
transfer = { mode = "whole-page", page_size = "4 KiB" }
"#;

const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.global .u32 counter = 3;
.visible .entry store(.param .u64 to, .param .u32 value) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  cvta.to.global.u64 %rd2, %rd1;
  ld.param.u32 %r1, [value];
  st.global.u32 [%rd2], %r1;
  ret;
}
";

fn runtime() -> Runtime {
    let setting = Setting::from_text(SCENARIO).expect("it is sound");
    Runtime::new(setting).expect("it can be built")
}

fn one_thread(stream: StreamId) -> Launch {
    Launch {
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        stream,
        cooperative: false,
        cluster: None,
    }
}

fn arguments(to: u64, value: u32) -> Vec<u8> {
    [&to.to_le_bytes()[..], &value.to_le_bytes()].concat()
}

fn store(runtime: &mut Runtime, to: u64, value: u32, stream: StreamId) -> Result<(), Fault> {
    runtime.call(|runtime| {
        let image = match runtime.kernels().load_image(0) {
            Ok(_) => 0,
            Err(_) => runtime.modules.register_ptx(PTX.to_owned()),
        };
        let key = runtime.kernels().kernel_of_image(image, "store")?;
        runtime.launch(key, &one_thread(stream), |params, bytes| {
            assert_eq!(
                params
                    .iter()
                    .map(|param| (param.offset, param.bytes))
                    .collect::<Vec<_>>(),
                [(0, 8), (8, 4)]
            );
            assert_eq!(bytes, 12);
            Ok(arguments(to, value))
        })
    })
}

#[test]
fn a_kernel_writes_what_the_host_reads() {
    let mut runtime = runtime();
    let memory = runtime
        .malloc(64)
        .expect("there is room")
        .expect("not empty");
    assert_eq!(runtime.malloc(0), Ok(None));
    store(&mut runtime, memory + 8, 77, StreamId::LEGACY).expect("it runs");
    assert_eq!(
        runtime.device.bytes_mut(memory + 8, 4),
        Ok(&mut 77u32.to_le_bytes()[..])
    );
    assert_eq!(runtime.device.side(memory + 63), Side::Device);
    assert_eq!(runtime.device.side(memory + 64), Side::Host);
    let (symbol, bytes) = runtime
        .kernels()
        .global_of_image(0, "counter")
        .expect("it is there");
    assert_eq!(bytes, 4);
    assert_eq!(runtime.device.side(symbol), Side::Device);
    assert_eq!(
        runtime.device.bytes_mut(symbol, 4),
        Ok(&mut 3u32.to_le_bytes()[..])
    );
    runtime.free(memory).expect("it is there");
    assert_eq!(
        runtime.free(memory).expect_err("it is gone").code,
        CudaError::INVALID_VALUE
    );
    assert_eq!(runtime.device.memory_info().0, runtime.device.total_bytes());
}

/// Managed memory of every runtime begins at one address, so one test of this process has some at a time.
static MANAGED_MEMORY: Mutex<()> = Mutex::new(());

fn only_one_with_managed_memory() -> MutexGuard<'static, ()> {
    MANAGED_MEMORY
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn managed_pages_close_when_they_leave_and_come_back_when_touched() {
    let mut runtime = runtime();
    let _only = only_one_with_managed_memory();
    let memory = runtime
        .device
        .malloc_managed(3 * 4096)
        .expect("there is room");
    store(&mut runtime, memory + 4096, 5, StreamId::LEGACY).expect("it runs");
    assert!(
        runtime
            .device
            .gpu
            .is_on_gpu(pagemill_types::VirtAddr(memory + 4096))
    );
    // SAFETY: the managed memory is mapped; the fault of a page on the GPU opens it.
    let seen = unsafe { (memory as *const u32).byte_add(4096).read_volatile() };
    assert_eq!(seen, 5);
    runtime.call(|_| Ok(())).expect("nothing is wrong");
    assert!(
        !runtime
            .device
            .gpu
            .is_on_gpu(pagemill_types::VirtAddr(memory + 4096))
    );
    let report = runtime.finish();
    assert_eq!(report.memory.migration.returned_pages, 1);
    assert_eq!(report.returned_bytes, 4096);
}

#[test]
fn touches_are_for_the_runtime_whose_memory_it_is() {
    let mut runtime = runtime();
    let mut other = self::runtime();
    let _only = only_one_with_managed_memory();
    let memory = runtime.device.malloc_managed(4096).expect("there is room");
    store(&mut runtime, memory, 5, StreamId::LEGACY).expect("it runs");
    // SAFETY: the managed memory is mapped; the fault of a page on the GPU opens it.
    let seen = unsafe { (memory as *const u32).read_volatile() };
    assert_eq!(seen, 5);
    other.call(|_| Ok(())).expect("nothing is wrong");
    runtime.call(|_| Ok(())).expect("nothing is wrong");
    assert!(
        !runtime
            .device
            .gpu
            .is_on_gpu(pagemill_types::VirtAddr(memory))
    );
    assert_eq!(runtime.finish().memory.migration.returned_pages, 1);
}

#[test]
fn pages_that_only_a_kernel_touches_are_allocated_on_the_gpu_and_do_not_move() {
    let mut runtime = runtime();
    let _only = only_one_with_managed_memory();
    let memory = runtime
        .device
        .malloc_managed(3 * 4096)
        .expect("there is room");
    // SAFETY: the managed memory is mapped, and no page of it is on the GPU.
    unsafe { (memory as *mut u32).byte_add(2 * 4096).write_volatile(1) };
    for page in 1..3 {
        store(&mut runtime, memory + page * 4096, 5, StreamId::LEGACY).expect("it runs");
    }
    let report = runtime.finish();
    let migration = report.memory.migration;
    assert_eq!(migration.populated_bytes, 4096, "the CPU never had page 1");
    assert_eq!(migration.migrated_bytes, 4096, "the CPU wrote page 2");
}

#[test]
fn a_stray_kernel_loses_the_gpu() {
    let mut runtime = runtime();
    let fault = store(&mut runtime, 12, 0, StreamId::LEGACY).expect_err("nothing is there");
    assert_eq!(
        (fault.code, fault.sticky),
        (CudaError::ILLEGAL_ADDRESS, true)
    );
    let later = runtime
        .call(|runtime| runtime.malloc(4))
        .expect_err("it is lost");
    assert_eq!(later, Fault::silent(CudaError::ILLEGAL_ADDRESS));
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let mut runtime = runtime();
    let text = runtime.modules.register_ptx("this is no PTX".to_owned());
    let binary = runtime.modules.register_fat_binary(&b"neither"[..]);
    for (image, code) in [
        (text, CudaError::INVALID_PTX),
        (binary, CudaError::NO_KERNEL_IMAGE),
        (99, CudaError::INVALID_RESOURCE_HANDLE),
    ] {
        let refused = runtime.kernels().load_image(image);
        assert_eq!(refused.expect_err("no code").code, code);
    }
    let image = runtime.modules.register_ptx(PTX.to_owned());
    let missing = runtime.kernels().kernel_of_image(image, "other");
    let missing = missing.expect_err("not there");
    assert_eq!(missing.code, CudaError::INVALID_DEVICE_FUNCTION);
}

#[test]
fn what_cannot_be_launched_does_no_harm() {
    let mut runtime = runtime();
    let image = runtime.modules.register_ptx(PTX.to_owned());
    let key = runtime.kernels().kernel_of_image(image, "store");
    let key = key.expect("it is there");
    let wrong = |launch: Launch, runtime: &mut Runtime| {
        let pack = |_: &[pagemill_ptx::Param], _| Ok(arguments(0, 0));
        runtime
            .launch(key, &launch, pack)
            .expect_err("it cannot be")
            .code
    };
    let one = one_thread(StreamId::LEGACY);
    let cases = [
        (
            Launch {
                block: [1025, 1, 1],
                ..one
            },
            CudaError::INVALID_VALUE,
        ),
        (
            Launch {
                block: [u32::MAX; 3],
                ..one
            },
            CudaError::INVALID_VALUE,
        ),
        (
            Launch {
                grid: [1, 0, 1],
                ..one
            },
            CudaError::INVALID_VALUE,
        ),
        (
            Launch {
                shared_bytes: u64::MAX,
                ..one
            },
            CudaError::INVALID_VALUE,
        ),
        (
            Launch {
                stream: StreamId(0x9999),
                ..one
            },
            CudaError::INVALID_RESOURCE_HANDLE,
        ),
    ];
    for (launch, code) in cases {
        assert_eq!(wrong(launch, &mut runtime), code, "{launch:?}");
    }
    assert_eq!(runtime.lost, None);
    assert_eq!(
        runtime
            .kernels()
            .blocks_per_sm(key, 256, 0)
            .map(|blocks| blocks > 0),
        Ok(true)
    );
    assert_eq!(runtime.kernels().blocks_per_sm(key, 2000, 0), Ok(0));
    assert!(runtime.kernels().blocks_per_sm(key, 0, 0).is_err());
}

#[test]
fn streams_wait_for_whom_they_must() {
    let mut runtime = runtime();
    let memory = runtime
        .malloc(64)
        .expect("there is room")
        .expect("not empty");
    let (blocking, free) = (
        runtime.streams.create_stream(true),
        runtime.streams.create_stream(false),
    );
    let events = [(); 4].map(|()| runtime.streams.create_event());
    store(&mut runtime, memory, 1, blocking).expect("it runs");
    runtime
        .record_event(events[0], blocking)
        .expect("both are there");
    // The default stream waits for the blocking stream, the other does not.
    runtime
        .record_event(events[1], StreamId::LEGACY)
        .expect("both are there");
    runtime
        .record_event(events[2], free)
        .expect("both are there");
    let elapsed = |runtime: &Runtime, start: usize, end: usize| {
        runtime
            .streams
            .elapsed_ms(events[start], events[end])
            .expect("recorded")
    };
    assert_eq!(elapsed(&runtime, 0, 1), 0.0);
    assert!(elapsed(&runtime, 2, 0) > 0.0);
    runtime
        .wait_for_event(free, events[0])
        .expect("both are there");
    runtime
        .record_event(events[3], free)
        .expect("both are there");
    assert_eq!(elapsed(&runtime, 0, 3), 0.0);
    runtime.synchronize_stream(blocking).expect("it is there");
    runtime
        .record_event(events[2], free)
        .expect("both are there");
    assert_eq!(
        elapsed(&runtime, 0, 2),
        0.0,
        "the host has waited, so everything is later"
    );
    runtime.streams.destroy_stream(free).expect("it is there");
    assert!(
        runtime.streams.destroy_stream(free).is_err()
            && runtime.streams.destroy_stream(StreamId::LEGACY).is_err()
    );
    runtime
        .streams
        .destroy_event(events[0])
        .expect("it is there");
    assert!(runtime.record_event(events[0], blocking).is_err());
}

#[test]
fn copies_take_the_time_of_the_link() {
    let mut runtime = runtime();
    let bytes = 16_000_000u64;
    let memory = runtime
        .malloc(bytes)
        .expect("there is room")
        .expect("not empty");
    let copy = Copy3d {
        to: Span::linear(memory, bytes),
        from: Span::linear(8, bytes),
        extent: Extent::linear(bytes),
    };
    let located = runtime
        .device
        .locate(&copy.to, &copy.extent)
        .expect("it is inside");
    assert_eq!(
        (located.0, located.1.map(|bytes| bytes.len() as u64)),
        (Side::Device, Some(bytes))
    );
    assert!(
        runtime
            .device
            .locate(&Span::linear(memory + 1, bytes), &copy.extent)
            .is_err()
    );
    let (start, end) = (
        runtime.streams.create_event(),
        runtime.streams.create_event(),
    );
    runtime
        .record_event(start, StreamId::LEGACY)
        .expect("both are there");
    runtime
        .charge_copy(&copy, Side::Device, Side::Host, StreamId::LEGACY)
        .expect("the stream is there");
    runtime
        .record_event(end, StreamId::LEGACY)
        .expect("both are there");
    // 16 MB at 16 GB/s, and 500 ns.
    let elapsed = runtime.streams.elapsed_ms(start, end).expect("recorded");
    assert!((elapsed - 1.0005).abs() < 1e-4, "{elapsed}");
}

#[test]
fn rows_must_not_overlap_nor_reach_past_the_end() {
    let mut runtime = runtime();
    let memory = runtime
        .malloc(100)
        .expect("there is room")
        .expect("not empty");
    let extent = Extent {
        width_bytes: 10,
        rows: 5,
        slices: 2,
    };
    let span = |pitch_bytes, slice_bytes| Span {
        address: memory,
        pitch_bytes,
        slice_bytes,
    };
    assert!(runtime.device.locate(&span(10, 50), &extent).is_ok());
    let codes = [(9, 50), (11, 50), (10, 51), (u64::MAX, 1)].map(|(pitch, slice)| {
        let fault = runtime
            .device
            .locate(&span(pitch, slice), &extent)
            .expect_err("too far");
        fault.code
    });
    assert_eq!(
        codes,
        [
            CudaError::INVALID_VALUE,
            CudaError::INVALID_VALUE,
            CudaError::INVALID_VALUE,
            CudaError::INVALID_VALUE
        ]
    );
    assert_eq!(
        runtime
            .device
            .locate(&span(1, 1), &Extent::linear(1))
            .map(|found| found.0),
        Ok(Side::Device)
    );
}

#[test]
fn launches_that_fail_are_counted_by_kernel_and_cause() {
    let mut runtime = runtime();
    let image = runtime.modules.register_ptx(PTX.to_owned());
    let key = runtime
        .kernels()
        .kernel_of_image(image, "store")
        .expect("there is one");
    let launch = |runtime: &mut Runtime, threads: u32, to: u64| {
        let shape = Launch {
            block: [threads, 1, 1],
            ..one_thread(StreamId::LEGACY)
        };
        runtime.call_launch(key, |runtime| {
            runtime.launch(key, &shape, |_, _| Ok(arguments(to, 1)))
        })
    };
    let memory = runtime
        .malloc(4)
        .expect("there is room")
        .expect("not empty");
    launch(&mut runtime, 1, memory).expect("it runs");
    assert_eq!(runtime.failed, []);
    for _ in 0..2 {
        launch(&mut runtime, 5000, memory).expect_err("too many threads");
    }
    launch(&mut runtime, 1, memory + 4096).expect_err("out of bounds");
    launch(&mut runtime, 1, memory).expect_err("the GPU is lost");
    let found: Vec<(&str, &str, u64)> = runtime
        .failed
        .iter()
        .map(|failed| {
            (
                failed.kernel.as_str(),
                failed.status.as_str(),
                failed.launches,
            )
        })
        .collect();
    let wanted = [
        ("store", "cudaErrorInvalidValue", 2),
        ("store", "cudaErrorIllegalAddress", 1),
        ("store", "cudaErrorIllegalAddress", 1),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn programs_get_the_compute_capability_of_the_machine_but_at_least_what_compilers_make() {
    for (machine, told) in [(20, 75), (70, 75), (75, 75), (80, 80), (90, 90), (120, 120)] {
        let mut setting = Setting::from_text(SCENARIO).expect("it is sound");
        setting.machine.sm.compute_capability = machine;
        let runtime = Runtime::new(setting).expect("it can be built");
        assert_eq!(runtime.device.compute_capability(), told);
    }
}

#[test]
fn the_heap_of_kernels_cannot_change_once_it_is_used() {
    const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.visible .entry take(.param .u64 to, .param .u32 unused) {
  .reg .b64 %rd<3>;
  .param .b64 bytes;
  .param .b64 place;
  st.param.b64 [bytes], 48;
  call (place), malloc, (bytes);
  ld.param.b64 %rd1, [place];
  ld.param.u64 %rd2, [to];
  st.global.u64 [%rd2], %rd1;
  ret;
}
";
    let mut runtime = runtime();
    runtime.device.set_heap_bytes(64).expect("it is unused");
    let to = runtime.malloc(8).expect("there is room");
    let to = to.expect("not empty");
    let image = runtime.modules.register_ptx(PTX.to_owned());
    let take = |runtime: &mut Runtime| {
        let key = runtime
            .kernels()
            .kernel_of_image(image, "take")
            .expect("it is there");
        let launch = one_thread(StreamId::LEGACY);
        let launched = runtime.launch(key, &launch, |_, _| Ok(arguments(to, 0)));
        launched.expect("it runs");
        let bytes = runtime.device.bytes_mut(to, 8).expect("it is allocated");
        bytes.iter().any(|&byte| byte != 0)
    };
    assert!(take(&mut runtime));
    assert!(!take(&mut runtime), "64 bytes hold 48 once");
    let refused = runtime
        .device
        .set_heap_bytes(1 << 20)
        .expect_err("it is in use");
    assert_eq!(refused.code, CudaError::INVALID_VALUE);
}

#[test]
fn functions_say_the_constants_of_their_module_and_heed_limits_of_registers() {
    let mut runtime = runtime();
    let text = "
.version 7.0
.target sm_75
.address_size 64
.const .align 4 .b8 table[1000];
.const .b32 one;
.visible .entry sum(.param .u64 from)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<8>;
  ld.param.u64 %rd1, [from];
  ld.global.u32 %r1, [%rd1];
  ld.global.u32 %r2, [%rd1+4];
  ld.global.u32 %r3, [%rd1+8];
  ld.global.u32 %r4, [%rd1+12];
  add.u32 %r5, %r1, %r2;
  add.u32 %r6, %r3, %r4;
  add.u32 %r7, %r5, %r6;
  st.global.u32 [%rd1], %r7;
  ret;
}
"
    .to_owned();
    let limited = text.replace("{\n", ".maxnreg 2\n{\n");
    let attributes = |runtime: &mut Runtime, image: usize| {
        let key = runtime
            .kernels()
            .kernel_of_image(image, "sum")
            .expect("it is there");
        runtime
            .kernels()
            .function_attributes(key)
            .expect("it is sound")
    };
    let image = runtime.modules.register_ptx(text);
    let plain = attributes(&mut runtime, image);
    assert_eq!(plain.constant_bytes, 1004);
    assert!(plain.registers > 2, "{}", plain.registers);
    runtime
        .kernels()
        .limit_registers(image, 1)
        .expect("it is loaded");
    assert_eq!(attributes(&mut runtime, image).registers, 1);
    let image = runtime.modules.register_ptx(limited);
    assert_eq!(attributes(&mut runtime, image).registers, 2);
}
