use super::*;
use crate::gpu::host::program::{LaunchShape, ModuleId};
use crate::gpu::{Buffer, Gpu, LaunchReport, Options, TransferMode};
use crate::gtx480::gtx480;
use pagemill_policy::migration::{MigrationSpec, POLICIES};
use pagemill_types::{PageSize, Picos};

const BLOCKS: u32 = 1024;
const THREADS: u32 = 256;

/// Each thread follows the numbers of `in` for a while, from its own on, and stores the last one at `out` or in place.
fn kernel(stores_at: &str) -> String {
    format!(
        "
.version 7.8
.target sm_80
.address_size 64
.visible .entry follow(.param .u64 in, .param .u64 out)
{{
    .reg .pred %p<3>;
    .reg .b32 %r<10>;
    .reg .b64 %d<10>;
    ld.param.u64 %d1, [in];
    ld.param.u64 %d2, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, {THREADS}, %r2;
    mul.wide.u32 %d3, %r3, 4;
    add.u64 %d4, {stores_at}, %d3;
    and.b32 %r4, %r3, 15;
NEXT:
    mul.wide.u32 %d5, %r3, 4;
    add.u64 %d6, %d1, %d5;
    ld.global.u32 %r3, [%d6];
    sub.u32 %r4, %r4, 1;
    setp.gt.s32 %p1, %r4, 0;
    @%p1 bra NEXT;
    st.global.u32 [%d4], %r3;
    ret;
}}
"
    )
}

/// A launch of a kernel, and the memory that it uses.
struct Program {
    gpu: Gpu,
    module: ModuleId,
    launch: Launch,
    buffers: [Buffer; 2],
}

fn program(text: &str, mode: TransferMode, options: Options) -> Program {
    let mut machine = gtx480();
    machine.sm.count = 48;
    let mut gpu = Gpu::new(&machine, mode, options).expect("a possible machine");
    let module = gpu.load_module("follow.ptx", text).expect("valid PTX");
    let words = BLOCKS * THREADS;
    let [input, output] = ["in", "out"].map(|name| {
        let bytes = u64::from(words) * 4;
        gpu.alloc(name, bytes).expect("there is room")
    });
    let numbers = (0..words).map(|at| at ^ 0x155);
    for (bytes, number) in gpu.host_bytes_mut(input).chunks_exact_mut(4).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    let arguments = [input, output].map(|buffer| buffer.address.0.to_le_bytes());
    let shape = LaunchShape {
        grid: [BLOCKS, 1, 1],
        block: [THREADS, 1, 1],
        dynamic_shared_bytes: 0,
        cooperative: false,
        cluster: None,
    };
    let launch = gpu.ready_launch(module, "follow", &shape, &arguments.concat());
    Program {
        launch: launch.expect("a possible launch"),
        gpu,
        module,
        buffers: [input, output],
    }
}

/// What a launch reports and leaves in memory, with steps made in time or ahead of it.
fn outcome(text: &str, mode: TransferMode, is_ahead: bool) -> (LaunchReport, Vec<u8>) {
    let Program {
        mut gpu,
        module,
        launch,
        buffers,
    } = program(text, mode, Options::default());
    let report = gpu.on_grid(module, &launch, |timing_model, grid| {
        let mut grid = match is_ahead {
            true => grid.ahead_of_time(Patience::ToTheEnd),
            false => grid,
        };
        let made_ahead = matches!(grid.steps, Steps::Ahead(_));
        assert_eq!(made_ahead, is_ahead && text.contains("%d2, %d3"));
        let end = timing_model.run_grid(Picos::ZERO, "follow", &mut grid, Patience::ToTheEnd)?;
        timing_model.ended(end)
    });
    let bytes = buffers.map(|buffer| gpu.host_bytes(buffer).to_vec());
    (report.expect("it ends"), bytes.concat())
}

#[test]
fn steps_that_are_made_ahead_change_no_figure() {
    let spec = MigrationSpec::new(PageSize::KIB_64, POLICIES.find("multi-range").expect("one"));
    for mode in [TransferMode::ProgrammerCopy, TransferMode::Migrate(spec)] {
        for stores_at in ["%d2", "%d1"] {
            let text = kernel(stores_at);
            let in_time = outcome(&text, mode.clone(), false);
            assert!(in_time.0.stats.execution.warp_instructions > 0);
            let ahead = outcome(&text, mode.clone(), true);
            assert_eq!(ahead.0, in_time.0, "{mode:?}, {stores_at}");
            assert!(ahead.1 == in_time.1, "{mode:?}, {stores_at}: other bytes");
        }
    }
}

#[test]
fn nothing_is_executed_ahead_beyond_the_limit_of_the_run() {
    let mut options = Options::default();
    options.limits.thread_instructions = 1000;
    let Program {
        mut gpu, launch, ..
    } = program(&kernel("%d2"), TransferMode::ProgrammerCopy, options);
    assert!(!Ahead::executes(
        &launch,
        Patience::ToTheEnd,
        &mut gpu.memory
    ));
}
