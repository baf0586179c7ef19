use super::*;
use crate::gpu::GpuMachine;

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
        block_leader,
        slot: None,
        wait_mask: 0,
    }
}

fn latencies(instructions: &[InstructionInfo]) -> Vec<u32> {
    let timings = GpuMachine::gtx480().sm.timings;
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
