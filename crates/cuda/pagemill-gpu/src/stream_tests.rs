//! The kernels' PTX reads what the policies' patterns say, warp by warp, read by read.

use pagemill_policy::residency::{AccessPattern, PatternSpec, Variant, WarpRead};
use pagemill_ptx::{
    AccessKind, Block, DeviceMemory, InstructionCosts, MemoryAccess, Module, Step, StepEnd,
};
use proptest::prelude::*;

use crate::run::Run;
use crate::{Buffer, Kernel, THREADS_PER_BLOCK, for_any_driver};

/// What one warp did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Trace {
    reads: Vec<WarpRead>,
    writes: Vec<WarpRead>,
    barriers: usize,
}

/// Runs rounds `done..done + rounds` of `run` and returns what each warp of each block did.
fn traces(run: &Run, kernel: Kernel, done: u64, rounds: u64) -> Vec<Vec<Trace>> {
    let module = Module::load(kernel.entry(), &for_any_driver(kernel.ptx())).unwrap();
    let mut memory = DeviceMemory::new();
    let linked = module.link(&mut memory).unwrap();
    let bytes = run.spec().bytes;
    let address = memory.alloc("data", bytes, 2 << 20).unwrap();
    let launch = run.launch(Buffer { address, bytes }, done, rounds);
    let arguments: Vec<u8> = std::iter::once(&launch.buffer.address)
        .chain(&launch.scalars)
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let function = module.kernel(launch.kernel.entry()).unwrap();
    let grid = [launch.blocks, 1, 1];
    let block = [THREADS_PER_BLOCK, 1, 1];
    let launch = pagemill_ptx::Launch::new(&module, &linked, function, grid, block, 0, &arguments);
    let launch = launch.unwrap();
    (0..launch.blocks())
        .map(|index| trace_block(&launch, index, &mut memory, address))
        .collect()
}

fn trace_block(
    launch: &pagemill_ptx::Launch,
    index: u64,
    memory: &mut DeviceMemory,
    base: u64,
) -> Vec<Trace> {
    let costs = InstructionCosts::new(launch.kernel(), |_, _| (1, 1));
    let mut block = Block::new(launch);
    block.start(launch, index);
    let mut traces = vec![Trace::default(); launch.warps_per_block() as usize];
    let mut step = Step::default();
    while !block.is_finished() {
        for (warp, trace) in (0..).zip(&mut traces) {
            block
                .advance(launch, warp, memory, &costs, 1000, &mut step)
                .unwrap();
            match step.end {
                StepEnd::Memory if step.access.kind == AccessKind::Load => {
                    trace.reads.push(read(&step.access, base));
                }
                StepEnd::Memory => trace.writes.push(read(&step.access, base)),
                // A warp that already waits says so again.
                StepEnd::Barrier { .. } if step.totals.instructions > 0 => trace.barriers += 1,
                _ => {}
            }
        }
    }
    traces
}

/// The bytes of one access: lanes from 0 on, each the four bytes after those of the lane before.
fn read(access: &MemoryAccess, base: u64) -> WarpRead {
    let lanes = access.mask.trailing_ones();
    assert_eq!(access.mask.count_ones(), lanes, "{access:?}");
    assert_eq!(access.lane_bytes, 4);
    let start = access.address(0);
    for lane in 0..lanes as usize {
        assert_eq!(access.address(lane), start + 4 * lane as u64, "{access:?}");
    }
    WarpRead {
        start: start - base,
        bytes: 4 * lanes,
    }
}

/// What warp `warp` of block `block` should do.
fn expected(kernel: Kernel, spec: &PatternSpec, block: u32, warp: u32) -> Trace {
    Trace {
        reads: spec.reader(block, warp).collect(),
        writes: match warp {
            0 => vec![spec.result_write()],
            _ => Vec::new(),
        },
        barriers: match kernel.variant {
            // All warps meet as often as the first one, which reads in every round.
            Variant::LockStep => spec.reader(block, 0).count(),
            Variant::FreeRunning => 0,
        },
    }
}

fn any_spec() -> impl Strategy<Value = PatternSpec> {
    let pattern = prop::sample::select(AccessPattern::ALL.to_vec());
    (pattern, 33_u64..9000, 1_u32..7, 6_u32..13, any::<u32>()).prop_map(
        |(pattern, elements, blocks, page_shift, seed)| {
            let page_bytes = (1 << page_shift).max(256);
            PatternSpec {
                pattern,
                bytes: (4 * elements).max(page_bytes),
                blocks,
                warps_per_block: THREADS_PER_BLOCK / 32,
                page_bytes,
                seed: seed.into(),
            }
        },
    )
}

/// The run of `spec`, unless the grid is too large for one round.
fn run_of(spec: PatternSpec, variant: Variant) -> Option<(Kernel, Run)> {
    let kernel = Kernel {
        pattern: spec.pattern,
        variant,
    };
    Run::new(kernel, spec).ok().map(|run| (kernel, run))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn kernels_do_what_patterns_say(spec in any_spec()) {
        for variant in Variant::ALL {
            let Some((kernel, run)) = run_of(spec, variant) else { continue };
            let traces = traces(&run, kernel, 0, run.rounds());
            for (block, warps) in (0..).zip(&traces) {
                for (warp, trace) in (0..).zip(warps) {
                    prop_assert_eq!(trace, &expected(kernel, &spec, block, warp));
                }
            }
        }
    }

    #[test]
    fn launches_of_some_rounds_each_read_what_one_launch_reads(spec in any_spec(), cut in 0.0..1.0) {
        let spec = PatternSpec { pattern: AccessPattern::RandomWarp, ..spec };
        for variant in Variant::ALL {
            let Some((kernel, run)) = run_of(spec, variant) else { continue };
            let first = (run.rounds() as f64 * cut) as u64;
            let parts = [
                traces(&run, kernel, 0, first),
                traces(&run, kernel, first, run.rounds() - first),
            ];
            let whole = traces(&run, kernel, 0, run.rounds());
            for (block, warps) in whole.iter().enumerate() {
                for (warp, trace) in warps.iter().enumerate() {
                    let reads = [&parts[0][block][warp].reads[..], &parts[1][block][warp].reads].concat();
                    prop_assert_eq!(&reads, &trace.reads);
                }
            }
        }
    }
}

/// A grid as the V100 holds it, over pages of the size that the benchmark has.
#[test]
fn a_full_grid_reads_what_the_patterns_say() {
    let gpu_blocks = 80 * 16;
    for kernel in Kernel::all() {
        let spec = PatternSpec {
            pattern: kernel.pattern,
            bytes: 6 << 20,
            blocks: gpu_blocks,
            warps_per_block: THREADS_PER_BLOCK / 32,
            page_bytes: 2 << 20,
            seed: 0,
        };
        let run = Run::new(kernel, spec).unwrap();
        let traces = traces(&run, kernel, 0, run.rounds());
        for (block, warps) in (0..).zip(&traces) {
            for (warp, trace) in (0..).zip(warps) {
                assert_eq!(*trace, expected(kernel, &spec, block, warp), "{kernel:?}");
            }
        }
    }
}
