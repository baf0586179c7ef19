//! The machine under synthetic kernels: formulas derived by hand, conservation, monotony, determinism.

use pagemill_policy::migration::{MigrationSpec, find_policy};
use pagemill_sim::gpu::{
    AccessKind, Gpu, GpuMachine, GridShape, LaunchReport, Options, Report, Step, StepEnd, SyntheticGrid, TransferMode,
    WarpPlace,
};
use pagemill_types::{Bandwidth, PageSize, Picos};

fn shape(blocks: u64, warps_per_block: u32) -> GridShape {
    GridShape {
        blocks,
        threads_per_block: warps_per_block * 32,
        warps_per_block,
        registers_per_thread: 16,
        shared_bytes_per_block: 0,
    }
}

fn migrate(policy: &str, page: PageSize, unit_bytes: u32) -> TransferMode {
    let mut spec = MigrationSpec::new(page, find_policy(policy).unwrap());
    spec.unit_bytes = unit_bytes;
    TransferMode::Migrate(spec)
}

fn count(step: &mut Step, instructions: u64) {
    step.totals.instructions = instructions;
    step.totals.thread_instructions = instructions * 32;
    step.totals.issue_cycles = instructions * 2;
    step.totals.latency_cycles = instructions * 2;
}

fn load(step: &mut Step, base: u64, slot: u8) {
    count(step, 1);
    step.end = StepEnd::Memory;
    step.access.kind = AccessKind::Load;
    step.access.lane_bytes = 4;
    step.access.mask = u32::MAX;
    step.access.addresses = std::array::from_fn(|lane| base + lane as u64 * 4);
    step.access.slot = Some(slot);
}

/// Each warp loads one 128-byte segment after the other, waiting for each.
fn chase(base: u64, per_warp: u64, warps: u32) -> impl FnMut(WarpPlace, &mut Step) {
    move |place, step| {
        let index = place.step / 2;
        let warp = place.block * u64::from(warps) + u64::from(place.warp);
        if index == per_warp {
            count(step, 1);
            step.end = StepEnd::Exit;
        } else if place.step % 2 == 0 {
            load(step, base + (warp * per_warp + index) * 128, 0);
        } else {
            count(step, 1);
            step.end = StepEnd::Wait { slots: 1 };
        }
    }
}

fn run_chase(machine: &GpuMachine, mode: TransferMode, blocks: u64, warps: u32, per_warp: u64) -> (LaunchReport, Report) {
    let mut gpu = Gpu::new(machine, mode, Options { timeline: true, ..Options::default() }).unwrap();
    let bytes = blocks * u64::from(warps) * per_warp * 128;
    let buffer = gpu.alloc("data", bytes).unwrap();
    gpu.copy_to_gpu(buffer, 0..bytes).unwrap();
    let mut grid = SyntheticGrid::new(shape(blocks, warps), chase(buffer.address.0, per_warp, warps));
    let launch = gpu.launch_grid("chase", &mut grid).unwrap();
    (launch, gpu.finish())
}

#[test]
fn print_streaming() {
    let machine = GpuMachine::gtx480();
    let modes = [
        TransferMode::IdealOverlap,
        TransferMode::ProgrammerCopy,
        migrate("whole-page", PageSize::MIB_2, 1024),
        migrate("single-range", PageSize::MIB_2, 1024),
        migrate("multi-range", PageSize::MIB_2, 1024),
        migrate("multi-range", PageSize::KIB_4, 1024),
    ];
    for mode in modes {
        let (launch, report) = run_chase(&machine, mode, 1200, 4, 64);
        let ns = launch.time().as_nanos();
        let bytes = report.touched_bytes;
        println!("{ns} ns {bytes} B {:.1} GB/s total {} ns moved {} {:?}", bytes as f64 / ns as f64, report.time_ns, report.migrated_bytes, report.memory);
        println!("{:?}", report.ranges_per_page);
    }
    let _ = (Bandwidth::new(1), Picos(1));
}
