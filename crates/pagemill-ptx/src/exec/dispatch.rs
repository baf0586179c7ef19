//! The step loop, compiled for three instruction sets; which one runs is decided once per process.

use super::run::{Machine, Stop, run_loop};
use super::step::StepTotals;
use crate::trap::Fault;
use std::sync::OnceLock;

/// Runs `machine` until it stops. On a fault the warp's path points at the faulting instruction.
pub(crate) fn run(machine: &mut Machine<'_>, totals: &mut StepTotals) -> Result<Stop, Box<Fault>> {
    match level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` found on this processor every feature the function is compiled for.
        Level::Avx512 => unsafe { run_avx512(machine, totals) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { run_avx2(machine, totals) },
        Level::Baseline => run_loop(machine, totals),
    }
}

/// Work whose loops become vectors.
pub(crate) trait Wide {
    /// Does it. It has to be `inline(always)`: its loops are compiled where it is called from.
    fn work(self);
}

/// Does `work` with the widest vectors of this processor.
#[inline(always)]
pub(crate) fn widest(work: impl Wide) {
    match level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` found on this processor every feature the function is compiled for.
        Level::Avx512 => unsafe { in_avx512(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: without AVX-512, `level` found the features that this one is compiled for.
        Level::Avx2 => unsafe { in_avx2(work) },
        Level::Baseline => work.work(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c"
)]
fn in_avx512(work: impl Wide) {
    work.work();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c")]
fn in_avx2(work: impl Wide) {
    work.work();
}

#[derive(Clone, Copy, Debug)]
enum Level {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(detect)
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::Baseline
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    if !has_avx2() {
        return Level::Baseline;
    }
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    if avx512 { Level::Avx512 } else { Level::Avx2 }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("f16c")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c"
)]
fn run_avx512(machine: &mut Machine<'_>, totals: &mut StepTotals) -> Result<Stop, Box<Fault>> {
    run_loop(machine, totals)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt,f16c")]
fn run_avx2(machine: &mut Machine<'_>, totals: &mut StepTotals) -> Result<Stop, Box<Fault>> {
    run_loop(machine, totals)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::line::{ConstantLines, Frame, Line, Registers};
    use super::super::op::{Inst, Op, lane_operation};
    use super::*;
    use crate::exec::samples::word;
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
            // SAFETY: as above.
            Level::Avx512 => unsafe { lane_avx512(inst, &mut frame, mask) },
        }
    }

    fn levels() -> &'static [Level] {
        match detect() {
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
}
