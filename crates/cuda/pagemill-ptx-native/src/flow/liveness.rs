//! Which registers hold values that will still be read.
//!
//! A thread-wise question: where a warp diverges, the lanes that are elsewhere keep their values in memory, which
//! compiled code never overwrites for them.

use pagemill_ptx_ir::code::{AccessKind, AddressOperand, Bank, Code, SINK, Stream, WarpWide};
use pagemill_ptx_ir::line::CONSTANT_BIT;
use pagemill_ptx_ir::op::{Inst, Op};

/// A register line of a warp that compiled code may hold in vector registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Narrow(u16),
    Wide(u16),
}

impl Slot {
    /// The slot that an operand of `bank` names, unless it is a constant or a predicate.
    pub(crate) fn of(bank: Bank, operand: u16) -> Option<Self> {
        match bank {
            _ if operand & CONSTANT_BIT != 0 => None,
            Bank::Narrow => Some(Self::Narrow(operand)),
            Bank::Wide => Some(Self::Wide(operand)),
            Bank::Predicate | Bank::None => None,
        }
    }
}

/// What an instruction does with registers.
struct Effect {
    reads: Reads,
    writes: Vec<Slot>,
}

enum Reads {
    Slots(Vec<Slot>),
    /// Perhaps any.
    All,
}

/// For each instruction of a stream, the registers that are read from there on before they are written.
pub(crate) struct Liveness {
    words: usize,
    narrow: usize,
    /// `words` words for each instruction.
    before: Vec<u64>,
}

impl Liveness {
    pub(crate) fn new(code: &Code, stream: &Stream) -> Self {
        let (narrow, wide) = (usize::from(code.slots_narrow), usize::from(code.slots_wide));
        let words = (narrow + wide).div_ceil(64).max(1);
        let mut liveness = Self {
            words,
            narrow,
            before: vec![0; words * stream.insts.len()],
        };
        let effects: Vec<Effect> = stream.insts.iter().map(|inst| effect(code, inst)).collect();
        let insts = stream.insts.iter().enumerate();
        let successors: Vec<Vec<usize>> = insts
            .map(|(pc, inst)| successors(stream, pc, inst))
            .collect();
        while liveness.sweep(stream, &effects, &successors) {}
        liveness
    }

    /// Whether `slot` is read before it is written, from instruction `pc` on.
    pub(crate) fn is_live(&self, pc: usize, slot: Slot) -> bool {
        let bit = self.bit(slot);
        self.before
            .get(pc * self.words + bit / 64)
            .is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    fn bit(&self, slot: Slot) -> usize {
        match slot {
            Slot::Narrow(slot) => usize::from(slot),
            Slot::Wide(slot) => self.narrow + usize::from(slot),
        }
    }

    /// One pass from the end to the beginning; whether anything changed.
    fn sweep(&mut self, stream: &Stream, effects: &[Effect], successors: &[Vec<usize>]) -> bool {
        let mut is_changed = false;
        let mut live = vec![0; self.words];
        for (pc, inst) in stream.insts.iter().enumerate().rev() {
            live.fill(0);
            for &next in &successors[pc] {
                let from = next * self.words;
                let next = self.before.get(from..from + self.words).unwrap_or_default();
                live.iter_mut()
                    .zip(next)
                    .for_each(|(live, next)| *live |= next);
            }
            // A guarded write leaves lanes as they were.
            if inst.guard == Inst::UNGUARDED {
                for &slot in &effects[pc].writes {
                    let bit = self.bit(slot);
                    live[bit / 64] &= !(1 << (bit % 64));
                }
            }
            match &effects[pc].reads {
                Reads::All => live.fill(u64::MAX),
                Reads::Slots(slots) => {
                    for &slot in slots {
                        let bit = self.bit(slot);
                        live[bit / 64] |= 1 << (bit % 64);
                    }
                }
            }
            let own = &mut self.before[pc * self.words..(pc + 1) * self.words];
            is_changed |= *own != *live;
            own.copy_from_slice(&live);
        }
        is_changed
    }
}

/// Where a thread may go after instruction `pc`.
fn successors(stream: &Stream, pc: usize, inst: &Inst) -> Vec<usize> {
    let falls = match inst.op {
        Op::Branch | Op::BranchTable | Op::Exit => inst.guard != Inst::UNGUARDED,
        _ => true,
    };
    let mut all = Vec::new();
    if falls {
        all.push(pc + 1);
    }
    match inst.op {
        Op::Branch => all.push(inst.aux as usize),
        Op::BranchTable => {
            let targets = &stream.tables[inst.aux as usize];
            all.extend(targets.iter().map(|&target| target as usize));
        }
        _ => {}
    }
    all
}

fn effect(code: &Code, inst: &Inst) -> Effect {
    let some = |reads: Vec<Option<Slot>>, writes: Vec<Option<Slot>>| Effect {
        reads: Reads::Slots(reads.into_iter().flatten().collect()),
        writes: writes.into_iter().flatten().collect(),
    };
    if inst.op.is_lane_operation() {
        let (operands, result) = inst.op.banks();
        let names = [inst.a, inst.b, inst.c];
        let reads = operands.iter().zip(names);
        return some(
            reads.map(|(&bank, name)| Slot::of(bank, name)).collect(),
            vec![Slot::of(result, inst.dst)],
        );
    }
    match inst.op {
        op if has_no_lines(op) => some(Vec::new(), Vec::new()),
        Op::BranchTable => some(vec![Slot::of(Bank::Narrow, inst.a)], Vec::new()),
        Op::Barrier
            if code
                .barriers
                .get(inst.aux as usize)
                .is_some_and(|barrier| barrier.reduction.is_none()) =>
        {
            let barrier = &code.barriers[inst.aux as usize];
            let operands = [Some(barrier.id), barrier.threads].into_iter().flatten();
            some(
                operands
                    .map(|operand| Slot::of(Bank::Narrow, operand))
                    .collect(),
                Vec::new(),
            )
        }
        Op::WarpWide if let Some(wide) = code.warp_wide.get(inst.aux as usize) => {
            let narrow = |name: u16| Slot::of(Bank::Narrow, name);
            let mut reads = vec![wide.members.and_then(narrow)];
            match wide.kind {
                WarpWide::MatchAny64 | WarpWide::MatchAll64 => {
                    reads.push(Slot::of(Bank::Wide, wide.a));
                }
                WarpWide::MatchAny32 | WarpWide::MatchAll32 | WarpWide::Redux(_) => {
                    reads.push(narrow(wide.a));
                }
                WarpWide::ShuffleUp
                | WarpWide::ShuffleDown
                | WarpWide::ShuffleButterfly
                | WarpWide::ShuffleIndex => reads.extend([wide.a, wide.b, wide.c].map(narrow)),
                _ => {}
            }
            some(reads, vec![narrow(wide.dst)])
        }
        Op::Load | Op::Store => access(code, inst, &some),
        Op::Scalar => {
            let scalar = &code.scalars[inst.aux as usize];
            let operands = scalar.operands.iter().zip([inst.a, inst.b, inst.c]);
            some(
                operands.map(|(&bank, name)| Slot::of(bank, name)).collect(),
                vec![Slot::of(scalar.result, inst.dst)],
            )
        }
        _ => Effect {
            reads: Reads::All,
            writes: Vec::new(),
        },
    }
}

/// Whether an operation reads and writes no lines of registers; predicates are kept in memory.
fn has_no_lines(op: Op) -> bool {
    use Op::{Branch, Exit, Fence, Nop, PredicateLogic, Reconverge, Wait};
    matches!(
        op,
        Nop | Fence | Branch | Reconverge | Wait | PredicateLogic | Exit
    )
}

fn access(
    code: &Code,
    inst: &Inst,
    some: &dyn Fn(Vec<Option<Slot>>, Vec<Option<Slot>>) -> Effect,
) -> Effect {
    let memory = &code.memory[inst.aux as usize];
    let address = match memory.address {
        AddressOperand::Narrow(operand) => Slot::of(Bank::Narrow, operand),
        AddressOperand::Wide(operand) => Slot::of(Bank::Wide, operand),
    };
    let bank = if memory.wide {
        Bank::Wide
    } else {
        Bank::Narrow
    };
    let data = memory.registers[..usize::from(memory.count)]
        .iter()
        .filter(|&&register| register != SINK)
        .map(|&register| Slot::of(bank, register));
    match memory.kind {
        AccessKind::Load => some(vec![address], data.collect()),
        _ => some(data.chain([address]).collect(), Vec::new()),
    }
}
