//! Thread-instructions per second of functional execution, on one thread.
//!
//! `cargo bench -p pagemill-ptx` prints them as items per second.

use divan::Bencher;
use divan::counter::ItemsCount;
use pagemill_ptx::{
    Block, DeviceMemory, Executor, InstructionCosts, Launch, Linked, Module, Output, Step, StepEnd,
    run_functional,
};
use pagemill_testkit::bench::cpu_rate;

fn main() {
    divan::main();
    figures();
}

/// A kernel with its buffers.
type MakeLaunch = fn() -> (Device, Launch);

/// The figures that `cargo xtask bench` keeps: each kernel with both executors, one after the other.
fn figures() {
    let kernels: [(&str, MakeLaunch); 3] = [
        ("vector-add", vector_add_launch),
        ("stencil", stencil_launch),
        ("gather", gather_launch),
    ];
    for (kernel, make) in kernels {
        for (label, executor) in ["interpreted", "compiled"].into_iter().zip(EXECUTORS) {
            let (mut device, launch) = make();
            let launch = launch.with_executor(executor);
            let mut output = Output::default();
            let name = format!("ptx-{kernel}-{label}");
            cpu_rate(&name, "thread-instructions/cpu-s", || {
                run_functional(&launch, &mut device.memory, &mut output)
                    .expect("the kernel is correct")
                    .thread_instructions
            });
        }
    }
}

struct Device {
    module: Module,
    linked: Linked,
    memory: DeviceMemory,
}

impl Device {
    fn new() -> Self {
        let module =
            Module::load("kernels.ptx", include_str!("kernels.ptx")).expect("the kernels load");
        let mut memory = DeviceMemory::new();
        let linked = module.link(&mut memory).expect("there are no variables");
        Self {
            module,
            linked,
            memory,
        }
    }

    fn words(&mut self, count: u64, value: impl Fn(u32) -> u32) -> u64 {
        let address = self
            .memory
            .alloc("buffer", 4 * count, 256)
            .expect("there is room");
        let bytes = self
            .memory
            .bytes_mut(address, 4 * count)
            .expect("it was just allocated");
        for (index, word) in (0..).zip(bytes.chunks_exact_mut(4)) {
            word.copy_from_slice(&value(index).to_le_bytes());
        }
        address
    }

    fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        args: &[u64],
        sizes: &[u32],
    ) -> Launch {
        let kernel = self.module.kernel(kernel).expect("the kernel is there");
        let mut image = Vec::new();
        for ((param, value), size) in kernel.params.iter().zip(args).zip(sizes) {
            image.resize(param.offset as usize, 0);
            image.extend_from_slice(&value.to_le_bytes()[..*size as usize]);
        }
        Launch::new(&self.module, &self.linked, kernel, grid, block, 0, &image)
            .expect("the launch is possible")
    }
}

/// Ordinary numbers: the small integers as bits would be subnormal, which the host computes slowly.
fn float(index: u32) -> u32 {
    (index as f32).to_bits()
}

/// What executes functional runs: each of their benchmarks runs with both.
const EXECUTORS: [Executor; 2] = [Executor::Interpreter, Executor::Compiled];

fn functional(bencher: Bencher, mut device: Device, launch: Launch, executor: Executor) {
    let launch = launch.with_executor(executor);
    let mut output = Output::default();
    let mut run =
        || run_functional(&launch, &mut device.memory, &mut output).expect("the kernel is correct");
    let count = run().thread_instructions;
    bencher.counter(ItemsCount::new(count)).bench_local(run);
}

/// The same work through single steps: what a timing model calls, without its own work.
fn stepped(bencher: Bencher, mut device: Device, launch: Launch) {
    let costs = InstructionCosts::new(launch.kernel(), |_, _| (1, 1));
    let mut block = Block::new(&launch);
    let mut step = Step::default();
    let mut run = || {
        let mut count = 0;
        for index in 0..launch.blocks() {
            block.start(&launch, index);
            while !block.is_finished() {
                for warp in 0..launch.warps_per_block() {
                    loop {
                        block
                            .advance(
                                &launch,
                                warp,
                                &mut device.memory,
                                &costs,
                                u32::MAX,
                                &mut step,
                            )
                            .expect("the kernel is correct");
                        count += step.totals.thread_instructions;
                        match step.end {
                            StepEnd::Exit
                            | StepEnd::Barrier {
                                released: false, ..
                            } => break,
                            _ => {}
                        }
                    }
                }
            }
        }
        count
    };
    let count = run();
    bencher.counter(ItemsCount::new(count)).bench_local(run);
}

fn vector_add_launch() -> (Device, Launch) {
    const N: u64 = 1 << 16;
    let mut device = Device::new();
    let (a, b, c) = (
        device.words(N, float),
        device.words(N, float),
        device.words(N, |_| 0),
    );
    let launch = device.launch(
        "vector_add",
        [N as u32 / 256, 1, 1],
        [256, 1, 1],
        &[a, b, c, N],
        &[8, 8, 8, 4],
    );
    (device, launch)
}

fn stencil_launch() -> (Device, Launch) {
    const N: u64 = 100;
    let mut device = Device::new();
    let (from, to) = (
        device.words(N * N * N, float),
        device.words(N * N * N, |_| 0),
    );
    let launch = device.launch(
        "stencil",
        [4, 25, 1],
        [32, 4, 1],
        &[from, to, N, N, N],
        &[8, 8, 4, 4, 4],
    );
    (device, launch)
}

fn gather_launch() -> (Device, Launch) {
    const N: u64 = 1 << 16;
    let mut device = Device::new();
    let index = device.words(N, |i| i.wrapping_mul(2_654_435_761) % N as u32);
    let (from, to) = (device.words(N, float), device.words(N, |_| 0));
    let launch = device.launch(
        "gather",
        [N as u32 / 256, 1, 1],
        [256, 1, 1],
        &[index, from, to, N],
        &[8, 8, 8, 4],
    );
    (device, launch)
}

#[divan::bench(args = EXECUTORS)]
fn vector_add(bencher: Bencher, executor: Executor) {
    let (device, launch) = vector_add_launch();
    functional(bencher, device, launch, executor);
}

#[divan::bench]
fn vector_add_stepped(bencher: Bencher) {
    let (device, launch) = vector_add_launch();
    stepped(bencher, device, launch);
}

#[divan::bench(args = EXECUTORS)]
fn fma_loop(bencher: Bencher, executor: Executor) {
    let mut device = Device::new();
    let out = device.words(1 << 12, |_| 0);
    let launch = device.launch("fma_loop", [16, 1, 1], [256, 1, 1], &[out, 512], &[8, 4]);
    functional(bencher, device, launch, executor);
}

#[divan::bench(args = EXECUTORS)]
fn integer_hash(bencher: Bencher, executor: Executor) {
    let mut device = Device::new();
    let (from, to) = (device.words(1 << 12, |i| i), device.words(1 << 12, |_| 0));
    let launch = device.launch(
        "integer_hash",
        [16, 1, 1],
        [256, 1, 1],
        &[from, to, 128],
        &[8, 8, 4],
    );
    functional(bencher, device, launch, executor);
}

#[divan::bench(args = EXECUTORS)]
fn gather(bencher: Bencher, executor: Executor) {
    let (device, launch) = gather_launch();
    functional(bencher, device, launch, executor);
}

#[divan::bench]
fn gather_stepped(bencher: Bencher) {
    let (device, launch) = gather_launch();
    stepped(bencher, device, launch);
}

#[divan::bench(args = EXECUTORS)]
fn block_sum(bencher: Bencher, executor: Executor) {
    let mut device = Device::new();
    let (from, to) = (device.words(1 << 16, float), device.words(256, |_| 0));
    let launch = device.launch("block_sum", [256, 1, 1], [256, 1, 1], &[from, to], &[8, 8]);
    functional(bencher, device, launch, executor);
}

#[divan::bench(args = EXECUTORS)]
fn stencil(bencher: Bencher, executor: Executor) {
    let (device, launch) = stencil_launch();
    functional(bencher, device, launch, executor);
}

#[divan::bench]
fn stencil_stepped(bencher: Bencher) {
    let (device, launch) = stencil_launch();
    stepped(bencher, device, launch);
}

#[divan::bench(args = EXECUTORS)]
fn divergence(bencher: Bencher, executor: Executor) {
    let mut device = Device::new();
    let out = device.words(1 << 12, |_| 0);
    let launch = device.launch("divergence", [16, 1, 1], [256, 1, 1], &[out, 128], &[8, 4]);
    functional(bencher, device, launch, executor);
}
