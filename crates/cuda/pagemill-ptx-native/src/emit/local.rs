//! Local memory: word `w` of all lanes is one line, so lanes that mean the same offset move whole lines.

use crate::assembler::encode::{ADD, CMP, Condition, Operand, RAX, RCX, RDI, Width, at};
use crate::emit::access::Access;
use crate::emit::emitter::{Emitter, memory_of};
use crate::emit::vectors::*;
use crate::run::context::fields;

/// Bytes of a line, for each byte of a lane: its logarithm.
const LINE_SHIFT: u8 = 5;

impl Emitter<'_> {
    /// A load or store of 32-bit registers at one offset of all lanes; others are the interpreter's.
    pub(crate) fn in_local(&mut self, access: &Access) {
        if access.address.is_constant() {
            let place = memory_of(access.address);
            self.asm.load(access.width(), RAX, place);
        } else {
            self.first_address(access);
            self.broadcast(access, access.temporaries[1]);
            self.compare_addresses(access, false);
            self.differs(access);
            self.asm.jump_if(Condition::NotEqual, access.slow);
        }
        if access.offset != 0 {
            self.asm
                .arithmetic_imm(ADD, access.width(), RAX, access.offset);
        }
        // An aligned offset does not wrap around where its last byte is computed.
        let last = i32::from(access.lane_bytes()) - 1;
        self.asm.test_imm(RAX, last as u32);
        self.asm.jump_if(Condition::NotEqual, access.slow);
        self.asm.mov(access.width(), RCX, RAX);
        self.asm.arithmetic_imm(ADD, Width::W64, RCX, last);
        self.asm
            .arithmetic_mem(CMP, Width::W64, RCX, at(RDI, fields::LOCAL_BYTES));
        self.asm.jump_if(Condition::AboveEqual, access.slow);
        self.asm.mov(access.width(), RCX, RAX);
        self.asm.shift_left(RCX, LINE_SHIFT);
        self.asm
            .arithmetic_mem(ADD, Width::W64, RCX, at(RDI, fields::LOCAL));
        let op = match access.is_load {
            true => VMOVDQU32_LOAD,
            false => VMOVDQU32_STORE,
        };
        for (word, line) in access.data.iter().enumerate() {
            for (part, &register) in line.iter().enumerate() {
                let place = at(RCX, 128 * word as i32 + 64 * part as i32);
                let masking = access.data_masking(part);
                self.asm
                    .vector(op, register, 0, Operand::Memory(place), masking);
            }
        }
    }
}
