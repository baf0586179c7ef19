//! Accesses of timed runs that the timing model decides about: the code finds out where the lanes go, and leaves.

use crate::assembler::encode::{Condition, RAX, RBX, RCX, RDI, Width, at};
use crate::emit::access::Access;
use crate::emit::cache::Name;
use crate::emit::emitter::{Emitter, Stub};
use crate::emit::paths::ANNOUNCE;
use crate::run::context::fields;
use Width::{W32, W64};
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{AddressOperand, MemoryInst};
use pagemill_ptx_ir::op::Inst;

impl Emitter<'_> {
    /// Whether [`Emitter::announce`] can do this one.
    pub(crate) fn can_announce(&self, inst: &Inst) -> bool {
        let memory = &self.code.memory[inst.aux as usize];
        let lane_bytes = memory.lane_bytes();
        !memory.untimed
            && memory.space != Space::Local
            && matches!(memory.address, AddressOperand::Wide(_))
            && lane_bytes.is_power_of_two()
            && lane_bytes <= 32
            && self.is_in_reach(memory)
    }

    /// Describes an access whose lanes lie in a row or at one place, and leaves the code before it. The interpreter
    /// describes all others.
    pub(crate) fn announce(&mut self, inst: &Inst) {
        let memory = self.code.memory[inst.aux as usize].clone();
        self.flush(self.pc);
        self.begin(inst);
        let access = self.prepare_announced(&memory);
        if inst.guard != Inst::UNGUARDED {
            self.asm.test(RBX, RBX);
            self.asm.jump_if(Condition::Equal, access.done);
        }
        if access.address.is_constant() {
            let place = crate::emit::emitter::memory_of(access.address);
            self.asm.load(W64, RAX, place);
            self.describe(&access, false);
        } else {
            self.describe_pattern(&access);
        }
        if access.is_masked {
            self.asm.store(W32, at(RDI, fields::ANNOUNCED_MASK), RBX);
        } else {
            self.asm.mov_imm(RAX, u32::MAX);
            self.asm.store(W32, at(RDI, fields::ANNOUNCED_MASK), RAX);
        }
        self.count_idle(inst);
        self.count_stretch(self.stretch(self.pc + 1));
        self.asm.mov_imm(RAX, self.pc as u32 | ANNOUNCE);
        self.asm.jump(self.leave);
        self.release(&access.temporaries);
        self.cache.clear();
        self.asm.bind(access.done);
        // Here everything is in memory: no lane takes part, or the interpreter has performed the access.
        self.end(inst);
        if self.can_access(inst) {
            self.perform(inst, &memory);
        }
    }

    /// Performs the access that was announced when the code is entered for it, and goes on.
    fn perform(&mut self, inst: &Inst, memory: &MemoryInst) {
        let (entry, skipped, together) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.asm.jump(skipped);
        self.asm.bind(entry);
        self.due[self.pc] = Some(entry);
        self.begin(inst);
        let mut access = self.prepare(memory);
        // The address that was announced is that with the offset.
        access.offset = 0;
        self.asm.load(W64, RAX, at(RDI, fields::ANNOUNCED_FIRST));
        self.asm.load(W32, RCX, at(RDI, fields::ANNOUNCED_IS_ROW));
        self.asm.test(RCX, RCX);
        self.perform_pattern(&access);
        self.finish_access(memory, &access);
        self.restore_mask(inst);
        self.asm.bind(together);
        self.stubs.push(Stub::Enter {
            label: skipped,
            load: self.cache.entries().to_vec(),
            resume: together,
        });
    }

    /// Moves the data of a row, or of one place if the flags say zero.
    fn perform_pattern(&mut self, access: &Access) {
        if !access.is_load {
            self.asm.jump_if(Condition::Equal, access.slow);
            return self.perform_row(access);
        }
        let (one_place, moved) = (self.asm.label(), self.asm.label());
        self.asm.jump_if(Condition::Equal, one_place);
        self.perform_row(access);
        self.asm.jump(moved);
        self.asm.bind(one_place);
        self.load_one_place(access);
        self.asm.bind(moved);
    }

    fn perform_row(&mut self, access: &Access) {
        if access.is_masked && access.data.len() > 1 {
            self.asm.jump(access.slow);
            return;
        }
        self.locate(access, fields::WINDOW_BLOCK_END);
        self.move_row(access);
    }

    fn prepare_announced(&mut self, memory: &MemoryInst) -> Access {
        let address = Name::of_address(memory);
        let line = self.line(address, true);
        let temporaries = self.take_line::<6>();
        if self.is_masked && !address.is_constant() {
            // The first active lane's address is read from memory.
            self.clean(address);
        }
        let mut access = self.access_at(memory, address);
        access.addresses = line.to_vec();
        access.data = vec![Vec::new(); usize::from(memory.count)];
        access.temporaries = temporaries;
        access.slow = self.exit();
        access
    }

    fn describe_pattern(&mut self, access: &Access) {
        let (other, known) = (self.asm.label(), self.asm.label());
        self.expect_row(access, other);
        self.describe(access, true);
        self.asm.jump(known);
        self.asm.bind(other);
        self.expect_one_place(access, access.slow);
        self.describe(access, false);
        self.asm.bind(known);
    }

    /// Notes the address in RAX, without its offset.
    fn describe(&mut self, access: &Access, is_row: bool) {
        let end = match is_row {
            true => fields::WINDOW_BLOCK_END,
            false => fields::WINDOW_LANE_END,
        };
        self.locate(access, end);
        self.asm.store(W64, at(RDI, fields::ANNOUNCED_FIRST), RAX);
        self.asm.mov_imm(RAX, u32::from(is_row));
        self.asm.store(W32, at(RDI, fields::ANNOUNCED_IS_ROW), RAX);
    }
}
