//! Host time of simulated memory instructions, without a program behind them.

#[path = "../tests/common/gtx480.rs"]
mod gtx480;

use divan::Bencher;
use divan::counter::ItemsCount;
use gtx480::gtx480;
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_sim::gpu::{
    AccessKind, GridShape, Host, Options, Step, StepEnd, SyntheticGrid, TransferMode, WarpPlace,
};
use pagemill_types::PageSize;

fn main() {
    divan::main();
}

const BLOCKS: u64 = 2000;
const WARPS: u32 = 4;
const LOADS: u64 = 64;

fn modes(name: &str) -> TransferMode {
    let migrate = |policy| {
        TransferMode::Migrate(MigrationSpec::new(
            PageSize::MIB_2,
            POLICIES.find(policy).unwrap(),
        ))
    };
    match name {
        "programmer-copy" => TransferMode::ProgrammerCopy,
        policy => migrate(policy),
    }
}

/// Warps that load, wait, and load again; `address` says where lane `lane` of load `index` of a warp goes.
fn run(mode: &str, bytes: u64, address: impl Fn(u64, u64, u64) -> u64) {
    let mut host = Host::new(&gtx480(), modes(mode), Options::default()).unwrap();
    let buffer = host.alloc("data", bytes).unwrap();
    let base = buffer.address.0;
    let program = |place: WarpPlace, step: &mut Step| {
        let warp = place.block * u64::from(WARPS) + u64::from(place.warp);
        let index = place.step / 2;
        step.totals.instructions = 1;
        step.totals.thread_instructions = 32;
        step.totals.issue_cycles = 2;
        step.totals.latency_cycles = 18;
        if index == LOADS {
            step.end = StepEnd::Exit;
        } else if place.step % 2 == 1 {
            step.end = StepEnd::Wait { slots: 1 };
        } else {
            step.end = StepEnd::Memory;
            step.access.kind = AccessKind::Load;
            step.access.lane_bytes = 4;
            step.access.mask = u32::MAX;
            step.access.slot = Some(0);
            step.access.listed =
                std::array::from_fn(|lane| base + address(warp, index, lane as u64));
        }
    };
    let shape = GridShape {
        blocks: BLOCKS,
        threads_per_block: WARPS * 32,
        warps_per_block: WARPS,
        registers_per_thread: 20,
        shared_bytes_per_block: 0,
        cluster_blocks: 1,
    };
    host.launch_grid("bench", &mut SyntheticGrid::new(shape, program))
        .unwrap();
    divan::black_box(host.finish());
}

const MODES: [&str; 3] = ["programmer-copy", "whole-page", "multi-range"];

#[divan::bench(args = MODES, sample_count = 5)]
fn streaming_segments(bencher: Bencher, mode: &str) {
    let loads = BLOCKS * u64::from(WARPS) * LOADS;
    bencher.counter(ItemsCount::new(loads)).bench(|| {
        run(mode, loads * 128, |warp, index, lane| {
            (warp * LOADS + index) * 128 + lane * 4
        });
    });
}

#[divan::bench(args = MODES, sample_count = 5)]
fn l1_hits(bencher: Bencher, mode: &str) {
    let loads = BLOCKS * u64::from(WARPS) * LOADS;
    bencher.counter(ItemsCount::new(loads)).bench(|| {
        run(mode, loads * 128, |warp, index, lane| {
            (warp * LOADS + index / 32) * 128 + lane * 4
        });
    });
}

#[divan::bench(args = MODES, sample_count = 3)]
fn scattered_lanes(bencher: Bencher, mode: &str) {
    let loads = BLOCKS * u64::from(WARPS) * LOADS;
    let bytes = 64 << 20;
    bencher.counter(ItemsCount::new(loads * 32)).bench(|| {
        run(mode, bytes, |warp, index, lane| {
            let mixed = ((warp << 32) | (index << 8) | lane).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 24) % bytes / 4 * 4
        });
    });
}
