//! Blocks that wait for each other, in functional runs: of cooperative launches, and of others while all of them are resident.

use pagemill_ptx::{
    DeviceMemory, Executor, FunctionalRun, FunctionalTotals, Launch, Module, Output, Patience,
    TrapKind, run_functional,
};

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

/// Every block but number `setter` waits in a loop of `LOAD`, which asks for a flag, and `COUNT`; that one sets the flag.
const WAITING: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry waiting(.param .u64 p, .param .u32 setter)
{
    .reg .pred %q;
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    .shared .b32 own;
    ld.param.u64 %d1, [p];
    ld.param.u32 %r1, [setter];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r5, 0;
    setp.eq.u32 %q, %r2, %r1;
    @%q bra set;
wait:
    LOAD
    COUNT
    setp.eq.u32 %q, %r3, 0;
    @%q bra wait;
    bar.sync 0;
    ret;
set:
    mov.u32 %r3, 1;
    st.volatile.global.u32 [%d1], %r3;
    ret;
}
";

const LOADS: [&str; 6] = [
    "ld.volatile.global.u32 %r3, [%d1];",
    "ld.acquire.gpu.global.u32 %r3, [%d1];",
    "ld.relaxed.sys.global.u32 %r3, [%d1];",
    "ld.global.u32 %r3, [%d1];",
    "atom.global.or.b32 %r3, [%d1], 0;",
    "atom.global.cas.b32 %r3, [%d1], 1, 1;",
];

const COUNTS: [&str; 4] = [
    "",
    "add.u32 %r5, %r5, 1;",
    "add.u32 %r5, %r5, 1; st.global.u32 [%d1+8], %r5;",
    "add.u32 %r5, %r5, 1; st.shared.u32 [own], %r5;",
];

/// A launch of blocks of two warps, of which `resident` may be there at once, its memory and where the flag is.
fn waiting(
    (load, count): (&str, &str),
    (blocks, resident, setter): (u32, u64, u32),
    executor: Executor,
    is_checked: bool,
) -> (Launch, DeviceMemory, u64) {
    let text = WAITING.replace("LOAD", load).replace("COUNT", count);
    let module = Module::load("waiting.ptx", &text).expect("valid PTX");
    let mut memory = DeviceMemory::new();
    if is_checked {
        memory.set_checked();
    }
    let linked = module.link(&mut memory).expect("no variables");
    let flag = memory.alloc("flag", 16, 16).expect("room");
    let arguments = [&flag.to_le_bytes()[..], &setter.to_le_bytes()].concat();
    let kernel = module.kernel("waiting").expect("it is there");
    let (grid, block) = ([blocks, 1, 1], [64, 1, 1]);
    let launch = Launch::new(&module, &linked, kernel, grid, block, 0, &arguments);
    let launch = launch
        .expect("a possible shape")
        .with_instruction_limit(u64::MAX)
        .with_resident_blocks(resident)
        .with_executor(executor);
    (launch, memory, flag)
}

/// The last block sets the flag.
fn wait_for_last(
    way: (&str, &str),
    (blocks, resident): (u32, u64),
    executor: Executor,
    is_checked: bool,
) -> Result<FunctionalTotals, TrapKind> {
    let shape = (blocks, resident, blocks - 1);
    let (launch, mut memory, _) = waiting(way, shape, executor, is_checked);
    let run = run_functional(&launch, &mut memory, &mut Output::default());
    run.map_err(|trap| trap.kind)
}

#[test]
fn blocks_that_wait_for_others_go_on_when_those_write() {
    for (load, executor, is_checked, resident) in LOADS.into_iter().flat_map(|load| {
        let ways = [
            (Executor::Interpreter, false, 5),
            (Executor::Compiled, false, 3),
            (Executor::Compiled, true, 5),
        ];
        ways.map(|(executor, is_checked, resident)| (load, executor, is_checked, resident))
    }) {
        let shape = (5, resident, u32::MAX);
        let (launch, mut memory, flag) = waiting((load, ""), shape, executor, is_checked);
        let (mut run, mut output) = (FunctionalRun::default(), Output::default());
        let mut go_on = |memory: &mut DeviceMemory| {
            let patience = Patience::ForOthers;
            run.go_on(&launch, patience, memory, &mut output)
                .unwrap_or_else(|trap| panic!("{load}: {trap}"))
        };
        assert!(!go_on(&mut memory), "{load}");
        assert!(!go_on(&mut memory), "{load}: nothing has changed");
        memory.bytes_mut(flag, 4).expect("allocated")[0] = 1;
        assert!(go_on(&mut memory), "{load}");
        let totals = run.totals();
        assert_eq!(totals.blocks, 5);
        assert!(totals.instructions < 1 << 20, "{totals:?}");
    }
}

#[test]
fn blocks_wait_for_later_ones_in_any_way() {
    let both = [Executor::Interpreter, Executor::Compiled];
    let asked = LOADS.map(|load| {
        both.map(|executor| [false, true].map(|checked| ((load, ""), executor, checked)))
    });
    let counted = COUNTS.map(|count| ((LOADS[0], count), Executor::Compiled, false));
    for (way, executor, is_checked) in asked
        .as_flattened()
        .as_flattened()
        .iter()
        .copied()
        .chain(counted)
    {
        let run = || wait_for_last(way, (5, 5), executor, is_checked);
        let totals = run().unwrap_or_else(|kind| panic!("{way:?}: {kind}"));
        assert_eq!(totals.blocks, 5);
        assert_eq!(run(), Ok(totals), "turns are the same each time");
    }
}

#[test]
fn a_block_for_which_there_is_no_room_is_never_met() {
    for executor in [Executor::Interpreter, Executor::Compiled] {
        let ended = wait_for_last((LOADS[0], ""), (5, 4), executor, false);
        let is_endless =
            matches!(ended, Err(TrapKind::NoProgress { instructions }) if instructions > 0);
        assert!(is_endless, "{ended:?}");
    }
}

/// Many more warps than there are looks at which nothing may happen.
#[test]
fn many_blocks_may_wait_for_one() {
    let way = (LOADS[0], "");
    let ended = wait_for_last(way, (3000, 3000), Executor::Compiled, false);
    assert_eq!(ended.map(|totals| totals.blocks), Ok(3000));
}

/// Waits until the clock has advanced by `n`, and returns by how much it has.
const SPIN: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 p, .param .u64 n)
{
    .reg .pred %q;
    .reg .b64 %d<8>;
    ld.param.u64 %d1, [p];
    ld.param.u64 %d2, [n];
    mov.u64 %d3, %clock64;
wait:
    mov.u64 %d4, %clock64;
    sub.s64 %d5, %d4, %d3;
    setp.lt.s64 %q, %d5, %d2;
    @%q bra wait;
    st.global.u64 [%d1], %d5;
    ret;
}
";

#[test]
fn waiting_by_the_clock_costs_few_instructions() {
    let module = Module::load("spin.ptx", SPIN).expect("valid PTX");
    for executor in [Executor::Interpreter, Executor::Compiled] {
        for (cycles, most) in [(100u64, 1 << 10), (1 << 20, 1 << 12), (1 << 45, 1 << 12)] {
            let mut memory = DeviceMemory::new();
            let linked = module.link(&mut memory).expect("no variables");
            let waited = memory.alloc("waited", 8, 8).expect("room");
            let arguments = [waited.to_le_bytes(), cycles.to_le_bytes()].concat();
            let kernel = module.kernel("spin").expect("it is there");
            let launch = Launch::new(&module, &linked, kernel, [1; 3], [32, 1, 1], 0, &arguments);
            let launch = launch.expect("a possible shape").with_executor(executor);
            let totals = run_functional(&launch, &mut memory, &mut Output::default());
            let instructions = totals.expect("it ends").instructions;
            assert!(instructions < most, "{cycles}: {instructions}");
            let found = memory.bytes(waited, 8).expect("allocated");
            let found = u64::from_le_bytes(found.try_into().expect("8 bytes"));
            assert!(
                (cycles..cycles + cycles / 16 + 8).contains(&found),
                "{found} of {cycles}"
            );
        }
    }
}
