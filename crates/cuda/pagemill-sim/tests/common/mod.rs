//! Small synthetic programs and the machines they run on.

pub mod gtx480;
pub mod patterns;

use gtx480::gtx480;
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_sim::gpu::{
    AccessKind, DriverCosts, DriverMachine, FaultOrder, FaultSpec, GpuError, GpuMachine, GridShape,
    Host, Limits, Options, Report, Step, StepEnd, SyntheticGrid, TransferMode, WarpPlace,
};
use pagemill_types::{Bandwidth, PageSize, Picos};

pub fn shape(blocks: u64, warps_per_block: u32) -> GridShape {
    GridShape {
        blocks,
        threads_per_block: warps_per_block * 32,
        warps_per_block,
        registers_per_thread: 16,
        shared_bytes_per_block: 0,
        cluster_blocks: 1,
    }
}

pub fn migrate(policy: &str, page: PageSize, unit_bytes: u32) -> TransferMode {
    let mut spec = MigrationSpec::new(page, POLICIES.find(policy).unwrap());
    spec.unit_bytes = unit_bytes;
    TransferMode::Migrate(spec)
}

/// A unified-memory driver with small buffers.
pub fn driver_machine() -> DriverMachine {
    let ns = Picos::from_nanos;
    DriverMachine {
        faults: FaultSpec {
            utlb_outstanding: 16,
            batch_entries: 64,
            interrupt_latency: ns(5000),
            order: FaultOrder::Arrival,
        },
        costs: DriverCosts {
            batch: ns(20_000),
            entry: ns(150),
            block: ns(8000),
            chunk: ns(5000),
            queue: Picos::ZERO,
            first_batch: Picos::ZERO,
            host_fault: ns(8000),
            host_page_unmap: ns(60),
            host_page_populate: Picos::ZERO,
            eviction: ns(10_000),
            copy: Picos::ZERO,
            eviction_waits: true,
            replay: ns(5000),
        },
        policy: Default::default(),
    }
}

pub fn machine_with_link(gigabytes_per_second: u64) -> GpuMachine {
    let mut machine = gtx480();
    let bandwidth = Bandwidth::new(gigabytes_per_second * 1_000_000_000).unwrap();
    machine.link.to_gpu = bandwidth;
    machine.link.to_cpu = bandwidth;
    machine
}

/// `instructions` of 2 issue cycles each, `latency_cycles` together.
pub fn compute(step: &mut Step, instructions: u64, latency_cycles: u64) {
    step.totals.instructions = instructions;
    step.totals.thread_instructions = instructions * 32;
    step.totals.issue_cycles = instructions * 2;
    step.totals.latency_cycles = latency_cycles;
}

/// A warp-wide load of 32 consecutive words.
pub fn load(step: &mut Step, address: u64, slot: u8) {
    compute(step, 1, 2);
    step.end = StepEnd::Memory;
    step.access.kind = AccessKind::Load;
    step.access.lane_bytes = 4;
    step.access.mask = u32::MAX;
    step.access.listed = std::array::from_fn(|lane| address + lane as u64 * 4);
    step.access.slot = Some(slot);
}

pub fn wait(step: &mut Step, slots: u64) {
    compute(step, 1, 2);
    step.end = StepEnd::Wait { slots };
}

pub fn exit(step: &mut Step) {
    compute(step, 1, 2);
    step.end = StepEnd::Exit;
}

/// Copies `bytes` in, runs one synthetic kernel over them, and copies them out where copies are the program's.
pub fn run(
    machine: &GpuMachine,
    mode: TransferMode,
    bytes: u64,
    shape: GridShape,
    mut program: impl FnMut(u64, WarpPlace, &mut Step),
) -> Result<Report, GpuError> {
    let copies_out = !matches!(mode, TransferMode::Migrate(_));
    let limits = Limits {
        timeline_events: 1000,
        thread_instructions: 1_000_000_000,
        ..Limits::default()
    };
    let mut host = Host::new(
        machine,
        mode,
        Options {
            timeline: true,
            limits,
            ..Options::default()
        },
    )?;
    let buffer = host.alloc("data", bytes)?;
    host.copy_to_gpu(buffer, 0..bytes)?;
    let mut grid = SyntheticGrid::new(shape, |place, step: &mut Step| {
        program(buffer.address.0, place, step)
    });
    host.launch_grid("synthetic", &mut grid)?;
    if copies_out {
        host.copy_from_gpu(buffer, 0..bytes)?;
    }
    Ok(host.finish())
}
