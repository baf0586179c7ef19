//! Stores of one or two bytes a lane at places of their own: there is no vector instruction for so few bytes.

use crate::assembler::encode::{
    ADD, AND, Condition, Mem, Operand, RAX, RBP, RBX, RCX, RDI, RDX, RSI, SUB, Width, Zmm, at,
};
use crate::emit::access::Access;
use crate::emit::emitter::Emitter;
use crate::emit::vectors::*;
use crate::run::context::fields;

impl Emitter<'_> {
    /// Stores lane by lane, lowest first, at the offsets in `indices` from RCX.
    pub(crate) fn scatter_short(&mut self, access: &Access, indices: &[Zmm]) {
        let vectors = indices.iter().chain(&access.data[0]);
        for (number, &vector) in vectors.enumerate() {
            let place = at(RDI, fields::SCRATCH + 64 * number as i32);
            self.op1_store(vector, place);
        }
        let (offset_width, offset_scale) = match access.has_wide_addresses() {
            true => (Width::W64, 3),
            false => (Width::W32, 2),
        };
        let of_lane = |scale: u8, disp: i32| Mem {
            index: Some(RAX.0),
            scale,
            ..at(RDI, fields::SCRATCH + disp)
        };
        self.asm.push(RSI);
        self.asm.push(RDX);
        match access.is_masked {
            true => self.asm.mov(Width::W32, RBP, RBX),
            false => self.asm.mov_imm(RBP, u32::MAX),
        }
        let next = self.asm.label();
        self.asm.bind(next);
        self.asm.trailing_zeros(RAX, RBP);
        self.asm.load(offset_width, RSI, of_lane(offset_scale, 0));
        self.asm.arithmetic(ADD, Width::W64, RSI, RCX);
        let values = 64 * indices.len() as i32;
        self.asm.load(Width::W32, RDX, of_lane(2, values));
        self.asm.store_short(access.element_bytes, at(RSI, 0), RDX);
        // Without the lowest lane.
        self.asm.mov(Width::W32, RAX, RBP);
        self.asm.arithmetic_imm(SUB, Width::W32, RAX, 1);
        self.asm.arithmetic(AND, Width::W32, RBP, RAX);
        self.asm.jump_if(Condition::NotEqual, next);
        self.asm.pop(RDX);
        self.asm.pop(RSI);
    }

    fn op1_store(&mut self, vector: Zmm, place: Mem) {
        self.op1(VMOVDQU64_STORE, vector, Operand::Memory(place));
    }
}
