//! Simulated thread instructions per second of real time of one kernel: under the CUDA runtime with managed memory, and
//! as `pagemill run` launches it.

use divan::Bencher;
use divan::counter::ItemsCount;
use pagemill_cudart::{Launch, Runtime, Setting, StreamId};
use pagemill_sim::{Arg, Host, Options};
use pagemill_testkit::bench::rate;

const ELEMENTS: u32 = 1 << 22;
const THREADS: u32 = 256;
const SCENARIO: &str = r#"
title = "Speed"
kind = "cuda"
machine = "gtx480"
program.command = ["bench"]
transfer.mode = "multi-range"
limits.timeline_events = 0
"#;

fn setting() -> Setting {
    Setting::from_text(SCENARIO).expect("the scenario is sound")
}

fn ptx() -> &'static str {
    pagemill_workloads::WORKLOADS
        .find("vector-add")
        .expect("it is registered")
        .ptx
}

/// Each call launches once and returns the thread instructions of a launch, which `direct` has counted.
fn through_the_runtime(instructions: u64) -> impl FnMut() -> u64 {
    let mut runtime = Runtime::new(setting()).expect("the machine is sound");
    let image = runtime.modules.register_ptx(ptx().to_owned());
    let key = runtime
        .kernels()
        .kernel_of_image(image, "vector_add")
        .expect("the kernel loads");
    let vectors = [0; 3].map(|_: u32| {
        runtime
            .device
            .malloc_managed(4 * u64::from(ELEMENTS))
            .expect("it fits")
    });
    let mut arguments: Vec<u8> = vectors
        .iter()
        .flat_map(|vector| vector.to_le_bytes())
        .collect();
    arguments.extend(ELEMENTS.to_le_bytes());
    let launch = Launch {
        grid: [ELEMENTS / THREADS, 1, 1],
        block: [THREADS, 1, 1],
        shared_bytes: 0,
        stream: StreamId::LEGACY,
        cooperative: false,
        cluster: None,
    };
    move || {
        runtime
            .call(|runtime| runtime.launch(key, &launch, |_, _| Ok(arguments.clone())))
            .expect("it runs");
        instructions
    }
}

fn direct() -> impl FnMut() -> u64 {
    let Setting { machine, mode, .. } = setting();
    let mut host = Host::new(&machine, mode, Options::default()).expect("the machine is sound");
    let module = host
        .gpu
        .load_module("vector-add.ptx", ptx())
        .expect("the kernel loads");
    let vectors = ["a", "b", "c"]
        .map(|name| Arg::Buffer(host.alloc(name, 4 * u64::from(ELEMENTS)).expect("it fits")));
    let args = [vectors[0], vectors[1], vectors[2], Arg::U32(ELEMENTS)];
    move || {
        let grid = [ELEMENTS / THREADS, 1, 1];
        let launch = host.launch(module, "vector_add", grid, [THREADS, 1, 1], 0, &args);
        launch.expect("it runs").stats.execution.thread_instructions
    }
}

#[divan::bench(sample_count = 5)]
fn cuda_runtime(bencher: Bencher) {
    let count = direct()();
    bencher
        .counter(ItemsCount::new(count))
        .bench_local(through_the_runtime(count));
}

#[divan::bench(sample_count = 5)]
fn pagemill_run(bencher: Bencher) {
    let mut work = direct();
    let count = work();
    bencher.counter(ItemsCount::new(count)).bench_local(work);
}

fn main() {
    divan::main();
    let count = direct()();
    let unit = "thread-instructions/s";
    rate(
        "cudart-vector-add-runtime",
        unit,
        through_the_runtime(count),
    );
    rate("cudart-vector-add-direct", unit, direct());
}
