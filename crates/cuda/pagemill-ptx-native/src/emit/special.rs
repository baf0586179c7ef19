//! Lane operations on floats that take several instructions.

use crate::assembler::encode::{Masking, Operand};
use crate::emit::cache::Name;
use crate::emit::emitter::{Emitter, K5};
use crate::emit::lanes::{kind_of, reg};
use crate::emit::vectors::*;
use pagemill_ptx_ir::code::Bank;
use pagemill_ptx_ir::float::{EXPONENTIAL, MAGIC};
use pagemill_ptx_ir::op::{Inst, Op};

impl Emitter<'_> {
    pub(crate) fn divide_approximately(&mut self, inst: &Inst) {
        let (a, b) = (self.narrow_float(inst.a), self.narrow_float(inst.b));
        let out = self.take_line::<2>();
        let other = self.take();
        let magnitude = self.constant32(0x7fff_ffff);
        let sign = self.constant32(0x8000_0000);
        let largest = self.constant32(0x7e80_0000);
        for (half, &dst) in out.iter().enumerate() {
            self.op2(VDIVPS, dst, a[half], reg(b[half]));
            self.op2(VPANDD, other, b[half], magnitude);
            self.compare(VCMPPS, K5, (other, largest), float::GREATER);
            self.op2(VPANDD, other, b[half], sign);
            self.op2_where(K5, VMULPS, dst, a[half], reg(other));
        }
        self.release(&[other]);
        self.finish(Bank::Narrow, inst.dst, &out, true);
    }

    pub(crate) fn reciprocal_root(&mut self, inst: &Inst) {
        let a = self.narrow_float(inst.a);
        let out = self.take_line::<2>();
        let [one, x, upper] = self.take_line::<3>();
        let constant = self.table.constant64(1f64.to_bits());
        self.op1(VPBROADCASTQ, one, Operand::Memory(constant));
        for (half, &dst) in out.iter().enumerate() {
            self.extract_upper(upper, a[half]);
            for (src, to) in [(a[half], dst), (upper, upper)] {
                self.op1(VCVTPS2PD, x, reg(src));
                self.op1(VSQRTPD, x, reg(x));
                self.op2(VDIVPD, x, one, reg(x));
                self.op1(VCVTPD2PS, to, reg(x));
            }
            self.insert_upper(dst, dst, upper);
        }
        self.release(&[one, x, upper]);
        self.finish(Bank::Narrow, inst.dst, &out, true);
    }

    /// The same steps as `exp2_f32`, in the same order.
    pub(crate) fn power_of_two(&mut self, inst: &Inst) {
        let a = self.narrow_float(inst.a);
        let out = self.take_line::<2>();
        let [x, shifted, series, upper] = self.take_line::<4>();
        let number = |emitter: &mut Self, value: f64| emitter.constant64(value.to_bits());
        let magic = number(self, MAGIC);
        let (lowest, highest) = (number(self, -200.0), number(self, 200.0));
        let logarithm = number(self, std::f64::consts::LN_2);
        let [first, rest @ ..] = EXPONENTIAL;
        let first = self.table.constant64(first.to_bits());
        let coefficients = rest.map(|value| number(self, value));
        let (mantissa, bias) = (self.constant64(0xfff), self.constant64(1023));
        let exponent = self.constant64(0x7ff);
        for (half, &dst) in out.iter().enumerate() {
            self.extract_upper(upper, a[half]);
            for (src, to) in [(a[half], dst), (upper, upper)] {
                self.op1(VCVTPS2PD, x, reg(src));
                self.compare(VCMPPD, K5, (x, reg(x)), float::UNORDERED);
                self.op2(VMAXPD, x, x, lowest);
                self.op2(VMINPD, x, x, highest);
                self.op2(VADDPD, shifted, x, magic);
                self.op2(VSUBPD, series, shifted, magic);
                self.op2(VSUBPD, x, x, reg(series));
                self.op2(VMULPD, x, x, logarithm);
                self.op1(VPBROADCASTQ, series, Operand::Memory(first));
                for coefficient in coefficients {
                    self.op2(VMULPD, series, series, reg(x));
                    self.op2(VADDPD, series, series, coefficient);
                }
                self.op2(VPANDQ, shifted, shifted, mantissa);
                self.op2(VPADDQ, shifted, shifted, bias);
                self.op2(VPANDQ, shifted, shifted, exponent);
                self.shift(SHIFT_Q_IMM, 6, (shifted, shifted), 52);
                self.op2(VMULPD, series, series, reg(shifted));
                // All ones is a NaN.
                self.asm.vector_imm(
                    VPTERNLOGQ,
                    series,
                    (series, reg(series)),
                    0xff,
                    Masking::Merge(K5),
                );
                self.op1(VCVTPD2PS, to, reg(series));
            }
            self.insert_upper(dst, dst, upper);
        }
        self.release(&[x, shifted, series, upper]);
        self.finish(Bank::Narrow, inst.dst, &out, true);
    }

    /// The processor's minimum gives the second operand where both are equal or one is NaN.
    pub(crate) fn extremum(&mut self, inst: &Inst) {
        let (_, bank) = inst.op.banks();
        let kind = kind_of(bank);
        let is_minimum = matches!(inst.op, Op::MinF32 | Op::MinF64);
        let (a, b) = (
            self.operand(bank, inst.a, false),
            self.operand(bank, inst.b, false),
        );
        let out = self.fresh(bank);
        for (part, &dst) in out.iter().enumerate() {
            let (a, b) = (a[part], b[part]);
            let (order, equal) = match is_minimum {
                true => (kind.min, kind.or),
                false => (kind.max, kind.and),
            };
            self.op2(order, dst, a, reg(b));
            self.compare(kind.compare, K5, (a, reg(b)), float::EQUAL);
            self.op2_where(K5, equal, dst, a, reg(b));
            self.compare(kind.compare, K5, (b, reg(b)), float::UNORDERED);
            self.op2_where(K5, kind.load, dst, 0, reg(a));
        }
        self.finish(bank, inst.dst, &out, true);
    }

    pub(crate) fn flush_subnormals(&mut self, inst: &Inst) {
        let (_, bank) = inst.op.banks();
        let kind = kind_of(bank);
        let name = match bank {
            Bank::Wide => Name::wide(inst.a),
            _ => Name::narrow(inst.a),
        };
        let a = self.operand(bank, inst.a, false);
        // NaNs pass as they are.
        let is_raw = self.cache.find(name).is_some_and(|entry| entry.is_raw);
        let out = self.fresh(bank);
        let (exponent, sign) = match bank {
            Bank::Wide => (
                self.constant64(0x7ff0_0000_0000_0000),
                self.constant64(1 << 63),
            ),
            _ => (self.constant32(0x7f80_0000), self.constant32(1 << 31)),
        };
        for (&dst, &a) in out.iter().zip(&a) {
            self.asm
                .vector(kind.test_none, K5.0, a, exponent, Masking::None);
            self.op1(VMOVDQA64_LOAD, dst, reg(a));
            self.op2_where(K5, kind.and, dst, a, sign);
        }
        self.finish(bank, inst.dst, &out, is_raw);
    }

    pub(crate) fn saturate(&mut self, inst: &Inst) {
        let (_, bank) = inst.op.banks();
        let kind = kind_of(bank);
        let a = self.operand(bank, inst.a, false);
        let out = self.fresh(bank);
        let zero = self.take();
        let one = match bank {
            Bank::Wide => self.constant64(1f64.to_bits()),
            _ => self.constant32(1f32.to_bits()),
        };
        self.op2(kind.xor, zero, zero, reg(zero));
        for (&dst, &a) in out.iter().zip(&a) {
            // The second operand is taken where the first is NaN.
            self.op2(kind.max, dst, a, reg(zero));
            self.op2(kind.min, dst, dst, one);
        }
        self.release(&[zero]);
        self.finish(bank, inst.dst, &out, false);
    }
}
