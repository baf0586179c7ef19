//! Machine code against the interpreter's own functions, on random registers: every lane operation alone, and random
//! stretches of them.

use crate::{Native, Purpose, Routine, Standing, Windows};
use pagemill_ptx_ir::code::path::Path;
use pagemill_ptx_ir::code::{Bank, Code, ScalarInst, Stream};
use pagemill_ptx_ir::functions::scalar;
use pagemill_ptx_ir::line::{CONSTANT_BIT, ConstantLines, FULL, Frame, Line, Registers};
use pagemill_ptx_ir::op::{Inst, NEVER, Op, lane_operation};
use proptest::prelude::*;
use samples::word;

#[path = "../../../pagemill-ptx/src/exec/tests.rs"]
mod samples;

/// Registers of each kind; constants are as many.
const SLOTS: u16 = 5;

fn registers() -> impl Strategy<Value = (Registers, ConstantLines)> {
    let count = usize::from(SLOTS);
    let words = prop::collection::vec(word(), 32 * count + count);
    (words, prop::collection::vec(any::<u32>(), count)).prop_map(move |(words, predicates)| {
        let line = |index: usize| Line(std::array::from_fn(|lane| words[32 * index + lane]));
        let narrow = |line: &Line<u64>| Line(line.0.map(|word| word as u32));
        let wide: Vec<Line<u64>> = (0..count).map(line).collect();
        let constants = words[32 * count..].iter();
        let constants: Vec<Line<u64>> = constants.map(|&word| Line::splat(word)).collect();
        let registers = Registers {
            narrow: wide.iter().map(narrow).collect(),
            wide,
            predicates,
        };
        let constants = ConstantLines {
            narrow: constants.iter().map(narrow).collect(),
            wide: constants,
        };
        (registers, constants)
    })
}

/// Which of all lane operations, its operands, and its guard.
type Draw = (prop::sample::Index, [u16; 4], [bool; 3], Option<(u16, u16)>);

fn draw() -> impl Strategy<Value = Draw> {
    let slot = || 0..SLOTS;
    let flags = prop::sample::select(vec![0, Inst::NEGATED, Inst::CONTINUES]);
    (
        any::<prop::sample::Index>(),
        [slot(), slot(), slot(), slot()],
        any::<[bool; 3]>(),
        prop::option::weighted(0.2, (slot(), flags)),
    )
}

fn inst(op: Op, (_, [dst, operands @ ..], constant, guard): &Draw) -> Inst {
    let (banks, _) = op.banks();
    let operand = |at: usize| match banks.get(at) {
        Some(Bank::Narrow | Bank::Wide) if constant[at] => operands[at] | CONSTANT_BIT,
        _ => operands[at],
    };
    Inst {
        dst: *dst,
        a: operand(0),
        b: operand(1),
        c: operand(2),
        guard: guard.map_or(Inst::UNGUARDED, |(slot, flags)| slot | flags),
        ..Inst::new(op)
    }
}

/// Arithmetic in each rounding mode, by its number among all.
fn rounded(number: usize) -> (ScalarInst, usize) {
    use pagemill_ptx_ir::functions::rounding::{double, single};
    let (operation, round) = (number as u32 / 4 % 7, number as u32 % 4);
    let is_wide = number / 28 == 1 || operation == 6;
    let bank = if is_wide { Bank::Wide } else { Bank::Narrow };
    let operands = match operation {
        4 => 3,
        5 | 6 => 1,
        _ => 2,
    };
    let operand = |at| if at < operands { bank } else { Bank::None };
    let inst = ScalarInst {
        function: if is_wide { double } else { single },
        immediate: operation << 2 | round,
        result: if operation == 6 { Bank::Narrow } else { bank },
        operands: [operand(0), operand(1), operand(2)],
    };
    (inst, operands)
}

/// All of [`rounded`].
const ROUNDED: usize = 56;

/// The instructions, and one behind them that is not compiled and might read every register.
fn code_of(insts: &[Inst]) -> Code {
    let mut insts = insts.to_vec();
    insts.push(Inst::new(Op::Barrier));
    let count = insts.len() as u32;
    Code {
        functional: Stream {
            insts,
            before: (0..=count).collect(),
            info: (0..count).collect(),
            ..Stream::default()
        },
        slots_narrow: SLOTS,
        slots_wide: SLOTS,
        slots_predicate: SLOTS,
        scalars: (0..ROUNDED).map(|number| rounded(number).0).collect(),
        ..Code::default()
    }
}

fn interpret(code: &Code, inst: &Inst, frame: &mut Frame<'_>, mask: u32) {
    match inst.op {
        Op::Scalar => scalar::execute(frame, &code.scalars[inst.aux as usize], inst, mask),
        _ => lane_operation(inst, frame, mask),
    }
}

/// Lanes of `mask` for which the guard of `inst` holds.
fn guarded(inst: &Inst, frame: &Frame<'_>, mask: u32) -> u32 {
    if inst.guard == Inst::UNGUARDED {
        return mask;
    }
    let holds = frame.predicate(inst.guard & !(Inst::NEGATED | Inst::CONTINUES));
    mask & if inst.guard & Inst::NEGATED != 0 {
        !holds
    } else {
        holds
    }
}

/// Interprets one instruction; gives the lanes of `mask` that its guard holds back, which are counted.
fn step(code: &Code, inst: &Inst, frame: &mut Frame<'_>, mask: u32) -> u64 {
    let lanes = guarded(inst, frame, mask);
    interpret(code, inst, frame, lanes);
    match inst.guard & Inst::CONTINUES {
        0 => u64::from((mask & !lanes).count_ones()),
        _ => 0,
    }
}

/// Runs `insts` both ways and compares all registers, and what was counted.
fn check(
    insts: &[Inst],
    start: &Registers,
    constants: &ConstantLines,
    mask: u32,
) -> Result<(), TestCaseError> {
    let code = code_of(insts);
    let routine = match Routine::new(&code, &code.functional, Purpose::Functional) {
        Ok(routine) => routine,
        // There is nothing to compare on such a machine.
        Err(crate::Unavailable::Processor | crate::Unavailable::Memory(_)) => return Ok(()),
        Err(error) => panic!("{error}"),
    };
    let (mut wanted, mut idle) = (start.clone(), 0);
    let mut frame = Frame::new(&mut wanted, constants);
    for inst in insts {
        idle += step(&code, inst, &mut frame, mask);
    }
    let (mut found, mut at) = (start.clone(), 0);
    let mut frame = Frame::new(&mut found, constants);
    let (mut counted_idle, end) = (0, insts.len() as u32);
    let mut windows = Windows::default();
    while at < end {
        // SAFETY: the code names the registers of `SLOTS`, and no memory.
        let mut native = unsafe { Native::new(&routine, &mut windows, &[]) };
        let path = Path {
            pc: at,
            mask,
            reconverge: NEVER,
        };
        let standing = Standing {
            path,
            alive: &mut mask.clone(),
            stack: &mut Vec::new(),
            is_split: false,
            pending: &mut 0,
        };
        if let Some(stay) = native.run(
            &mut frame,
            standing,
            &mut [],
            &code.functional.before,
            1 << 20,
        ) {
            counted_idle += stay.idle;
            at = stay.path.pc;
        }
        if at < end {
            // What is left to the interpreter.
            counted_idle += step(&code, &insts[at as usize], &mut frame, mask);
            at += 1;
        }
    }
    for (slot, (found, wanted)) in found.narrow.iter().zip(&wanted.narrow).enumerate() {
        prop_assert_eq!(found, wanted, "narrow {} after {:#?}", slot, insts);
    }
    for (slot, (found, wanted)) in found.wide.iter().zip(&wanted.wide).enumerate() {
        prop_assert_eq!(found, wanted, "wide {} after {:#?}", slot, insts);
    }
    prop_assert_eq!(found.predicates, wanted.predicates, "{:#?}", insts);
    prop_assert_eq!(counted_idle, idle, "{:#?}", insts);
    Ok(())
}

/// Cases of the random tests; a long run sets more.
fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PAGEMILL_NATIVE_CASES").ok();
    ProptestConfig {
        cases: cases.and_then(|text| text.parse().ok()).unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn every_lane_operation_gives_the_same_bits((start, constants) in registers(), draw in draw(), mask in 1u32..) {
        for &op in Op::LANE_OPERATIONS {
            for mask in [mask, FULL] {
                check(&[inst(op, &draw)], &start, &constants, mask)?;
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn every_rounding_mode_gives_the_same_bits((start, constants) in registers(), draw in draw(), mask in 1u32..) {
        for number in 0..ROUNDED {
            let (_, count) = rounded(number);
            let (_, [dst, operands @ ..], constant, _) = &draw;
            let operand = |at: usize| match at < count && constant[at] {
                true => operands[at] | CONSTANT_BIT,
                false => operands[at],
            };
            let inst = Inst {
                dst: *dst,
                a: operand(0),
                b: operand(1),
                c: operand(2),
                aux: number as u32,
                ..inst(Op::Scalar, &draw)
            };
            for mask in [mask, FULL] {
                check(&[inst], &start, &constants, mask)?;
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn stretches_of_lane_operations_give_the_same_bits(
        (start, constants) in registers(),
        draws in prop::collection::vec(draw(), 1..40),
        mask in prop_oneof![Just(FULL), 1u32..],
    ) {
        let insts: Vec<Inst> = draws
            .iter()
            .map(|draw| inst(*draw.0.get(Op::LANE_OPERATIONS), draw))
            .collect();
        check(&insts, &start, &constants, mask)?;
    }
}

/// No mapping of this process may be changed and executed.
#[cfg(target_os = "linux")]
#[test]
fn code_is_never_writable() {
    let code = code_of(&[Inst::new(Op::Add32)]);
    let routine = Routine::new(&code, &code.functional, Purpose::Functional);
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux shows it");
    let modes = maps.lines().filter_map(|line| line.split(' ').nth(1));
    assert!(
        !modes.into_iter().any(|mode| mode.starts_with("rwx")),
        "{maps}"
    );
    drop(routine);
}
