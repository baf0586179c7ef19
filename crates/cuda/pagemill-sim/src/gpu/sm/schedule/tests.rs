use super::*;
use crate::gpu::machine::MachineCode;
use crate::gtx480::gtx480;

fn info(
    class: InstructionClass,
    reads: &[u32],
    writes: &[u32],
    block_leader: bool,
) -> InstructionInfo {
    InstructionInfo {
        class,
        opcode: "op".into(),
        line: 1,
        source: None,
        caller: None,
        reads: reads.to_vec(),
        writes: writes.to_vec(),
        is_erased: false,
        block_leader,
        slot: None,
        wait_mask: 0,
    }
}

fn latencies(instructions: &[InstructionInfo]) -> Vec<u32> {
    let timings = gtx480().sm.timings;
    schedule(instructions, &timings)
        .iter()
        .map(|cost| cost.latency_cycles)
        .collect()
}

use InstructionClass::{Float32, GlobalMemory, Integer};

#[test]
fn dependent_instructions_wait_for_each_other_and_independent_ones_do_not() {
    let chain = [
        info(Float32, &[0], &[1], true),
        info(Float32, &[1], &[2], false),
        info(Float32, &[2], &[3], false),
    ];
    assert_eq!(latencies(&chain), [18, 18, 18]);
    let parallel = [
        info(Float32, &[0], &[1], true),
        info(Float32, &[0], &[2], false),
        info(Float32, &[0], &[3], false),
    ];
    assert_eq!(latencies(&parallel), [2, 2, 18]);
}

#[test]
fn a_late_operand_is_waited_for_by_its_reader() {
    let code = [
        info(Float32, &[0], &[1], true),
        info(Integer, &[0], &[2], false),
        info(Integer, &[1, 2], &[3], false),
    ];
    // The reader issues at 20, two cycles after the integer's issue slot: max(18, 2 + 18).
    assert_eq!(latencies(&code), [2, 18, 18]);
}

#[test]
fn loads_are_left_to_the_scoreboard_and_blocks_begin_anew() {
    let code = [
        info(GlobalMemory, &[0], &[1], true),
        info(Integer, &[1], &[2], false),
        info(Integer, &[2], &[3], true),
    ];
    assert_eq!(latencies(&code), [2, 18, 18]);
}

fn with_machine_code() -> InstructionTimings {
    let timing = |issue_cycles, latency_cycles| InstructionTiming {
        issue_cycles,
        latency_cycles,
    };
    let slow = timing(8, 16);
    InstructionTimings {
        integer: timing(2, 4),
        integer_multiply: timing(2, 4),
        float32: timing(1, 4),
        special: timing(8, 17),
        machine_code: Some(MachineCode {
            bit_count: slow,
            integer_to_float: timing(2, 4),
            wide_multiply: slow,
            integer_divide: timing(18, 72),
            float32_divide: timing(17, 59),
            float32_root: timing(12, 57),
            float64_divide: timing(25, 124),
            texture: timing(32, 32),
        }),
        ..gtx480().sm.timings
    }
}

fn issue_cycles(instructions: &[InstructionInfo]) -> u32 {
    let costs = schedule(instructions, &with_machine_code());
    costs.iter().map(|cost| cost.issue_cycles).sum()
}

#[test]
fn a_slow_pipe_blocks_only_itself() {
    use InstructionClass::{IntegerMultiply, Special};
    let integers = |number: u32| info(Integer, &[0], &[number], number == 1);
    let block: Vec<_> = (1..=4).map(integers).collect();
    assert_eq!(issue_cycles(&block), 8);
    let mut mixed = block.clone();
    mixed.extend((5..=8).map(|number| info(IntegerMultiply, &[0], &[number], false)));
    assert_eq!(
        issue_cycles(&mixed),
        8,
        "each pipe takes 8 cycles, and so does the issue"
    );
    mixed.extend((9..=12).map(|number| info(Float32, &[0], &[number], false)));
    assert_eq!(issue_cycles(&mixed), 12, "one instruction a cycle");
    mixed.push(info(Special, &[0], &[13], false));
    mixed.push(info(Special, &[0], &[14], false));
    assert_eq!(issue_cycles(&mixed), 16);
}

#[test]
fn sequences_cost_what_they_are_and_erased_copies_nothing() {
    let one = |opcode: &str, class, is_erased| {
        let single = InstructionInfo {
            opcode: opcode.into(),
            is_erased,
            ..info(class, &[0], &[1], true)
        };
        let cost = schedule(&[single], &with_machine_code())[0];
        (cost.issue_cycles, cost.latency_cycles)
    };
    use InstructionClass::{Convert, GlobalMemory, IntegerMultiply, Special};
    assert_eq!(one("popc.b32", Integer, false), (8, 16));
    assert_eq!(one("mov.u32", Integer, true), (0, 0));
    assert_eq!(one("mad.lo.s64", IntegerMultiply, false), (8, 16));
    assert_eq!(one("mul.wide.s32", IntegerMultiply, false), (2, 4));
    assert_eq!(one("cvt.s64.s32", Convert, false), (2, 4));
    assert_eq!(one("cvt.rn.f32.s32", Convert, false), (2, 4));
    assert_eq!(one("div.rn.f32", Special, false), (17, 59));
    assert_eq!(one("div.s64", Special, false), (72, 288));
    assert_eq!(one("div.full.f32", Special, false), (8, 33));
    assert_eq!(one("div.full.ftz.f32", Special, false), (8, 29));
    assert_eq!(one("div.approx.f32", Special, false), (8, 29));
    assert_eq!(one("div.approx.ftz.f32", Special, false), (8, 21));
    assert_eq!(one("lg2.approx.f32", Special, false), (8, 29));
    assert_eq!(one("lg2.approx.ftz.f32", Special, false), (8, 17));
    assert_eq!(one("add.s64", Integer, false), (4, 6));
    assert_eq!(one("cvt.u64.u32", Convert, false), (0, 0));
    assert_eq!(one("sqrt.rn.f64", Special, false), (25, 124));
    assert_eq!(one("tex.2d.v4.f32.f32", GlobalMemory, false), (32, 32));
}

#[test]
fn a_result_that_one_instruction_reads_may_join_it() {
    let of = |opcode: &str, reads: &[u32], write: u32, leads: bool| InstructionInfo {
        opcode: opcode.into(),
        ..info(Integer, reads, &[write], leads)
    };
    let joined = |code: &[InstructionInfo]| joined::joined(code, registers(code));
    let add = |reads: &[u32], write, leads| of("add.s32", reads, write, leads);
    let three = [add(&[0, 1], 2, true), add(&[2, 3], 4, false)];
    assert_eq!(joined(&three), [true, false]);
    let mut more = three.to_vec();
    more.push(add(&[4, 5], 6, false));
    assert_eq!(joined(&more), [true, false, false], "no sum of four");
    more.push(add(&[6, 7], 8, false));
    assert_eq!(joined(&more), [true, false, true, false]);
    let read_twice = [three.to_vec(), vec![add(&[2, 5], 6, false)]].concat();
    assert_eq!(joined(&read_twice), [false; 3]);
    let elsewhere = [add(&[0, 1], 2, true), add(&[2, 3], 4, true)];
    assert_eq!(joined(&elsewhere), [false; 2]);
    let address = [
        of("mul.wide.u32", &[0], 1, true),
        of("add.s64", &[1, 2], 3, false),
    ];
    assert_eq!(joined(&address), [true, false]);
    let shifted = |reads: &[u32]| [of("shl.b32", reads, 2, true), add(&[2, 3], 4, false)];
    assert_eq!(joined(&shifted(&[0])), [true, false]);
    assert_eq!(
        joined(&shifted(&[0, 1])),
        [false; 2],
        "LEA shifts by a number"
    );
    let saturated = [of("add.sat.s32", &[0, 1], 2, true), add(&[2, 3], 4, false)];
    assert_eq!(joined(&saturated), [false; 2]);
    let signs = [
        of("neg.f32", &[0], 1, true),
        of("abs.f32", &[2], 3, false),
        of("fma.rn.f32", &[1, 3, 4], 5, false),
    ];
    assert_eq!(joined(&signs), [true, true, false]);
}
