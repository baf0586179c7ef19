//! Simulated thread instructions per second of real time, on one thread: functional, and with full timing on
//! migrating pages.
//!
//! `bfs` and `laplace3d` count whole programs, inputs and checks included. `vector-add` would mostly measure those, so it
//! counts launches alone.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use pagemill_policy::migration::MigrationSpec;
use pagemill_sim::{Arg, ExecutionMark, Executor, GpuMachine, Host, Options, TransferMode};
use pagemill_testkit::bench::{cost, cpu_time, is_asked_for, rate, report};
use pagemill_workloads::{WORKLOADS, WorkloadInfo};

const PROGRAMS: [&str; 3] = ["vector-add", "bfs", "laplace3d"];
const ELEMENTS: u32 = 1 << 22;

fn host(timing: bool) -> Host {
    let policy = pagemill_policy::migration::POLICIES
        .find("multi-range")
        .expect("it is registered");
    let spec = MigrationSpec::new(pagemill_types::PageSize::MIB_2, policy);
    let options = Options {
        timing,
        ..Options::default()
    };
    Host::new(&GpuMachine::gtx480(), TransferMode::Migrate(spec), options)
        .expect("the preset is valid")
}

fn info(name: &str) -> &'static WorkloadInfo {
    WORKLOADS.find(name).expect("it is registered")
}

/// Vectors on a GPU; each call of the closure launches once and returns the thread instructions of the launch.
fn vector_add(timing: bool) -> impl FnMut() -> u64 {
    let mut host = host(timing);
    let module = host
        .gpu
        .load_module("vector-add.ptx", info("vector-add").ptx)
        .expect("the kernel loads");
    let vectors = ["a", "b", "c"].map(|name| {
        let vector = host.alloc(name, 4 * u64::from(ELEMENTS)).expect("it fits");
        Arg::Buffer(vector)
    });
    let args = [vectors[0], vectors[1], vectors[2], Arg::U32(ELEMENTS)];
    move || {
        let grid = [ELEMENTS / 256, 1, 1];
        let launch = host.launch(module, "vector_add", grid, [256, 1, 1], 0, &args);
        launch.expect("it runs").stats.execution.thread_instructions
    }
}

fn program(name: &str, timing: bool) -> u64 {
    let info = info(name);
    let program = info
        .build(&info.defaults())
        .expect("the defaults are valid");
    let mut host = host(timing);
    program.run(&mut host).expect("its check passes");
    host.finish().execution.thread_instructions
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

/// Cost of the stop flag in launches of `name`.
fn stop_cost(name: &'static str) {
    let run = |stops: bool| {
        move || {
            let info = info(name);
            let program = info
                .build(&info.defaults())
                .expect("the defaults are valid");
            let mut host = host(true);
            if stops {
                host.gpu.stop_when(Arc::new(AtomicBool::new(false)));
            }
            program.run(&mut host).expect("its check passes");
        }
    };
    cost(&format!("{name}-stop-check"), run(true), run(false));
}

thread_local! {
    /// CPU time inside of launches, and where the one at hand began.
    static EXECUTION: Cell<(Duration, Duration)> = const { Cell::new((Duration::ZERO, Duration::ZERO)) };
}

fn observe(mark: ExecutionMark) {
    let (total, begin) = EXECUTION.get();
    let now = cpu_time();
    EXECUTION.set(match mark {
        ExecutionMark::Begin => (total, now),
        ExecutionMark::End => (total + (now - begin), begin),
    });
}

/// Thread instructions of `name` for each second of CPU time that its launches take, inputs and checks not included: the
/// best of some runs.
fn execution_rate(name: &str, executor: Executor, timing: bool) -> f64 {
    const RUNS: usize = 3;
    let info = info(name);
    let run = |_| {
        let program = info
            .build(&info.defaults())
            .expect("the defaults are valid");
        let mut host = host(timing);
        host.gpu.set_executor(executor);
        host.gpu.observe_execution(observe);
        EXECUTION.take();
        program.run(&mut host).expect("its check passes");
        let (taken, _) = EXECUTION.get();
        host.finish().execution.thread_instructions as f64 / taken.as_secs_f64()
    };
    (0..RUNS).map(run).fold(0.0, f64::max)
}

/// The figures `{mode}-..` of all programs with both executors, and how many times the compiled one is as fast: the
/// geometric mean.
fn executions(mode: &str, timing: bool) {
    const UNIT: &str = "thread-instructions/cpu-s";
    let mut ratios = Vec::new();
    for name in WORKLOADS.iter().map(|info| info.name) {
        let figure = |executor, label| {
            let figure = format!("{mode}-{name}-{label}");
            is_asked_for(&figure, std::env::args().skip(1)).then(|| {
                let rate = execution_rate(name, executor, timing);
                report(&figure, rate, UNIT);
                rate
            })
        };
        let interpreted = figure(Executor::Interpreter, "interpreted");
        let compiled = figure(Executor::Compiled, "compiled");
        if let (Some(interpreted), Some(compiled)) = (interpreted, compiled) {
            ratios.push(compiled / interpreted);
            println!("{name}: {:.2} times", compiled / interpreted);
        }
    }
    let mean = ratios.iter().copied().map(f64::ln).sum::<f64>() / ratios.len().max(1) as f64;
    println!("{mode}, geometric mean: {:.2} times", mean.exp());
}

fn main() {
    let modes = [("execution", false), ("timed", true)];
    let asked = |mode: &str| std::env::args().any(|argument| argument.starts_with(mode));
    if let Some((mode, timing)) = modes.into_iter().find(|(mode, _)| asked(mode)) {
        return executions(mode, timing);
    }
    divan::main();
    modes
        .into_iter()
        .for_each(|(mode, timing)| executions(mode, timing));
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
