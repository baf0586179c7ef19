//! What a CUDA runtime asks of a GPU, against what the host could work out by hand.

use crate::common::gtx480::gtx480;
use pagemill_pages::parts::link::Direction;
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_sim::{Gpu, GpuError, GpuMachine, Options, Report, TransferMode};
use pagemill_types::{PageSize, Picos, VirtAddr};

const PAGE: u64 = 2 << 20;

fn machine(pages: u64) -> GpuMachine {
    GpuMachine {
        memory_bytes: Some(pages * PAGE),
        ..gtx480()
    }
}

fn whole_page() -> TransferMode {
    let policy = POLICIES
        .iter()
        .find(|policy| policy.name == "whole-page")
        .expect("it is registered");
    TransferMode::Migrate(MigrationSpec::new(PageSize::MIB_2, policy))
}

fn migrating(pages: u64) -> Gpu {
    Gpu::new(&machine(pages), whole_page(), Options::default()).expect("the machine is sound")
}

fn lend(gpu: &mut Gpu, bytes: usize) -> pagemill_sim::Buffer {
    let memory = Box::leak(vec![0u8; bytes].into_boxed_slice());
    gpu.lend_managed("managed", memory)
        .expect("there is address space")
}

#[test]
fn memory_of_the_gpu_is_taken_from_that_of_pages() {
    let mut gpu = migrating(4);
    let buffer = lend(&mut gpu, 4 * PAGE as usize);
    gpu.prefetch(Picos::ZERO, buffer, 0..buffer.bytes)
        .expect("inside");
    assert!((0..4).all(|page| gpu.is_on_gpu(VirtAddr(buffer.address.0 + page * PAGE))));
    let fixed = gpu
        .alloc_fixed(Picos::ZERO, "fixed", PAGE + 1)
        .expect("there is room");
    let on_gpu = (0..4).filter(|page| gpu.is_on_gpu(VirtAddr(buffer.address.0 + page * PAGE)));
    assert_eq!(on_gpu.count(), 2, "two frames are gone");
    assert!(matches!(
        gpu.alloc_fixed(Picos::ZERO, "more", 2 * PAGE),
        Err(GpuError::OutOfMemory { .. })
    ));
    gpu.free_fixed(Picos::ZERO, fixed).expect("it is there");
    gpu.alloc_fixed(Picos::ZERO, "again", 3 * PAGE)
        .expect("there is room");
    assert!(
        gpu.free_fixed(Picos::ZERO, fixed).is_err(),
        "it is free already"
    );
}

#[test]
fn a_prefetch_moves_what_is_missing_and_nothing_twice() {
    let mut gpu = migrating(8);
    let buffer = lend(&mut gpu, 3 * PAGE as usize);
    let at = gpu.prefetch(Picos::ZERO, buffer, 0..PAGE).expect("inside");
    let at = gpu.prefetch(at, buffer, 0..buffer.bytes).expect("inside");
    let at = gpu.copy_from_gpu(at, buffer, 0..1).expect("inside");
    assert!(!gpu.is_on_gpu(buffer.address));
    let report = gpu.finish(at);
    assert_eq!(report.migrated_bytes, 3 * PAGE);
    assert_eq!(report.returned_bytes, PAGE);
    // 16 GB/s and 500 ns each, one after the other.
    let link_ns = 4.0 * (500.0 + PAGE as f64 / 16.0);
    assert!(
        (report.time_ns as f64 - link_ns).abs() < 2000.0,
        "{} for {link_ns}",
        report.time_ns
    );
}

#[test]
fn freed_pages_leave_without_a_trace() {
    let mut gpu = migrating(2);
    let first = lend(&mut gpu, 2 * PAGE as usize);
    let at = gpu
        .prefetch(Picos::ZERO, first, 0..first.bytes)
        .expect("inside");
    gpu.free(at, first.address).expect("it is there");
    let second = lend(&mut gpu, 2 * PAGE as usize);
    let at = gpu.prefetch(at, second, 0..second.bytes).expect("inside");
    let report = gpu.finish(at);
    assert_eq!(report.memory.migration.evictions, 0);
    assert_eq!(report.returned_bytes, 0);
}

#[test]
fn copies_of_two_streams_share_the_link_and_nothing_else() {
    let mut gpu = migrating(8);
    let first = gpu.transfer(Picos::ZERO, 1 << 20, Direction::ToGpu);
    let second = gpu.transfer(Picos::ZERO, 1 << 20, Direction::ToGpu);
    let back = gpu.transfer(Picos::ZERO, 1 << 20, Direction::ToCpu);
    assert_eq!(back, first, "the other direction is free");
    let one = Picos((1u64 << 20) * 125 / 2);
    assert_eq!(second, first + one, "the same direction is not");
}

#[test]
fn a_report_goes_through_a_file_unchanged() {
    let options = Options {
        timeline: true,
        ..Options::default()
    };
    let mut gpu = Gpu::new(&machine(2), whole_page(), options).expect("the machine is sound");
    let buffer = lend(&mut gpu, 3 * PAGE as usize);
    let at = gpu
        .prefetch(Picos::ZERO, buffer, 0..buffer.bytes)
        .expect("inside");
    let report = gpu.finish(at);
    let text = serde_json::to_string(&report).expect("it can be written");
    let back: Report = serde_json::from_str(&text).expect("it can be read");
    assert_eq!(back, report);
    assert!(!report.timeline.events().is_empty());
}
