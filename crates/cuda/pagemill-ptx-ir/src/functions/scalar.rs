//! Lane functions that are not worth a vector loop, applied lane by lane.

use crate::code::{Bank, ScalarInst};
use crate::line::{Frame, LANE_BITS, lanes_of};
use crate::op::Inst;

#[inline(never)]
pub fn execute(frame: &mut Frame<'_>, scalar: &ScalarInst, inst: &Inst, mask: u32) {
    let [a, b, c] = scalar.operands;
    for lane in lanes_of(mask) {
        let (a, b, c) = (
            get(frame, a, inst.a, lane),
            get(frame, b, inst.b, lane),
            get(frame, c, inst.c, lane),
        );
        let result = (scalar.function)(a, b, c, scalar.immediate);
        match scalar.result {
            Bank::Narrow => frame.narrow[usize::from(inst.dst)].0[lane] = result as u32,
            Bank::Wide => frame.wide[usize::from(inst.dst)].0[lane] = result,
            Bank::Predicate => {
                let bit = LANE_BITS[lane];
                frame.set_predicate(inst.dst, bit, if result != 0 { bit } else { 0 });
            }
            Bank::None => {}
        }
    }
}

fn get(frame: &Frame<'_>, bank: Bank, operand: u16, lane: usize) -> u64 {
    match bank {
        Bank::Narrow => u64::from(frame.narrow(operand)[lane]),
        Bank::Wide => frame.wide(operand)[lane],
        Bank::Predicate => u64::from(frame.predicate(operand) >> lane & 1),
        Bank::None => 0,
    }
}
