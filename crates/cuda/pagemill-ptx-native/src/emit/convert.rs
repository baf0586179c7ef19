//! Lane operations that change the type of a value, or take it apart.

use crate::assembler::encode::{Operand, R11, Vector, at};
use crate::assembler::table::{JOIN_LOWER, JOIN_UPPER};
use crate::emit::emitter::{Emitter, K5};
use crate::emit::lanes::reg;
use crate::emit::vectors::*;
use pagemill_ptx_ir::code::Bank;
use pagemill_ptx_ir::op::Inst;

impl Emitter<'_> {
    pub(crate) fn widen(&mut self, inst: &Inst, op: Vector, is_float: bool) {
        let a = match is_float {
            true => self.narrow_float(inst.a),
            false => self.narrow(inst.a),
        };
        let a = self.eights(a);
        let out = self.take_line::<4>();
        for (&dst, &a) in out.iter().zip(&a) {
            self.op1(op, dst, reg(a));
        }
        self.release_eights(a);
        self.finish(Bank::Wide, inst.dst, &out, is_float);
    }

    pub(crate) fn narrow_down(&mut self, inst: &Inst, op: Vector) {
        let a = self.wide_float(inst.a);
        let out = self.take_line::<2>();
        let upper = self.take();
        for (half, &dst) in out.iter().enumerate() {
            self.op1(op, dst, reg(a[2 * half]));
            self.op1(op, upper, reg(a[2 * half + 1]));
            self.insert_upper(dst, dst, upper);
        }
        self.release(&[upper]);
        self.finish(Bank::Narrow, inst.dst, &out, true);
    }

    /// Saturates; NaN becomes the sign bit, as everything does that is too large.
    pub(crate) fn f64_to_s32(&mut self, inst: &Inst) {
        let a = self.wide_float(inst.a);
        let out = self.take_line::<2>();
        let [limit, part, upper] = self.take_line::<3>();
        let largest = self.table.constant64(2_147_483_647f64.to_bits());
        self.op1(VPBROADCASTQ, limit, Operand::Memory(largest));
        for (half, &dst) in out.iter().enumerate() {
            // The second operand is taken where one is NaN.
            self.op2(VMINPD, part, limit, reg(a[2 * half]));
            self.op1(VCVTTPD2DQ, dst, reg(part));
            self.op2(VMINPD, part, limit, reg(a[2 * half + 1]));
            self.op1(VCVTTPD2DQ, upper, reg(part));
            self.insert_upper(dst, dst, upper);
        }
        self.release(&[limit, part, upper]);
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }

    /// Saturates; NaN becomes the sign bit.
    pub(crate) fn f64_to_u32(&mut self, inst: &Inst) {
        let a = self.wide_float(inst.a);
        let out = self.take_line::<2>();
        let [zero, part, upper] = self.take_line::<3>();
        let middle = self.table.constant64(2_147_483_648f64.to_bits());
        self.op2(VPXORQ, zero, zero, reg(zero));
        for (half, &dst) in out.iter().enumerate() {
            for (quarter, to) in [(2 * half, dst), (2 * half + 1, upper)] {
                let a = a[quarter];
                self.op2(VMAXPD, part, zero, reg(a));
                self.compare(VCMPPD, K5, (a, reg(a)), float::UNORDERED);
                self.op2_where(K5, VPBROADCASTQ, part, 0, Operand::Memory(middle));
                self.op1(VCVTTPD2UDQ, to, reg(part));
            }
            self.insert_upper(dst, dst, upper);
        }
        self.release(&[zero, part, upper]);
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }

    /// Saturates; NaN becomes 0.
    pub(crate) fn f32_to_s32(&mut self, inst: &Inst) {
        let a = self.narrow_float(inst.a);
        let out = self.take_line::<2>();
        let limit = self.constant32(2_147_483_648f32.to_bits());
        let largest = self.table.constant32(i32::MAX as u32);
        for (&dst, &a) in out.iter().zip(&a) {
            self.op1(VCVTTPS2DQ, dst, reg(a));
            self.compare(VCMPPS, K5, (a, limit), float::GREATER_EQUAL);
            self.op2_where(K5, VPBROADCASTD, dst, 0, Operand::Memory(largest));
            self.compare(VCMPPS, K5, (a, reg(a)), float::UNORDERED);
            self.op2_where(K5, VPXORD, dst, dst, reg(dst));
        }
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }

    /// Saturates; NaN becomes 0. The conversion gives the largest number for all that is too large.
    pub(crate) fn f32_to_u32(&mut self, inst: &Inst) {
        let a = self.narrow_float(inst.a);
        let out = self.take_line::<2>();
        let zero = self.take();
        self.op2(VPXORD, zero, zero, reg(zero));
        for (&dst, &a) in out.iter().zip(&a) {
            self.op2(VMAXPS, dst, a, reg(zero));
            self.op1(VCVTTPS2UDQ, dst, reg(dst));
        }
        self.release(&[zero]);
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }

    /// Every second 32-bit element of a wide line.
    pub(crate) fn halves(&mut self, inst: &Inst, indices: i32) {
        let a = self.wide(inst.a);
        let out = self.take_line::<2>();
        let indices = at(R11, indices);
        for (half, &dst) in out.iter().enumerate() {
            self.op1(VMOVDQA64_LOAD, dst, Operand::Memory(indices));
            self.op2(VPERMI2D, dst, a[2 * half], reg(a[2 * half + 1]));
        }
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }

    pub(crate) fn join(&mut self, inst: &Inst) {
        let (low, high) = (self.narrow(inst.a), self.narrow(inst.b));
        let out = self.take_line::<4>();
        for (part, &dst) in out.iter().enumerate() {
            let indices = if part % 2 == 0 {
                JOIN_LOWER
            } else {
                JOIN_UPPER
            };
            let indices = at(R11, indices);
            self.op1(VMOVDQA64_LOAD, dst, Operand::Memory(indices));
            self.op2(VPERMI2D, dst, low[part / 2], reg(high[part / 2]));
        }
        self.finish(Bank::Wide, inst.dst, &out, false);
    }

    pub(crate) fn extend_sign(&mut self, inst: &Inst, spare_bits: u8) {
        let a = self.narrow(inst.a);
        let out = self.take_line::<2>();
        for (&dst, &a) in out.iter().zip(&a) {
            self.shift(SHIFT_D_IMM, 6, (dst, a), spare_bits);
            self.shift(SHIFT_D_IMM, 4, (dst, dst), spare_bits);
        }
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }
}
