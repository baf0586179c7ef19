use super::*;
use crate::Executor;
use crate::exec::step::{LanePlaces, MemoryAccess, StepEnd};
use crate::functional::speculation::tests::{Program, kernel};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const BLOCKS: u32 = 1024;
const BUDGET: u32 = 4096;

/// What a step says, without what it leaves undefined.
fn shown(step: &Step) -> String {
    let announced = (step.end == StepEnd::Memory).then(|| {
        let lanes = (0..32).filter(|lane| step.access.mask >> lane & 1 != 0);
        let addresses: Vec<u64> = lanes.map(|lane| step.access.address(lane)).collect();
        let access = MemoryAccess {
            listed: [0; 32],
            places: LanePlaces::Listed,
            ..step.access
        };
        (access, addresses)
    });
    format!("{:?} {:?} {announced:?}", step.totals, step.end)
}

/// The steps of some blocks, each warp's in a row, from `advance`.
fn steps(mut advance: impl FnMut(u32, u32, &mut Step), warps: u32) -> Vec<String> {
    let mut step = Step::default();
    let mut all = Vec::new();
    for warp in 0..warps {
        loop {
            advance(0, warp, &mut step);
            all.push(shown(&step));
            if step.end == StepEnd::Exit {
                break;
            }
        }
    }
    all
}

/// Whether steps of a kernel with `body` are made ahead; if so, they are those of the same blocks in time.
fn is_ahead(body: &str, executor: Executor, workers: usize) -> bool {
    let Program {
        launch, mut memory, ..
    } = Program::new(&kernel(body), BLOCKS, executor);
    let launch = launch.with_workers(workers);
    let costs = InstructionCosts::new(launch.kernel(), |index, _| (index as u32 % 5 + 1, 7));
    let mut own = memory.clone();
    if !Ahead::executes(&launch, Patience::ToTheEnd, &mut memory) {
        return false;
    }
    let warps = launch.warps_per_block();
    let mut block = Block::new(&launch);
    let mut ahead = Ahead::new(&launch, &costs, BUDGET, &mut memory);
    ahead.prepare(1);
    for index in [0, 1, 700, 1023] {
        block.start(&launch, index);
        let in_time = |_, warp, step: &mut Step| {
            let advanced = block.advance(&launch, warp, &mut own, &costs, BUDGET, step);
            advanced.expect("nothing is wrong");
        };
        let wanted = steps(in_time, warps);
        ahead.start_block(0, index);
        let found = steps(
            |slot, warp, step| ahead.advance(slot, warp, step).expect("nothing is wrong"),
            warps,
        );
        ahead.end_block(0);
        assert_eq!(found, wanted, "block {index}: {body}");
    }
    true
}

fn check(body: &str, expected: bool) {
    for executor in [Executor::Interpreter, Executor::Compiled] {
        for workers in 0..3 {
            let is_ahead = is_ahead(body, executor, workers);
            assert_eq!(is_ahead, expected, "{body}: {executor:?}, {workers}");
        }
    }
}

#[test]
fn steps_made_ahead_are_those_made_in_time() {
    for body in [
        "st.global.u32 [%d2], %r9;",
        // Lanes that take no part, and lanes that are listed.
        "and.b32 %r5, %r1, 5; setp.eq.u32 %q1, %r5, 1; @%q1 st.global.u32 [%d2], %r9;",
        "mul.lo.u32 %r5, %r1, 7; rem.u32 %r5, %r5, 262144; mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d12, %d4;
         st.global.u32 [%d4], %r9;",
        // More steps than are made at once, of which each warp makes another number.
        "shr.u32 %r5, %r1, 5; and.b32 %r5, %r5, 63;
         AGAIN: ld.global.u32 %r6, [%d1]; add.u32 %r9, %r9, %r6; sub.u32 %r5, %r5, 1; setp.gt.s32 %q1, %r5, 0;
         @%q1 bra AGAIN; st.global.u32 [%d2], %r9;",
        // Words and pairs of them, by part of the lanes.
        "mul.wide.u32 %d4, %r1, 8; add.u64 %d4, %d12, %d4; cvt.u64.u32 %d5, %r9; and.b32 %r5, %r1, 3;
         setp.ne.u32 %q1, %r5, 0; @%q1 st.global.u64 [%d4+64], %d5;",
    ] {
        check(body, true);
    }
}

#[test]
fn what_depends_on_the_order_of_blocks_or_warps_is_made_in_time() {
    for body in [
        "st.global.u32 [%d1], %r9;",
        "atom.global.add.u32 %r5, [%d12], 1;",
        // A word that several threads store, or one twice.
        "st.global.u32 [%d12], %r1;",
        "st.global.u32 [%d2], %r1; st.global.u32 [%d2], %r9;",
        "shr.u32 %r5, %r1, 1; mul.wide.u32 %d4, %r5, 4; add.u64 %d4, %d12, %d4; st.global.u32 [%d4], %r9;",
        // What warps share, or threads keep; the clock.
        ".shared .b32 word; st.shared.u32 [word], %r1; st.global.u32 [%d2], %r9;",
        "bar.sync 0; st.global.u32 [%d2], %r9;",
        ".local .b32 own; st.local.u32 [own], %r1; st.global.u32 [%d2], %r9;",
        "mov.u32 %r5, %clock; st.global.u32 [%d2], %r5;",
    ] {
        check(body, false);
    }
}

#[test]
fn a_launch_whose_warps_the_host_s_caches_hold_is_made_in_time() {
    let Program {
        launch, mut memory, ..
    } = Program::new(
        &kernel("st.global.u32 [%d2], %r9;"),
        64,
        Executor::default(),
    );
    assert!(!Ahead::executes(&launch, Patience::ToTheEnd, &mut memory));
}

#[test]
fn what_is_executed_ahead_ends_at_the_bounds_of_the_run() {
    let is_ahead = |most, is_stopped| {
        let Program {
            launch, mut memory, ..
        } = Program::new(
            &kernel("st.global.u32 [%d2], %r9;"),
            BLOCKS,
            Executor::default(),
        );
        let launch = launch.with_bounds(most, Some(Arc::new(AtomicBool::new(is_stopped))));
        let before = bytes(&memory);
        let is_ahead = Ahead::executes(&launch, Patience::ToTheEnd, &mut memory);
        assert!(is_ahead || bytes(&memory) == before, "nothing was stored");
        is_ahead
    };
    assert!(is_ahead(u64::MAX, false));
    assert!(!is_ahead(1000, false));
    assert!(!is_ahead(u64::MAX, true));
}

fn bytes(memory: &DeviceMemory) -> Vec<Vec<u8>> {
    let allocations = memory.allocations().iter();
    let bytes = allocations.map(|one| memory.bytes(one.address(), one.bytes()).expect("there"));
    bytes.map(<[u8]>::to_vec).collect()
}
