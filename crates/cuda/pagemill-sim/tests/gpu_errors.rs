//! Requests that cannot be: each is refused by name, and none panics.

use crate::common::gtx480::gtx480;
use crate::common::{compute, exit, migrate, run, shape};
use pagemill_sim::gpu::{
    GpuError, Host, LaunchFailure, Options, Step, StepEnd, TransferMode, WarpPlace,
};
use pagemill_types::{PageSize, Picos};

fn launch_failure(result: Result<impl std::fmt::Debug, GpuError>) -> LaunchFailure {
    match result.unwrap_err() {
        GpuError::Launch { failure, .. } => failure,
        other => panic!("{other}"),
    }
}

#[test]
fn an_endless_kernel_is_stopped() {
    let endless = |_: u64, _: WarpPlace, step: &mut Step| {
        compute(step, 1000, 2000);
        step.end = StepEnd::Budget;
    };
    let failure = launch_failure(run(
        &gtx480(),
        TransferMode::IdealOverlap,
        4096,
        shape(1, 1),
        endless,
    ));
    assert_eq!(
        failure,
        LaunchFailure::InstructionLimit {
            limit: 1_000_000_000
        }
    );
}

#[test]
fn an_endless_wait_for_time_is_stopped() {
    let sleepy = |_: u64, _: WarpPlace, step: &mut Step| {
        compute(step, 1, u64::from(u32::MAX));
        step.end = StepEnd::Budget;
    };
    let failure = launch_failure(run(
        &gtx480(),
        TransferMode::IdealOverlap,
        4096,
        shape(1, 1),
        sleepy,
    ));
    assert_eq!(failure, LaunchFailure::TimeLimit);
}

#[test]
fn a_barrier_that_is_never_complete_is_a_deadlock() {
    let stuck = |_: u64, place: WarpPlace, step: &mut Step| {
        if place.warp == 0 {
            return exit(step);
        }
        compute(step, 1, 2);
        step.end = StepEnd::Barrier {
            id: 0,
            released: false,
        };
    };
    let failure = launch_failure(run(
        &gtx480(),
        TransferMode::IdealOverlap,
        4096,
        shape(3, 2),
        stuck,
    ));
    assert_eq!(failure, LaunchFailure::Deadlock { block: 0 });
}

#[test]
fn a_block_that_fits_no_sm_is_refused() {
    let mut large = shape(1, 8);
    large.shared_bytes_per_block = 1 << 20;
    let result = run(
        &gtx480(),
        TransferMode::IdealOverlap,
        4096,
        large,
        |_, _, step| exit(step),
    );
    let message = result.unwrap_err().to_string();
    assert!(message.contains("shared memory"), "{message}");
}

#[test]
fn a_failed_launch_leaves_the_gpu_usable() {
    let mut host = Host::new(&gtx480(), TransferMode::IdealOverlap, Options::default()).unwrap();
    let mut stuck = pagemill_sim::gpu::SyntheticGrid::new(shape(3, 2), |_, step: &mut Step| {
        step.end = StepEnd::Barrier {
            id: 0,
            released: false,
        };
    });
    host.launch_grid("stuck", &mut stuck).unwrap_err();
    let mut fine =
        pagemill_sim::gpu::SyntheticGrid::new(shape(3, 2), |_, step: &mut Step| exit(step));
    host.launch_grid("fine", &mut fine).unwrap();
}

#[test]
fn memory_requests_are_checked() {
    let mut machine = gtx480();
    machine.memory_bytes = Some(8 << 20);
    let mut host = Host::new(&machine, TransferMode::ProgrammerCopy, Options::default()).unwrap();
    let small = host.alloc("small", 10).unwrap();
    assert!(matches!(
        host.alloc("none", 0),
        Err(GpuError::EmptyAllocation { .. })
    ));
    assert!(
        matches!(host.alloc("large", 8 << 20), Err(GpuError::OutOfMemory { used, .. }) if used == 2 << 20)
    );
    assert!(matches!(
        host.alloc("huge", u64::MAX),
        Err(GpuError::OutOfMemory { .. } | GpuError::TooManyPages { .. })
    ));
    assert!(matches!(
        host.copy_to_gpu(small, 0..11),
        Err(GpuError::OutOfRange { bytes: 10, .. })
    ));
    let backwards = std::ops::Range { start: 5, end: 4 };
    assert!(matches!(
        host.copy_from_gpu(small, backwards),
        Err(GpuError::OutOfRange { .. })
    ));
    let mut other = Host::new(&machine, TransferMode::ProgrammerCopy, Options::default()).unwrap();
    assert!(matches!(
        other.copy_to_gpu(small, 0..1),
        Err(GpuError::UnknownBuffer { .. })
    ));
}

#[test]
fn managed_memory_that_a_programmer_copies_takes_gpu_memory() {
    let mut machine = gtx480();
    machine.memory_bytes = Some(10 << 20);
    let lend = |host: &mut Host, bytes: usize| {
        host.gpu
            .lend_managed("managed", Vec::leak(vec![0; bytes]))
            .map(|buffer| buffer.address)
    };
    let mut host = Host::new(&machine, TransferMode::ProgrammerCopy, Options::default()).unwrap();
    let half = lend(&mut host, 6 << 20).unwrap();
    let error = lend(&mut host, 6 << 20).unwrap_err();
    assert!(
        matches!(error, GpuError::OutOfMemory { used, capacity, .. } if used == 6 << 20 && capacity == 10 << 20)
    );
    assert!(error.to_string().contains("raise machine.dram.capacity"));
    // What is freed makes room again, for managed memory as for any other.
    host.free(half).unwrap();
    host.gpu.alloc_fixed(Picos::ZERO, "fixed", 6 << 20).unwrap();
    lend(&mut host, 4 << 20).unwrap();
    assert!(matches!(
        host.gpu.alloc_fixed(Picos::ZERO, "more", 1),
        Err(GpuError::OutOfMemory { .. })
    ));

    let moves = migrate("whole-page", PageSize::MIB_2, 4096);
    let mut host = Host::new(&machine, moves, Options::default()).unwrap();
    lend(&mut host, 16 << 20).unwrap();
}

#[test]
fn impossible_transfer_modes_are_refused() {
    let mut machine = gtx480();
    let uneven = migrate("multi-range", PageSize::KIB_4, 3000);
    assert_eq!(
        Host::new(&machine, uneven, Options::default())
            .unwrap_err()
            .key,
        "transfer.unit"
    );
    machine.memory_bytes = Some(4096);
    let large = migrate("multi-range", PageSize::MIB_2, 1024);
    assert_eq!(
        Host::new(&machine, large, Options::default())
            .unwrap_err()
            .key,
        "dram.capacity"
    );
}

#[test]
fn each_buffer_begins_on_a_page_of_its_own() {
    let mut host = Host::new(
        &gtx480(),
        migrate("whole-page", PageSize::MIB_2, 1024),
        Options::default(),
    )
    .unwrap();
    let buffers = [1, 5000, 3 << 20, 7].map(|bytes| host.alloc("buffer", bytes).unwrap());
    let pages = buffers.map(|buffer| buffer.address.0 / (2 << 20));
    assert!(
        buffers
            .iter()
            .all(|buffer| buffer.address.0.is_multiple_of(2 << 20))
    );
    assert_eq!(pages.map(|page| page - pages[0]), [0, 1, 2, 4]);
}

#[test]
fn a_launch_ends_when_its_flag_is_set() {
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut host = Host::new(&gtx480(), TransferMode::IdealOverlap, Options::default()).unwrap();
    host.gpu.stop_when(std::sync::Arc::clone(&stop));
    let mut steps = 0;
    let step = |_: WarpPlace, step: &mut Step| {
        compute(step, 1000, 2000);
        steps += 1;
        if steps == 10 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        step.end = StepEnd::Budget;
    };
    let mut grid = pagemill_sim::SyntheticGrid::new(shape(1, 1), step);
    assert_eq!(
        launch_failure(host.launch_grid("endless", &mut grid)),
        LaunchFailure::Stopped
    );
}
