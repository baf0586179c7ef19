use super::*;
use crate::{Executor, Module, run_functional};
use proptest::prelude::*;

/// 64 blocks of 256 threads; thread `t` of all reads word `t` and others of `in`, and stores as `body` says. `%d1` and `%d2`
/// point to its own words of `in` and `out`, `%r1` is `t`, `%r9` its word of `in`.
pub(crate) fn kernel(body: &str) -> String {
    format!(
        "
.version 7.8
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 in, .param .u64 out)
{{
    .reg .pred %q<4>;
    .reg .b16 %h<4>;
    .reg .b32 %r<32>;
    .reg .b64 %d<32>;
    ld.param.u64 %d11, [in];
    ld.param.u64 %d12, [out];
    cvta.to.global.u64 %d11, %d11;
    cvta.to.global.u64 %d12, %d12;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r1, %r2, %r3, %r4;
    mul.wide.u32 %d3, %r1, 4;
    add.u64 %d1, %d11, %d3;
    add.u64 %d2, %d12, %d3;
    ld.global.u32 %r9, [%d1];
    {body}
    ret;
}}
"
    )
}

const BLOCKS: u32 = 64;

/// A launch of [`kernel`], and memory with numbers in `in` and `out`.
pub(crate) struct Program {
    pub launch: Launch,
    pub memory: DeviceMemory,
    input: u64,
    output: u64,
}

impl Program {
    pub(crate) fn new(text: &str, blocks: u32, executor: Executor) -> Self {
        let module = Module::load("kernel.ptx", text).expect("valid PTX");
        let mut memory = DeviceMemory::new();
        let linked = module.link(&mut memory).expect("no variables");
        let bytes = bytes_of(blocks);
        let [input, output] =
            ["in", "out"].map(|name| memory.alloc(name, bytes, 256).expect("room"));
        for address in [input, output] {
            let data = memory.bytes_mut(address, bytes).expect("allocated");
            for (place, word) in (0..).zip(data.chunks_exact_mut(4)) {
                let value = u32::wrapping_mul(place, 0x9e37_79b9) ^ address as u32;
                word.copy_from_slice(&value.to_le_bytes());
            }
        }
        let arguments = [input.to_le_bytes(), output.to_le_bytes()].concat();
        let (grid, block) = ([blocks, 1, 1], [256, 1, 1]);
        let kernel = module.kernel("kernel").expect("it is there");
        let launch = Launch::new(&module, &linked, kernel, grid, block, 0, &arguments);
        Self {
            launch: launch.expect("a possible shape").with_executor(executor),
            memory,
            input,
            output,
        }
    }
}

/// Eight words for each thread.
fn bytes_of(blocks: u32) -> u64 {
    32 * 256 * u64::from(blocks)
}

/// What a launch leaves in `out` with so many workers, and whether its blocks ran apart.
fn outcome(body: &str, executor: Executor, workers: usize) -> (Vec<u8>, bool) {
    let Program {
        launch,
        mut memory,
        input,
        output,
    } = Program::new(&kernel(body), BLOCKS, executor);
    let (launch, bytes) = (launch.with_workers(workers), bytes_of(BLOCKS));
    let mut is_apart = false;
    if workers > 1 {
        is_apart = run(&launch, Patience::ToTheEnd, &mut memory).is_some();
        assert_eq!(memory.allocations().len(), 2, "both are back");
    }
    if !is_apart {
        run_functional(&launch, &mut memory, &mut Output::default()).expect("it ends");
    }
    let both = memory.bytes(input, bytes).expect("allocated").to_vec();
    let out = memory.bytes(output, bytes).expect("allocated");
    ([both.as_slice(), out].concat(), is_apart)
}

/// Compares with blocks in turns; whether they run apart is `expected`, where that does not depend on who takes which.
fn check(body: &str, expected: Option<bool>) {
    for executor in [Executor::Interpreter, Executor::Compiled] {
        let (in_turns, _) = outcome(body, executor, 1);
        for workers in [2, 4] {
            let (found, is_apart) = outcome(body, executor, workers);
            assert!(found == in_turns, "{body}: {executor:?}, {workers} workers");
            let as_expected = expected.is_none_or(|expected| expected == is_apart);
            assert!(as_expected, "{body}: {executor:?}, {workers} workers");
        }
    }
}

#[test]
fn outputs_of_their_own_are_stored_apart() {
    for body in [
        "st.global.u32 [%d2], %r9;",
        // Rows that begin anywhere, and lanes that take no part.
        "and.b32 %r5, %r1, 5; setp.eq.u32 %q1, %r5, 1; @%q1 st.global.u32 [%d2+20], %r9;",
        // Every lane at a place of its own.
        "mul.lo.u32 %r5, %r1, 7; rem.u32 %r5, %r5, 16384; mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d12, %d4;
         st.global.u32 [%d4], %r9;",
        // Whole and partial rows of wide registers, and of several.
        "mul.wide.u32 %d4, %r1, 8; add.u64 %d4, %d12, %d4; cvt.u64.u32 %d5, %r9; st.global.u64 [%d4], %d5;",
        "mul.wide.u32 %d4, %r1, 8; add.u64 %d4, %d12, %d4; cvt.u64.u32 %d5, %r9; and.b32 %r5, %r1, 3;
         setp.ne.u32 %q1, %r5, 0; @%q1 st.global.u64 [%d4+64], %d5;",
        "mul.wide.u32 %d4, %r1, 16; add.u64 %d4, %d12, %d4; st.global.v4.u32 [%d4], {%r9, %r1, %r2, %r4};",
        "mul.wide.u32 %d4, %r1, 16; add.u64 %d4, %d12, %d4; and.b32 %r5, %r1, 3; setp.ne.u32 %q1, %r5, 0;
         @%q1 st.global.v2.u32 [%d4+8], {%r9, %r1};",
        // Nothing is stored where blocks differ; nothing at all.
        "setp.eq.u32 %q1, %r2, 17; @%q1 st.global.u32 [%d2], %r9;",
        "add.u32 %r9, %r9, 1;",
    ] {
        check(body, Some(true));
    }
}

#[test]
fn what_blocks_may_see_of_each_other_runs_in_turns() {
    for body in [
        // In place, and what another block stores.
        "add.u32 %r9, %r9, 1; st.global.u32 [%d1], %r9;",
        "st.global.u32 [%d2], %r9; xor.b32 %r5, %r1, 8192; mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d12, %d4;
         ld.global.u32 %r6, [%d4]; st.global.u32 [%d2], %r6;",
        "atom.global.add.u32 %r5, [%d12], 1;",
        "red.global.add.u32 [%d12], %r9;",
        // Less than a word.
        "cvt.u16.u32 %h1, %r9; mul.wide.u32 %d4, %r1, 2; add.u64 %d4, %d12, %d4; st.global.u16 [%d4], %h1;",
    ] {
        check(body, Some(false));
    }
}

#[test]
fn of_several_stores_to_a_word_the_last_block_s_remains() {
    // One worker may take all blocks before the others begin.
    check("st.global.u32 [%d12], %r1;", None);
    check("st.global.u32 [%d12+4], 7;", None);
}

#[test]
fn a_kernel_that_has_met_is_not_tried_again() {
    let Program {
        launch, mut memory, ..
    } = Program::new(
        &kernel("st.global.u32 [%d1], %r9;"),
        BLOCKS,
        Executor::default(),
    );
    let launch = launch.with_workers(2);
    assert!(may_run(&launch, &memory));
    assert!(run(&launch, Patience::ToTheEnd, &mut memory).is_none());
    assert!(!may_run(&launch, &memory));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Threads store at places that a linear map of their number says, a word or two each.
    #[test]
    fn any_map_of_threads_to_words_gives_the_bytes_of_turns(
        factor in 0u32..40,
        offset in 0u32..2000,
        modulus in 1u32..40_000,
        pairs in any::<bool>(),
    ) {
        let store = match pairs {
            true => "shl.b32 %r5, %r5, 1; mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d12, %d4;
                     st.global.v2.u32 [%d4], {%r9, %r1};",
            false => "mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d12, %d4; st.global.u32 [%d4], %r1;",
        };
        let body = format!(
            "mad.lo.u32 %r5, %r1, {factor}, {offset}; rem.u32 %r5, %r5, {modulus}; {store}"
        );
        let (in_turns, _) = outcome(&body, Executor::Compiled, 1);
        let (found, _) = outcome(&body, Executor::Compiled, 3);
        prop_assert!(found == in_turns, "{}", body);
    }
}
