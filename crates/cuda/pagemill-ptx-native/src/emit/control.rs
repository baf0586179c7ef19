//! Where lanes go: branches, ends, meeting points, barriers.
//!
//! The reconvergence stack is the interpreter's own ([`Path`](pagemill_ptx_ir::code::path::Path), of its `Warp`).
//! Compiled code pushes and pops paths itself as long as there is room and no lane of the warp goes its own ways; the
//! interpreter does what remains.

use crate::assembler::encode::{
    ADD, AND, CMP, Condition, Label, R12, RAX, RBP, RBX, RCX, RDI, SUB, Width, at,
};
use crate::emit::cache::Entry;
use crate::emit::emitter::{Emitter, Stub};
use crate::emit::paths::{BARRIER, ENDED, PAUSE, Split, Stretch, WAIT, count_threads, set_mask};
use crate::run::context::fields;
use crate::run::purpose::Purpose;
use Width::{W32, W64};
use pagemill_ptx_ir::op::Inst;
use pagemill_ptx_ir::op::NEVER;

impl Emitter<'_> {
    /// Counts `stretch` as executed.
    pub(crate) fn count_stretch(&mut self, stretch: Stretch) {
        stretch.count(&mut self.asm, self.purpose == Purpose::Timed);
    }

    pub(crate) fn branch(&mut self, inst: &Inst) {
        let target = inst.aux as usize;
        let stretch = self.stretch(self.pc + 1);
        let flush = self.dirty(target);
        let label = self.asm.label();
        if inst.guard == Inst::UNGUARDED {
            self.edge(label, &flush, stretch, target);
            return;
        }
        self.stubs.push(Stub::Edge {
            label,
            flush,
            stretch,
            target,
        });
        self.by_lanes(inst, label);
    }

    /// Goes to `all` if the guard holds for all active lanes, to a split if for some, and on if for none.
    fn by_lanes(&mut self, inst: &Inst, all: Label) {
        self.guard(inst, RAX);
        if self.is_partial {
            self.asm.arithmetic(CMP, W32, RAX, RBX);
        } else {
            self.asm.arithmetic_imm(CMP, W32, RAX, -1);
        }
        self.asm.jump_if(Condition::Equal, all);
        let split = Split {
            label: self.asm.label(),
            exit: self.exit(),
            flush: self.dirty(self.pc),
            stretch: self.stretch(self.pc + 1),
            pc: self.pc,
            inst: *inst,
        };
        self.asm.test(RAX, RAX);
        self.asm.jump_if(Condition::NotEqual, split.label);
        self.stubs.push(Stub::Split(split));
        if inst.guard & Inst::CONTINUES == 0 {
            self.asm.load(W32, RAX, at(RDI, fields::LANES));
            self.asm.add_to_memory(at(RDI, fields::IDLE), RAX);
        }
    }

    /// A taken branch. The allowance is looked at where the interpreter looks at it.
    pub(crate) fn edge(&mut self, label: Label, flush: &[Entry], stretch: Stretch, target: usize) {
        self.asm.bind(label);
        self.store_all(flush);
        self.count_stretch(stretch);
        let pause = self.asm.label();
        if let Some(head) = self.heads[target] {
            self.asm.jump_if(Condition::LessEqual, pause);
            self.asm.jump(head);
        }
        self.asm.bind(pause);
        self.asm.mov_imm(RAX, target as u32 | PAUSE);
        self.asm.jump(self.leave);
    }

    pub(crate) fn split(&mut self, split: &Split) {
        self.asm.bind(split.label);
        if split.inst.op == pagemill_ptx_ir::op::Op::Exit {
            self.asm.load(W32, RCX, at(RDI, fields::IS_SPLIT));
            self.asm.test(RCX, RCX);
            self.asm.jump_if(Condition::NotEqual, split.exit);
        } else {
            self.asm.load(W64, RCX, at(RDI, fields::STACK_TOP));
            self.asm
                .arithmetic_mem(CMP, W64, RCX, at(RDI, fields::STACK_LIMIT));
            self.asm.jump_if(Condition::AboveEqual, split.exit);
        }
        self.store_all(&split.flush);
        self.count_stretch(split.stretch);
        if split.inst.guard & Inst::CONTINUES == 0 {
            self.asm.load(W32, RCX, at(RDI, fields::MASK));
            self.asm.arithmetic(SUB, W32, RCX, RAX);
            self.asm.count_ones(RCX, RCX);
            self.asm.add_to_memory(at(RDI, fields::IDLE), RCX);
        }
        count_threads(&mut self.asm);
        match split.inst.op {
            pagemill_ptx_ir::op::Op::Exit => self.end_some(split),
            _ => self.diverge(split),
        }
    }

    /// The lanes in EAX go to the branch's target, the others on: as `Warp::diverge` of the interpreter has it.
    fn diverge(&mut self, split: &Split) {
        let Inst {
            aux: target,
            reconverge,
            ..
        } = split.inst;
        let next = split.pc as u32 + 1;
        let is_nested = self.asm.label();
        self.asm.load(W64, RBP, at(RDI, fields::STACK_TOP));
        self.asm.load(W32, RCX, at(RDI, fields::RECONVERGE));
        self.asm.arithmetic_imm(CMP, W32, RCX, reconverge as i32);
        self.asm.jump_if(Condition::Equal, is_nested);
        self.asm.store(W32, at(RBP, fields::PATH_RECONVERGE), RCX);
        self.asm.load(W32, RCX, at(RDI, fields::MASK));
        self.push_lanes(reconverge);
        self.asm.bind(is_nested);
        self.asm.load(W32, RCX, at(RDI, fields::MASK));
        self.asm.arithmetic(SUB, W32, RCX, RAX);
        let to = if target == reconverge {
            self.asm.mov(W32, RAX, RCX);
            next
        } else {
            if next != reconverge {
                self.push_path(next, reconverge);
            }
            target
        };
        self.asm.store(W64, at(RDI, fields::STACK_TOP), RBP);
        set_mask(&mut self.asm);
        self.asm.mov_imm(RCX, reconverge);
        self.asm.store(W32, at(RDI, fields::RECONVERGE), RCX);
        self.asm.mov_imm(RAX, to);
        self.asm.arithmetic_imm(CMP, W64, R12, 0);
        self.asm.jump_if(Condition::LessEqual, self.paths.pause);
        self.asm.jump(self.paths.resume);
    }

    /// Pushes the lanes in ECX, which go on at `pc` up to `reconverge`.
    fn push_path(&mut self, pc: u32, reconverge: u32) {
        self.asm.store(W32, at(RBP, fields::PATH_MASK), RCX);
        self.asm.mov_imm(RCX, reconverge);
        self.asm.store(W32, at(RBP, fields::PATH_RECONVERGE), RCX);
        self.push_at(pc);
    }

    /// Pushes the lanes in ECX, which go on at `pc` up to where the path says already.
    fn push_lanes(&mut self, pc: u32) {
        self.asm.store(W32, at(RBP, fields::PATH_MASK), RCX);
        self.push_at(pc);
    }

    fn push_at(&mut self, pc: u32) {
        self.asm.mov_imm(RCX, pc);
        self.asm.store(W32, at(RBP, fields::PATH_PC), RCX);
        self.asm.arithmetic_imm(ADD, W64, RBP, fields::PATH_BYTES);
    }

    /// A path that ends here makes way for the one below it.
    pub(crate) fn reconverge(&mut self) {
        let ends = self.asm.label();
        self.asm.load(W32, RAX, at(RDI, fields::RECONVERGE));
        self.asm.arithmetic_imm(CMP, W32, RAX, self.pc as i32);
        self.asm.jump_if(Condition::Equal, ends);
        self.stubs.push(Stub::NextPath {
            label: ends,
            flush: self.dirty(self.pc),
            pc: self.pc,
        });
    }

    pub(crate) fn next_path(&mut self, label: Label, flush: &[Entry], pc: usize) {
        self.asm.bind(label);
        self.store_all(flush);
        self.fall_back(pc as u32);
        self.asm.jump(self.paths.next);
    }

    fn fall_back(&mut self, answer: u32) {
        self.asm.mov_imm(RAX, answer);
        self.asm.store(W32, at(RDI, fields::FALLBACK), RAX);
    }

    /// Lanes end.
    pub(crate) fn end_lanes(&mut self, inst: &Inst) {
        let all = self.asm.label();
        let (stretch, exit) = (self.stretch(self.pc + 1), self.exit());
        if inst.guard == Inst::UNGUARDED {
            self.end_all(all, exit, stretch, self.pc);
            self.cache.clear();
            return;
        }
        self.stubs.push(Stub::EndAll {
            label: all,
            exit,
            stretch,
            pc: self.pc,
        });
        self.by_lanes(inst, all);
    }

    /// All active lanes end at `pc`. A branch to the exit counts for both.
    pub(crate) fn end_all(&mut self, label: Label, exit: Label, stretch: Stretch, pc: usize) {
        self.asm.bind(label);
        self.asm.load(W32, RCX, at(RDI, fields::IS_SPLIT));
        self.asm.test(RCX, RCX);
        self.asm.jump_if(Condition::NotEqual, exit);
        self.count_stretch(stretch);
        if let Some(from) = self.stream.insts[pc].aux.checked_sub(1) {
            let to = from + 1;
            self.count_stretch(Stretch { from, to });
        }
        self.asm.load(W32, RAX, at(RDI, fields::MASK));
        self.end_in_eax();
        self.fall_back(pc as u32 | ENDED);
        self.asm.jump(self.paths.next);
    }

    /// The lanes in EAX end.
    fn end_in_eax(&mut self) {
        self.asm.mov(W32, RCX, RAX);
        self.asm.not(RCX);
        self.asm
            .arithmetic_mem(AND, W32, RCX, at(RDI, fields::ALIVE));
        self.asm.store(W32, at(RDI, fields::ALIVE), RCX);
    }

    /// Some of the active lanes end, those in EAX.
    fn end_some(&mut self, split: &Split) {
        if split.inst.aux != 0 {
            self.asm.count_ones(RCX, RAX);
            self.asm.add_to_memory(at(RDI, fields::THREADS), RCX);
        }
        self.end_in_eax();
        self.asm.mov(W32, RCX, RAX);
        self.asm.load(W32, RAX, at(RDI, fields::MASK));
        self.asm.arithmetic(SUB, W32, RAX, RCX);
        set_mask(&mut self.asm);
        self.asm.mov_imm(RAX, split.pc as u32 + 1);
        self.asm.jump(self.paths.resume);
    }

    /// Leaves the code behind a barrier. What becomes of it is the block's business.
    pub(crate) fn barrier(&mut self) {
        self.flush(self.pc);
        self.count_stretch(self.stretch(self.pc + 1));
        self.asm.mov_imm(RAX, (self.pc as u32 + 1) | BARRIER);
        self.asm.jump(self.leave);
        self.cache.clear();
    }

    /// Leaves the code behind a wait of a timed run if loads that are needed may not have arrived.
    pub(crate) fn wait(&mut self, inst: &Inst) {
        let label = self.asm.label();
        let slots = self.stream.waits[inst.aux as usize];
        let slots = self.table.constant64(slots);
        self.asm.load(W64, RAX, at(RDI, fields::PENDING));
        self.asm.arithmetic_mem(AND, W64, RAX, slots);
        self.asm.jump_if(Condition::NotEqual, label);
        self.stubs.push(Stub::Wait {
            label,
            flush: self.dirty(self.pc),
            stretch: self.stretch(self.pc + 1),
            pc: self.pc,
        });
    }

    /// Ends the stay before instruction `pc + 1`, which needs the slots in RAX.
    pub(crate) fn end_for_slots(
        &mut self,
        label: Label,
        flush: &[Entry],
        stretch: Stretch,
        pc: usize,
    ) {
        self.asm.bind(label);
        self.store_all(flush);
        self.asm.store(W64, at(RDI, fields::AWAITED), RAX);
        self.asm.load(W64, RCX, at(RDI, fields::PENDING));
        self.asm.arithmetic(SUB, W64, RCX, RAX);
        self.asm.store(W64, at(RDI, fields::PENDING), RCX);
        self.count_stretch(stretch);
        self.asm.mov_imm(RAX, (pc as u32 + 1) | WAIT);
        self.asm.jump(self.leave);
    }
}

const _: () = assert!(NEVER == u32::MAX, "it is compared as a signed number");
