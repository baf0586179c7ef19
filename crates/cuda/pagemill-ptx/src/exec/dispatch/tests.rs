use super::*;
use crate::exec::tests::word;
use pagemill_ptx_ir::line::{ConstantLines, Frame, Line, Registers};
use pagemill_ptx_ir::op::{Inst, Op, lane_operation};
use proptest::prelude::*;

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c"
)]
fn lane_avx512(inst: &Inst, frame: &mut Frame<'_>, mask: u32) {
    lane_operation(inst, frame, mask);
}

#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c")]
fn lane_avx2(inst: &Inst, frame: &mut Frame<'_>, mask: u32) {
    lane_operation(inst, frame, mask);
}

fn execute(level: Level, inst: &Inst, registers: &mut Registers, mask: u32) {
    let constants = ConstantLines::default();
    let mut frame = Frame::new(registers, &constants);
    match level {
        Level::Baseline => lane_operation(inst, &mut frame, mask),
        // SAFETY: the test asks only for levels that `detect` found or that lie below.
        Level::Avx2 => unsafe { lane_avx2(inst, &mut frame, mask) },
        // SAFETY: the test asks for AVX-512 only where `detect` found it.
        Level::Avx512 => unsafe { lane_avx512(inst, &mut frame, mask) },
    }
}

fn levels() -> &'static [Level] {
    match level() {
        Level::Baseline => &[],
        Level::Avx2 => &[Level::Avx2],
        Level::Avx512 => &[Level::Avx2, Level::Avx512],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_instruction_sets_agree(words in prop::collection::vec(word(), 32 * 3), mask: u32, predicates: [u32; 4]) {
        let line = |index: usize| Line(std::array::from_fn(|lane| words[32 * index + lane]));
        let wide: Vec<Line<u64>> = (0..3).map(line).chain([Line::splat(7)]).collect();
        let narrow = wide.iter().map(|line| Line(line.0.map(|word| word as u32))).collect();
        let start = Registers { narrow, wide, predicates: predicates.to_vec() };
        for &op in Op::LANE_OPERATIONS {
            let inst = Inst { dst: 3, a: 0, b: 1, c: 2, ..Inst::new(op) };
            for mask in [mask, u32::MAX] {
                let mut wanted = start.clone();
                execute(Level::Baseline, &inst, &mut wanted, mask);
                for &level in levels() {
                    let mut found = start.clone();
                    execute(level, &inst, &mut found, mask);
                    prop_assert_eq!(&found, &wanted, "{:?} at {:?}", op, level);
                }
            }
        }
    }
}
