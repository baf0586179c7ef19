//! Simulated thread instructions per second of real time, on one thread: functional, and with full timing on
//! migrating pages.
//!
//! `bfs` and `laplace3d` count whole programs, inputs and checks included. `vector-add` would mostly measure those, so it
//! counts launches alone.

#[path = "../../pagemill-sim/tests/common/gtx480.rs"]
mod gtx480;

use gtx480::gtx480;
use std::cell::Cell;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use pagemill_policy::migration::MigrationSpec;
use pagemill_sim::{Arg, ExecutionMark, Executor, Host, Options, TransferMode};
use pagemill_testkit::bench::{cost, cpu_time, is_asked_for, rate, report};
use pagemill_workloads::{WORKLOADS, WorkloadInfo};

const PROGRAMS: [&str; 3] = ["vector-add", "bfs", "laplace3d"];
const ELEMENTS: u32 = 1 << 22;

fn host(timing: bool) -> Host {
    host_of(timing, 1)
}

fn host_of(timing: bool, workers: usize) -> Host {
    let policy = pagemill_policy::migration::POLICIES
        .find("multi-range")
        .expect("it is registered");
    let spec = MigrationSpec::new(pagemill_types::PageSize::MIB_2, policy);
    let options = Options {
        timing,
        workers,
        ..Options::default()
    };
    Host::new(&gtx480(), TransferMode::Migrate(spec), options).expect("the preset is valid")
}

fn info(name: &str) -> &'static WorkloadInfo {
    WORKLOADS.find(name).expect("it is registered")
}

/// Vectors on a GPU; each call of the closure launches once and returns the thread instructions of the launch.
fn vector_add(timing: bool) -> impl FnMut() -> u64 {
    vector_add_of(host(timing))
}

fn vector_add_of(mut host: Host) -> impl FnMut() -> u64 {
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
    /// What time inside of launches is measured by.
    static CLOCK: Cell<fn() -> Duration> = const { Cell::new(cpu_time) };
    /// Time inside of launches, and where the one at hand began.
    static EXECUTION: Cell<(Duration, Duration)> = const { Cell::new((Duration::ZERO, Duration::ZERO)) };
}

fn observe(mark: ExecutionMark) {
    let (total, begin) = EXECUTION.get();
    let now = CLOCK.get()();
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

fn real_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// The figures `apart-..`: how many times faster launches without time are in real time where all cores run their blocks,
/// over one; and the geometric mean. Of vectors there are as many again of 4 million elements.
fn gains_of_cores() {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    CLOCK.set(real_time);
    let names = WORKLOADS.iter().map(|info| info.name);
    let mut gains = Vec::new();
    for name in names.chain(["vector-add-again"]) {
        let figure = format!("apart-{name}");
        if is_asked_for(&figure, std::env::args().skip(1)) {
            let gain = match name {
                "vector-add-again" => gain_of(cores, launches_again),
                _ => gain_of(cores, |workers| launches_of(name, workers)),
            };
            println!("pagemill-bench {figure} {gain:.3} x-of-{cores}-cores");
            gains.push(gain);
        }
    }
    CLOCK.set(cpu_time);
    let mean = gains.iter().copied().map(f64::ln).sum::<f64>() / gains.len().max(1) as f64;
    println!("apart, geometric mean: {:.2} times", mean.exp());
}

/// How many times faster `run` is with `cores` workers than with one: the fastest of some runs, in turn.
fn gain_of(cores: usize, mut run: impl FnMut(usize) -> Duration) -> f64 {
    const RUNS: usize = 5;
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..RUNS {
        for (fastest, workers) in fastest.iter_mut().zip([1, cores]) {
            *fastest = run(workers).min(*fastest);
        }
    }
    fastest[0].as_secs_f64() / fastest[1].as_secs_f64()
}

/// Real time of the launches of a program, which compiles its kernels.
fn launches_of(name: &str, workers: usize) -> Duration {
    let info = info(name);
    let program = info
        .build(&info.defaults())
        .expect("the defaults are valid");
    let mut host = host_of(false, workers);
    host.gpu.observe_execution(observe);
    EXECUTION.take();
    program.run(&mut host).expect("its check passes");
    EXECUTION.get().0
}

/// Real time of one more launch of a kernel.
fn launches_again(workers: usize) -> Duration {
    let mut launch = vector_add_of(host_of(false, workers));
    launch();
    let start = Instant::now();
    launch();
    start.elapsed()
}

/// What a loop written by hand does of `vector-add`, counted in the thread instructions of the kernel.
fn by_hand() -> f64 {
    const RUNS: usize = 5;
    let mut host = host(false);
    let info = info("vector-add");
    let program = info
        .build(&info.defaults())
        .expect("the defaults are valid");
    program.run(&mut host).expect("its check passes");
    let instructions = host.finish().execution.thread_instructions;
    let elements = program.footprint_bytes() / 12;
    let [a, b] = [1.5f32, 2.5].map(|value| vec![value; elements as usize]);
    let mut c = vec![0f32; elements as usize];
    let run = |_| {
        let start = cpu_time();
        for ((c, a), b) in c.iter_mut().zip(black_box(&a)).zip(black_box(&b)) {
            *c = a + b;
        }
        black_box(&mut c);
        instructions as f64 / (cpu_time() - start).as_secs_f64()
    };
    (0..RUNS).map(run).fold(0.0, f64::max)
}

/// The figures `{mode}-..` of all programs with both executors, and how many times the compiled one is as fast: the
/// geometric mean.
fn executions(mode: &str, timing: bool) {
    const UNIT: &str = "thread-instructions/cpu-s";
    let mut ratios = Vec::new();
    if !timing && is_asked_for("execution-vector-add-by-hand", std::env::args().skip(1)) {
        report("vector-add-by-hand", by_hand(), UNIT);
    }
    for name in WORKLOADS.iter().map(|info| info.name) {
        let figure = |executor, label| {
            let figure = format!("{mode}-{name}-{label}");
            is_asked_for(&figure, std::env::args().skip(1)).then(|| {
                let rate = execution_rate(name, executor, timing);
                let beside = match (label, name) {
                    ("compiled", "vector-add") if !timing => {
                        " beside vector-add-by-hand".to_owned()
                    }
                    ("compiled", _) => format!(" beside {mode}-{name}-interpreted"),
                    _ => String::new(),
                };
                println!("pagemill-bench {figure} {rate:.0} {UNIT}{beside}");
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
    if asked("apart") {
        return gains_of_cores();
    }
    divan::main();
    modes
        .into_iter()
        .for_each(|(mode, timing)| executions(mode, timing));
    gains_of_cores();
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
