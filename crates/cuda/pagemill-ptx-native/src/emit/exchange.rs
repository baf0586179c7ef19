//! Shuffles and votes of whole warps whose member mask names all lanes. What each lane reads is known beforehand where the
//! offset is a constant, so a shuffle is a permutation. All else is the interpreter's.

use crate::assembler::encode::{CMP, Condition, Operand, RAX, Width, Zmm};
use crate::emit::emitter::{Emitter, predicate};
use crate::emit::lanes::reg;
use crate::emit::vectors::*;
use pagemill_ptx_ir::code::{Bank, Constant, SINK, WarpWide, WarpWideInst};
use pagemill_ptx_ir::line::{CONSTANT_BIT, FULL, LANES};
use pagemill_ptx_ir::op::Inst;

/// What a shuffle by constants does: where each lane reads, and the lanes whose source is inside of their segment.
struct Shuffle {
    sources: [u32; LANES],
    holds: u32,
}

impl Shuffle {
    /// As the PTX manual has it, section `shfl.sync`.
    fn new(kind: WarpWide, offset: u32, clamp: u32) -> Option<Self> {
        let (offset, segment, clamp) = (offset & 31, clamp >> 8 & 31, clamp & 31);
        let mut shuffle = Self {
            sources: [0; LANES],
            holds: 0,
        };
        for (number, source) in (0..).zip(&mut shuffle.sources) {
            let last = number & segment | clamp & !segment;
            let (from, holds) = match kind {
                WarpWide::ShuffleUp => (number.wrapping_sub(offset), number >= last + offset),
                WarpWide::ShuffleDown => (number + offset, number + offset <= last),
                WarpWide::ShuffleButterfly => (number ^ offset, number ^ offset <= last),
                WarpWide::ShuffleIndex => {
                    let from = number & segment | offset & !segment;
                    (from, from <= last)
                }
                _ => return None,
            };
            *source = if holds { from } else { number };
            shuffle.holds |= u32::from(holds) << number;
        }
        Some(shuffle)
    }
}

impl Emitter<'_> {
    /// Whether [`Emitter::exchange`] can do this one here.
    pub(crate) fn can_exchange(&self, inst: &Inst) -> bool {
        let wide = &self.code.warp_wide[inst.aux as usize];
        let members = wide.members.map_or(Some(FULL), |name| self.known(name));
        let is_whole = !self.is_partial && inst.guard == Inst::UNGUARDED && members == Some(FULL);
        is_whole
            && match wide.kind {
                WarpWide::VoteAll
                | WarpWide::VoteAny
                | WarpWide::VoteUniform
                | WarpWide::Ballot
                | WarpWide::ActiveMask
                | WarpWide::Barrier => true,
                _ => self.shuffle_of(wide).is_some(),
            }
    }

    /// The value of a narrow constant that does not depend on the launch.
    fn known(&self, name: u16) -> Option<u32> {
        let index = usize::from(name & !CONSTANT_BIT);
        match (name & CONSTANT_BIT, self.code.constants_narrow.get(index)) {
            (CONSTANT_BIT, Some(Constant::Bits(bits))) => Some(*bits as u32),
            _ => None,
        }
    }

    fn shuffle_of(&self, wide: &WarpWideInst) -> Option<Shuffle> {
        Shuffle::new(wide.kind, self.known(wide.b)?, self.known(wide.c)?)
    }

    pub(crate) fn exchange(&mut self, inst: &Inst) {
        let wide = self.code.warp_wide[inst.aux as usize];
        match wide.kind {
            WarpWide::Barrier => {}
            WarpWide::Ballot | WarpWide::ActiveMask => self.ballot(&wide),
            WarpWide::VoteAll | WarpWide::VoteAny | WarpWide::VoteUniform => self.vote(&wide),
            _ => self.shuffle(&wide),
        }
    }

    fn shuffle(&mut self, wide: &WarpWideInst) {
        let Some(shuffle) = self.shuffle_of(wide) else {
            self.has_failed = true;
            return;
        };
        if wide.dst != SINK {
            let a = self.narrow(wide.a);
            let out = self.take_line::<2>();
            for (&dst, sources) in out.iter().zip(shuffle.sources.chunks_exact(16)) {
                let indices = self.table.vector32(sources);
                self.op1(VMOVDQA64_LOAD, dst, Operand::Memory(indices));
                self.op2(VPERMI2D, dst, a[0], reg(a[1]));
            }
            self.finish(Bank::Narrow, wide.dst, &out, false);
        }
        if wide.dst_predicate != SINK {
            self.asm.mov_imm(RAX, shuffle.holds);
            self.set_predicate(wide.dst_predicate);
        }
    }

    /// The lanes' predicates to EAX.
    fn collect(&mut self, wide: &WarpWideInst) {
        self.asm.load(Width::W32, RAX, predicate(wide.a));
        if wide.negated {
            self.asm.not(RAX);
        }
    }

    fn ballot(&mut self, wide: &WarpWideInst) {
        match wide.kind {
            WarpWide::ActiveMask => self.asm.mov_imm(RAX, FULL),
            _ => self.collect(wide),
        }
        if wide.dst == SINK {
            return;
        }
        let out: [Zmm; 2] = self.take_line();
        for dst in out {
            self.op1(VPBROADCASTD_GPR, dst, Operand::Register(RAX.0));
        }
        self.finish(Bank::Narrow, wide.dst, &out, false);
    }

    fn vote(&mut self, wide: &WarpWideInst) {
        if wide.dst_predicate == SINK {
            return;
        }
        let (holds, done) = (self.asm.label(), self.asm.label());
        self.collect(wide);
        if !matches!(wide.kind, WarpWide::VoteAny) {
            self.asm.arithmetic_imm(CMP, Width::W32, RAX, -1);
            self.asm.jump_if(Condition::Equal, holds);
        }
        if !matches!(wide.kind, WarpWide::VoteAll) {
            self.asm.test(RAX, RAX);
            let condition = match wide.kind {
                WarpWide::VoteAny => Condition::NotEqual,
                _ => Condition::Equal,
            };
            self.asm.jump_if(condition, holds);
        }
        self.asm.mov_imm(RAX, 0);
        self.asm.jump(done);
        self.asm.bind(holds);
        self.asm.mov_imm(RAX, FULL);
        self.asm.bind(done);
        self.set_predicate(wide.dst_predicate);
    }
}
