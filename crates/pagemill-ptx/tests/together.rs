//! Blocks of a cooperative launch that wait for each other, in functional runs.

use pagemill_ptx::{DeviceMemory, Executor, Launch, Module, Output, run_functional};

/// Block `b` raises its flag, waits for that of the next block, and returns how many flags it has seen.
const KERNEL: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry ring(.param .u64 p)
{
    .reg .pred %q;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d2, %d1, %d2;
    mov.u32 %r3, 1;
    st.volatile.global.u32 [%d2], %r3;
    add.u32 %r4, %r1, 1;
    rem.u32 %r4, %r4, %r2;
    mul.wide.u32 %d3, %r4, 4;
    add.u64 %d3, %d1, %d3;
wait:
    ld.volatile.global.u32 %r5, [%d3];
    setp.eq.u32 %q, %r5, 0;
    @%q bra wait;
    bar.sync 0;
    mov.u32 %r6, 2;
    st.volatile.global.u32 [%d2], %r6;
    ret;
}
";

#[test]
fn each_block_sees_what_the_others_write() {
    let module = Module::load("ring.ptx", KERNEL).expect("valid PTX");
    for executor in [Executor::Interpreter, Executor::Compiled] {
        let mut memory = DeviceMemory::new();
        let linked = module.link(&mut memory).expect("no variables");
        let blocks = 7u32;
        let flags = memory
            .alloc("flags", u64::from(4 * blocks), 4)
            .expect("room");
        let workspace = memory.alloc("workspace", 8, 8).expect("room");
        let kernel = module.kernel("ring").expect("it is there");
        let launch = Launch::new(
            &module,
            &linked,
            kernel,
            [blocks, 1, 1],
            [96, 1, 1],
            0,
            &flags.to_le_bytes(),
        );
        let launch = launch
            .expect("a possible shape")
            .with_grid_workspace(workspace)
            .with_executor(executor);
        let totals = run_functional(&launch, &mut memory, &mut Output::default());
        assert_eq!(totals.expect("every block ends").blocks, u64::from(blocks));
        let found = memory
            .bytes(flags, u64::from(4 * blocks))
            .expect("allocated");
        assert!(found.chunks(4).all(|flag| flag == [2, 0, 0, 0]));
    }
}
