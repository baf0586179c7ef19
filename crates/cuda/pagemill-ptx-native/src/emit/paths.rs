//! What all branches of compiled code share: where it goes on with other lanes, and what it returns.

use crate::assembler::encode::{
    ADD, AND, Assembler, CMP, Condition, Label, Mask, Mem, OR, R12, RAX, RBP, RBX, RCX, RDI, SUB,
    Width, at,
};
use crate::emit::cache::Entry;
use crate::run::context::fields;
use Width::{W32, W64};
use pagemill_ptx_ir::op::Inst;

/// Added to the position that compiled code returns when the allowance is used up.
pub(crate) const PAUSE: u32 = 1 << 31;
/// Added when all lanes have ended.
pub(crate) const ENDED: u32 = 1 << 30;
/// Added when the instruction before the position is a barrier that the lanes have arrived at.
pub(crate) const BARRIER: u32 = 1 << 29;
/// Added when the instruction before the position waits for loads that may not have arrived.
pub(crate) const WAIT: u32 = 1 << 28;
/// Added when the access at the position is announced, and counted.
pub(crate) const ANNOUNCE: u32 = 1 << 27;

/// Masks of the lanes that take part: of 16 narrow lanes the first and third, of 8 wide lanes each.
pub(crate) const ACTIVE: [Mask; 4] = [Mask(1), Mask(2), Mask(3), Mask(4)];

/// [`ACTIVE`] from the bits in RBX.
pub(crate) fn spread_mask(asm: &mut Assembler) {
    asm.mask_from(ACTIVE[0], RBX);
    for (mask, count) in ACTIVE.into_iter().zip([0, 8, 16, 24]).skip(1) {
        asm.mask_shift_right(mask, ACTIVE[0], count);
    }
}

/// PTX instructions in a row, by number: `from` is the first, `to` the one behind the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl Stretch {
    /// Counts it as executed. Uses RCX and RBP if its costs count; the flags say whether anything is left until the pause.
    pub(crate) fn count(self, asm: &mut Assembler, has_costs: bool) {
        if has_costs && self.from != self.to {
            asm.load(W64, RBP, at(RDI, fields::COSTS));
            for part in fields::EACH_COST {
                let place = |number: u32| at(RBP, ((number as i32) << fields::COST_SHIFT) + part);
                asm.load(W64, RCX, place(self.to));
                asm.arithmetic_mem(SUB, W64, RCX, place(self.from));
                asm.add_to_memory(at(RDI, fields::COST + part), RCX);
            }
        }
        asm.arithmetic_imm(SUB, W64, R12, (self.to - self.from) as i32);
    }
}

/// Routines that all branches share.
#[derive(Clone, Copy)]
pub(crate) struct Paths {
    /// Goes on at the position in EAX with the lanes of the context's mask.
    pub(crate) resume: Label,
    /// Pauses there.
    pub(crate) pause: Label,
    /// Goes on with the topmost path of the stack; returns the context's fallback if there is none.
    pub(crate) next: Label,
    has_costs: bool,
}

/// Some of the active lanes branch or end: those in EAX.
pub(crate) struct Split {
    pub(crate) label: Label,
    /// Where to go if the interpreter must do it.
    pub(crate) exit: Label,
    pub(crate) flush: Vec<Entry>,
    /// What was executed up to here.
    pub(crate) stretch: Stretch,
    pub(crate) pc: usize,
    pub(crate) inst: Inst,
}

/// Lanes times instructions since the last change of path, to the thread instructions. Uses RCX and RBP.
pub(crate) fn count_threads(asm: &mut Assembler) {
    asm.load(W64, RCX, at(RDI, fields::CHECKPOINT));
    asm.arithmetic(SUB, W64, RCX, R12);
    asm.load(W32, RBP, at(RDI, fields::LANES));
    asm.multiply(RCX, RBP);
    asm.add_to_memory(at(RDI, fields::THREADS), RCX);
    asm.store(W64, at(RDI, fields::CHECKPOINT), R12);
}

/// Makes the lanes in EAX the active ones. Uses RCX.
pub(crate) fn set_mask(asm: &mut Assembler) {
    asm.store(W32, at(RDI, fields::MASK), RAX);
    asm.count_ones(RCX, RAX);
    asm.store(W32, at(RDI, fields::LANES), RCX);
}

/// The code counts from the beginning of a region: adds what lies before position EAX, and leaves its place in RCX.
fn look_up(asm: &mut Assembler, has_costs: bool) {
    asm.mov(W32, RCX, RAX);
    asm.shift_left(RCX, fields::PLACE_SHIFT);
    asm.arithmetic_mem(ADD, W64, RCX, at(RDI, fields::PLACES));
    asm.load(W32, RBP, at(RCX, fields::PLACE_AHEAD));
    asm.arithmetic(ADD, W64, R12, RBP);
    if has_costs {
        refund(asm);
    }
}

/// Takes off the costs of the RBP instructions from the beginning of the region of the place in RCX. Uses RBX and RBP.
fn refund(asm: &mut Assembler) {
    let nothing = asm.label();
    asm.test(RBP, RBP);
    asm.jump_if(Condition::Equal, nothing);
    asm.push(RAX);
    asm.shift_left(RBP, fields::COST_SHIFT);
    asm.load(W32, RBX, at(RCX, fields::PLACE_BEFORE));
    asm.shift_left(RBX, fields::COST_SHIFT);
    asm.arithmetic_mem(ADD, W64, RBX, at(RDI, fields::COSTS));
    for part in fields::EACH_COST {
        let first = at(RBX, part);
        asm.load(W64, RAX, first);
        let behind = Mem {
            index: Some(RBP.0),
            ..first
        };
        asm.arithmetic_mem(SUB, W64, RAX, behind);
        asm.add_to_memory(at(RDI, fields::COST + part), RAX);
    }
    asm.pop(RAX);
    asm.bind(nothing);
}

impl Paths {
    pub(crate) fn emit(
        asm: &mut Assembler,
        leave: Label,
        positions: usize,
        has_costs: bool,
    ) -> Self {
        let paths = Self {
            resume: asm.label(),
            pause: asm.label(),
            next: asm.label(),
            has_costs,
        };
        paths.emit_resume(asm, leave);
        asm.bind(paths.pause);
        look_up(asm, has_costs);
        asm.arithmetic_imm(OR, W32, RAX, PAUSE as i32);
        asm.jump(leave);
        paths.emit_next(asm, leave, positions);
        paths
    }

    fn emit_resume(self, asm: &mut Assembler, leave: Label) {
        let (whole, go) = (asm.label(), asm.label());
        asm.bind(self.resume);
        look_up(asm, self.has_costs);
        asm.load(W32, RBX, at(RDI, fields::MASK));
        asm.arithmetic_imm(CMP, W32, RBX, -1);
        asm.jump_if(Condition::Equal, whole);
        spread_mask(asm);
        asm.load(W32, RCX, at(RCX, fields::PLACE_PARTIAL));
        asm.jump(go);
        asm.bind(whole);
        asm.load(W32, RCX, at(RCX, fields::PLACE_WHOLE));
        asm.bind(go);
        asm.test(RCX, RCX);
        asm.jump_if(Condition::Equal, leave);
        asm.arithmetic_mem(ADD, W64, RCX, at(RDI, fields::CODE));
        asm.jump_to(RCX);
    }

    fn emit_next(self, asm: &mut Assembler, leave: Label, positions: usize) {
        let (again, bottom) = (asm.label(), asm.label());
        asm.bind(self.next);
        count_threads(asm);
        asm.bind(again);
        asm.load(W64, RBP, at(RDI, fields::STACK_TOP));
        asm.arithmetic_mem(CMP, W64, RBP, at(RDI, fields::STACK_BOTTOM));
        asm.jump_if(Condition::Equal, bottom);
        asm.arithmetic_imm(SUB, W64, RBP, fields::PATH_BYTES);
        asm.store(W64, at(RDI, fields::STACK_TOP), RBP);
        asm.load(W32, RAX, at(RBP, fields::PATH_MASK));
        asm.arithmetic_mem(AND, W32, RAX, at(RDI, fields::ALIVE));
        asm.jump_if(Condition::Equal, again);
        set_mask(asm);
        asm.load(W32, RCX, at(RBP, fields::PATH_RECONVERGE));
        asm.store(W32, at(RDI, fields::RECONVERGE), RCX);
        asm.load(W32, RAX, at(RBP, fields::PATH_PC));
        asm.arithmetic_imm(CMP, W32, RAX, positions as i32);
        asm.jump_if(Condition::AboveEqual, bottom);
        asm.jump(self.resume);
        asm.bind(bottom);
        asm.load(W32, RAX, at(RDI, fields::FALLBACK));
        asm.jump(leave);
    }
}
