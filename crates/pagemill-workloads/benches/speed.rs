//! Simulated thread instructions per second of real time, on one thread: functional, and with full timing on
//! migrating pages.
//!
//! `bfs` and `laplace3d` count whole programs, inputs and checks included. `vector-add` would mostly measure those, so it
//! counts launches alone.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use divan::Bencher;
use divan::counter::ItemsCount;
use pagemill_policy::migration::MigrationSpec;
use pagemill_sim::{Arg, Gpu, GpuMachine, Options, TransferMode};
use pagemill_testkit::bench::{cost, rate};
use pagemill_workloads::{WORKLOADS, WorkloadInfo};

const PROGRAMS: [&str; 3] = ["vector-add", "bfs", "laplace3d"];
const ELEMENTS: u32 = 1 << 22;

fn gpu(timing: bool) -> Gpu {
    let policy = pagemill_policy::migration::POLICIES
        .find("multi-range")
        .expect("it is registered");
    let spec = MigrationSpec::new(pagemill_types::PageSize::MIB_2, policy);
    let options = Options {
        timing,
        ..Options::default()
    };
    Gpu::new(&GpuMachine::gtx480(), TransferMode::Migrate(spec), options)
        .expect("the preset is valid")
}

fn info(name: &str) -> &'static WorkloadInfo {
    WORKLOADS.find(name).expect("it is registered")
}

/// Vectors on a GPU; each call of the closure launches once and returns the thread instructions of the launch.
fn vector_add(timing: bool) -> impl FnMut() -> u64 {
    let mut gpu = gpu(timing);
    let module = gpu
        .load_module("vector-add.ptx", info("vector-add").ptx)
        .expect("the kernel loads");
    let vectors = ["a", "b", "c"].map(|name| {
        let vector = gpu.alloc(name, 4 * u64::from(ELEMENTS)).expect("it fits");
        Arg::Buffer(vector)
    });
    let args = [vectors[0], vectors[1], vectors[2], Arg::U32(ELEMENTS)];
    move || {
        let grid = [ELEMENTS / 256, 1, 1];
        let launch = gpu.launch(module, "vector_add", grid, [256, 1, 1], 0, &args);
        launch.expect("it runs").stats.execution.thread_instructions
    }
}

fn program(name: &str, timing: bool) -> u64 {
    let info = info(name);
    let program = info
        .build(&info.defaults())
        .expect("the defaults are valid");
    let mut gpu = gpu(timing);
    program.run(&mut gpu).expect("its check passes");
    gpu.finish().execution.thread_instructions
}

fn work(name: &'static str, timing: bool) -> Box<dyn FnMut() -> u64> {
    match name {
        "vector-add" => Box::new(vector_add(timing)),
        _ => Box::new(move || program(name, timing)),
    }
}

#[divan::bench(args = PROGRAMS, sample_count = 5)]
fn functional(bencher: Bencher, name: &'static str) {
    let mut work = work(name, false);
    let count = work();
    bencher.counter(ItemsCount::new(count)).bench_local(work);
}

#[divan::bench(args = PROGRAMS, sample_count = 5)]
fn timed(bencher: Bencher, name: &'static str) {
    let mut work = work(name, true);
    let count = work();
    bencher.counter(ItemsCount::new(count)).bench_local(work);
}

/// What it costs that somebody may stop the launches of `name`.
fn stop_cost(name: &'static str) {
    let run = |stops: bool| {
        move || {
            let info = info(name);
            let program = info
                .build(&info.defaults())
                .expect("the defaults are valid");
            let mut gpu = gpu(true);
            if stops {
                gpu.stop_when(Arc::new(AtomicBool::new(false)));
            }
            program.run(&mut gpu).expect("its check passes");
        }
    };
    cost(&format!("{name}-stop-check"), run(true), run(false));
}

fn main() {
    divan::main();
    PROGRAMS.into_iter().for_each(stop_cost);
    for name in PROGRAMS {
        for (mode, timing) in [("functional", false), ("timed", true)] {
            rate(
                &format!("{name}-{mode}"),
                "thread-instructions/s",
                work(name, timing),
            );
        }
    }
}
