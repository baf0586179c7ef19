//! Lane operations as vector instructions. Each computes all lanes into registers of its own; [`Emitter::commit`] then
//! writes those that take part. What each operation means is said once, in `ir/op.rs`, and must be the same here to
//! the bit.

use crate::assembler::encode::{AND, Masking, Operand, RAX, Vector, Width, Zmm};
use crate::assembler::encode::{Condition, Mask};
use crate::assembler::table::{HIGH_HALVES, LOW_HALVES};
use crate::emit::cache::Name;
use crate::emit::emitter::{Emitter, K0, K5, K6, K7, predicate};
use crate::emit::vectors::*;
use pagemill_ptx_ir::code::Bank;
use pagemill_ptx_ir::op::{Inst, Op};

/// How an operation of one instruction for each part of a line is compiled.
#[derive(Clone, Copy)]
enum Simple {
    /// `dst = op(a)`.
    One(Vector),
    /// `dst = op(a, b)`.
    Two(Vector),
    /// `dst = op(a)`, with an immediate.
    Round(Vector, u8),
    /// `dst = a * b + c`, rounded once.
    Fused(Vector),
    /// A comparison with an immediate.
    Compare(Vector, u8),
}

/// Which operations take one instruction, and whether they do not tell NaNs apart.
fn simple(op: Op) -> Option<(Simple, bool)> {
    use Simple::{Compare, One, Two};
    let exact = |simple| Some((simple, false));
    match op {
        Op::Add32 => exact(Two(VPADDD)),
        Op::Sub32 => exact(Two(VPSUBD)),
        Op::Mul32 => exact(Two(VPMULLD)),
        Op::MinU32 => exact(Two(VPMINUD)),
        Op::MaxU32 => exact(Two(VPMAXUD)),
        Op::MinS32 => exact(Two(VPMINSD)),
        Op::MaxS32 => exact(Two(VPMAXSD)),
        Op::AbsS32 => exact(One(VPABSD)),
        Op::And32 => exact(Two(VPANDD)),
        Op::Or32 => exact(Two(VPORD)),
        Op::Xor32 => exact(Two(VPXORD)),
        // Counts of 32 and more give what PTX wants: zero, or the sign.
        Op::ShiftLeft32 => exact(Two(VPSLLVD)),
        Op::ShiftRightU32 => exact(Two(VPSRLVD)),
        Op::ShiftRightS32 => exact(Two(VPSRAVD)),
        Op::LeadingZeros32 => exact(One(VPLZCNTD)),
        Op::Add64 => exact(Two(VPADDQ)),
        Op::Sub64 => exact(Two(VPSUBQ)),
        Op::Mul64 => exact(Two(VPMULLQ)),
        Op::MinU64 => exact(Two(VPMINUQ)),
        Op::MaxU64 => exact(Two(VPMAXUQ)),
        Op::MinS64 => exact(Two(VPMINSQ)),
        Op::MaxS64 => exact(Two(VPMAXSQ)),
        Op::AbsS64 => exact(One(VPABSQ)),
        Op::And64 => exact(Two(VPANDQ)),
        Op::Or64 => exact(Two(VPORQ)),
        Op::Xor64 => exact(Two(VPXORQ)),
        Op::Equal32 => exact(Compare(VPCMPUD, integer::EQUAL)),
        Op::NotEqual32 => exact(Compare(VPCMPUD, integer::NOT_EQUAL)),
        Op::LessU32 => exact(Compare(VPCMPUD, integer::LESS)),
        Op::LessEqualU32 => exact(Compare(VPCMPUD, integer::LESS_EQUAL)),
        Op::LessS32 => exact(Compare(VPCMPD, integer::LESS)),
        Op::LessEqualS32 => exact(Compare(VPCMPD, integer::LESS_EQUAL)),
        Op::Equal64 => exact(Compare(VPCMPUQ, integer::EQUAL)),
        Op::NotEqual64 => exact(Compare(VPCMPUQ, integer::NOT_EQUAL)),
        Op::LessU64 => exact(Compare(VPCMPUQ, integer::LESS)),
        Op::LessEqualU64 => exact(Compare(VPCMPUQ, integer::LESS_EQUAL)),
        Op::LessS64 => exact(Compare(VPCMPQ, integer::LESS)),
        Op::LessEqualS64 => exact(Compare(VPCMPQ, integer::LESS_EQUAL)),
        Op::S32ToF32 => exact(One(VCVTDQ2PS)),
        Op::U32ToF32 => exact(One(VCVTUDQ2PS)),
        Op::S64ToF64 => exact(One(VCVTQQ2PD)),
        Op::U64ToF64 => exact(One(VCVTUQQ2PD)),
        _ => simple_float(op).map(|simple| (simple, true)),
    }
}

/// The same for operations that do not tell NaNs apart.
fn simple_float(op: Op) -> Option<Simple> {
    use Simple::{Compare, Fused, One, Round, Two};
    let simple = match op {
        Op::EqualF32 => Compare(VCMPPS, float::EQUAL),
        Op::LessF32 => Compare(VCMPPS, float::LESS),
        Op::LessEqualF32 => Compare(VCMPPS, float::LESS_EQUAL),
        Op::UnorderedF32 => Compare(VCMPPS, float::UNORDERED),
        Op::EqualF64 => Compare(VCMPPD, float::EQUAL),
        Op::LessF64 => Compare(VCMPPD, float::LESS),
        Op::LessEqualF64 => Compare(VCMPPD, float::LESS_EQUAL),
        Op::UnorderedF64 => Compare(VCMPPD, float::UNORDERED),
        Op::AddF32 => Two(VADDPS),
        Op::SubF32 => Two(VSUBPS),
        Op::MulF32 => Two(VMULPS),
        Op::DivF32 => Two(VDIVPS),
        Op::FmaF32 => Fused(VFMADD231PS),
        Op::SqrtF32 => One(VSQRTPS),
        // Bit 3: no exception for inexact results.
        Op::RintF32 => Round(VRNDSCALEPS, 8),
        Op::FloorF32 => Round(VRNDSCALEPS, 9),
        Op::CeilF32 => Round(VRNDSCALEPS, 10),
        Op::TruncF32 => Round(VRNDSCALEPS, 11),
        Op::AddF64 => Two(VADDPD),
        Op::SubF64 => Two(VSUBPD),
        Op::MulF64 => Two(VMULPD),
        Op::DivF64 => Two(VDIVPD),
        Op::FmaF64 => Fused(VFMADD231PD),
        Op::SqrtF64 => One(VSQRTPD),
        Op::RintF64 => Round(VRNDSCALEPD, 8),
        Op::FloorF64 => Round(VRNDSCALEPD, 9),
        Op::CeilF64 => Round(VRNDSCALEPD, 10),
        Op::TruncF64 => Round(VRNDSCALEPD, 11),
        _ => return None,
    };
    Some(simple)
}

/// Whether [`Emitter::lane_operation`] knows `op`.
pub(crate) fn is_compiled(op: Op) -> bool {
    simple(op).is_some()
        || matches!(
            op,
            Op::Move32
                | Op::Move64
                | Op::ZeroExtend32
                | Op::SignExtend32
                | Op::Truncate64
                | Op::HighHalf64
                | Op::Join64
                | Op::SignExtend8
                | Op::SignExtend16
                | Op::Select32
                | Op::Select64
                | Op::Mad32
                | Op::Mad64
                | Op::MulHighU32
                | Op::MulHighS32
                | Op::MulWideU32
                | Op::MulWideS32
                | Op::MadWideU32
                | Op::MadWideS32
                | Op::DivU32
                | Op::RemU32
                | Op::DivS32
                | Op::RemS32
                | Op::Not32
                | Op::Not64
                | Op::FunnelLeftWrap
                | Op::FunnelLeftClamp
                | Op::FunnelRightWrap
                | Op::FunnelRightClamp
                | Op::ShiftLeft64
                | Op::ShiftRightU64
                | Op::ShiftRightS64
                | Op::DivApproxF32
                | Op::RsqrtF32
                | Op::Exp2F32
                | Op::MinF32
                | Op::MaxF32
                | Op::MinF64
                | Op::MaxF64
                | Op::FlushF32
                | Op::FlushF64
                | Op::SaturateF32
                | Op::SaturateF64
                | Op::S32ToF64
                | Op::U32ToF64
                | Op::F32ToF64
                | Op::F64ToF32
                | Op::F32ToS32
                | Op::F32ToU32
                | Op::F64ToS32
                | Op::F64ToU32
        )
}

pub(crate) fn reg(register: Zmm) -> Operand {
    Operand::Register(register)
}

/// The instructions that one family of operations shares between its widths.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub and: Vector,
    pub or: Vector,
    pub xor: Vector,
    pub load: Vector,
    pub blend: Vector,
    pub compare: Vector,
    pub ternary: Vector,
    pub test_none: Vector,
    pub min: Vector,
    pub max: Vector,
}

const NARROW: Kind = Kind {
    and: VPANDD,
    or: VPORD,
    xor: VPXORD,
    load: VMOVDQA32_LOAD,
    blend: VPBLENDMD,
    compare: VCMPPS,
    ternary: VPTERNLOGD,
    test_none: VPTESTNMD,
    min: VMINPS,
    max: VMAXPS,
};
const WIDE: Kind = Kind {
    and: VPANDQ,
    or: VPORQ,
    xor: VPXORQ,
    load: VMOVDQA64_LOAD,
    blend: VPBLENDMQ,
    compare: VCMPPD,
    ternary: VPTERNLOGQ,
    test_none: VPTESTNMQ,
    min: VMINPD,
    max: VMAXPD,
};

pub(crate) fn kind_of(bank: Bank) -> Kind {
    if bank == Bank::Wide { WIDE } else { NARROW }
}

impl Emitter<'_> {
    /// `dst = op(a, b)`.
    pub(crate) fn op2(&mut self, op: Vector, dst: Zmm, a: Zmm, b: impl Into<Operand>) {
        self.asm.vector(op, dst, a, b.into(), Masking::None);
    }

    /// `dst = op(a)`.
    pub(crate) fn op1(&mut self, op: Vector, dst: Zmm, a: impl Into<Operand>) {
        self.asm.vector(op, dst, 0, a.into(), Masking::None);
    }

    /// `dst = op(a, b)` in the lanes of `mask`.
    pub(crate) fn op2_where(
        &mut self,
        mask: Mask,
        op: Vector,
        dst: Zmm,
        a: Zmm,
        b: impl Into<Operand>,
    ) {
        self.asm.vector(op, dst, a, b.into(), Masking::Merge(mask));
    }

    /// The lanes in which `a` and `b` compare as `how` says.
    pub(crate) fn compare(&mut self, op: Vector, mask: Mask, (a, b): (Zmm, Operand), how: u8) {
        self.asm.vector_imm(op, mask.0, (a, b), how, Masking::None);
    }

    pub(crate) fn constant32(&mut self, bits: u32) -> Operand {
        Operand::Broadcast(self.table.constant32(bits))
    }

    pub(crate) fn constant64(&mut self, bits: u64) -> Operand {
        Operand::Broadcast(self.table.constant64(bits))
    }

    /// The registers of an operand, two or four.
    pub(crate) fn operand(&mut self, bank: Bank, operand: u16, canonical: bool) -> Vec<Zmm> {
        match bank {
            Bank::Wide => self.line(Name::wide(operand), canonical).to_vec(),
            _ => self.line(Name::narrow(operand), canonical)[..2].to_vec(),
        }
    }

    pub(crate) fn fresh(&mut self, bank: Bank) -> Vec<Zmm> {
        (0..if bank == Bank::Wide { 4 } else { 2 })
            .map(|_| self.take())
            .collect()
    }

    pub(crate) fn finish(&mut self, bank: Bank, dst: u16, registers: &[Zmm], is_raw: bool) {
        let name = match bank {
            Bank::Wide => Name::wide(dst),
            _ => Name::narrow(dst),
        };
        self.commit(name, registers, is_raw);
    }

    /// Computes a lane operation.
    pub(crate) fn lane_operation(&mut self, inst: &Inst) {
        if let Some((simple, is_float)) = simple(inst.op) {
            return self.simple(inst, simple, is_float);
        }
        match inst.op {
            Op::Move32 | Op::Move64 => self.copy(inst),
            Op::ZeroExtend32 => self.widen(inst, VPMOVZXDQ, false),
            Op::SignExtend32 => self.widen(inst, VPMOVSXDQ, false),
            Op::S32ToF64 => self.widen(inst, VCVTDQ2PD, false),
            Op::U32ToF64 => self.widen(inst, VCVTUDQ2PD, false),
            Op::F32ToF64 => self.widen(inst, VCVTPS2PD, true),
            Op::F64ToF32 => self.narrow_down(inst, VCVTPD2PS),
            Op::F64ToS32 => self.f64_to_s32(inst),
            Op::F64ToU32 => self.f64_to_u32(inst),
            Op::Truncate64 => self.halves(inst, LOW_HALVES),
            Op::HighHalf64 => self.halves(inst, HIGH_HALVES),
            Op::Join64 => self.join(inst),
            Op::SignExtend8 => self.extend_sign(inst, 24),
            Op::SignExtend16 => self.extend_sign(inst, 16),
            Op::Select32 | Op::Select64 => self.select(inst),
            Op::Mad32 | Op::Mad64 => self.multiply_add(inst),
            Op::MulHighU32 => self.multiply_high(inst, VPMULUDQ),
            Op::MulHighS32 => self.multiply_high(inst, VPMULDQ),
            Op::MulWideU32 => self.multiply_wide(inst, VPMULUDQ, VPMOVZXDQ, false),
            Op::MulWideS32 => self.multiply_wide(inst, VPMULDQ, VPMOVZXDQ, false),
            Op::MadWideU32 => self.multiply_wide(inst, VPMULUDQ, VPMOVZXDQ, true),
            Op::MadWideS32 => self.multiply_wide(inst, VPMULDQ, VPMOVZXDQ, true),
            Op::DivU32 | Op::RemU32 | Op::DivS32 | Op::RemS32 => self.divide(inst),
            Op::Not32 | Op::Not64 => self.not(inst),
            Op::FunnelLeftWrap
            | Op::FunnelLeftClamp
            | Op::FunnelRightWrap
            | Op::FunnelRightClamp => self.funnel(inst),
            Op::ShiftLeft64 => self.shift64(inst, VPSLLVQ),
            Op::ShiftRightU64 => self.shift64(inst, VPSRLVQ),
            Op::ShiftRightS64 => self.shift64(inst, VPSRAVQ),
            Op::DivApproxF32 => self.divide_approximately(inst),
            Op::RsqrtF32 => self.reciprocal_root(inst),
            Op::Exp2F32 => self.power_of_two(inst),
            Op::MinF32 | Op::MaxF32 | Op::MinF64 | Op::MaxF64 => self.extremum(inst),
            Op::FlushF32 | Op::FlushF64 => self.flush_subnormals(inst),
            Op::SaturateF32 | Op::SaturateF64 => self.saturate(inst),
            Op::F32ToS32 => self.f32_to_s32(inst),
            Op::F32ToU32 => self.f32_to_u32(inst),
            _ => self.has_failed = true,
        }
    }

    fn simple(&mut self, inst: &Inst, simple: Simple, is_float: bool) {
        let (banks, result) = inst.op.banks();
        let names = [inst.a, inst.b, inst.c];
        let lines: Vec<Vec<Zmm>> = banks
            .iter()
            .zip(names)
            .map(|(&bank, name)| self.operand(bank, name, !is_float))
            .collect();
        if let Simple::Compare(op, how) = simple {
            return self.set_compared(inst, op, how, &lines);
        }
        let out = self.fresh(result);
        for (part, &dst) in out.iter().enumerate() {
            let a = lines[0][part];
            match simple {
                Simple::One(op) => self.op1(op, dst, reg(a)),
                Simple::Two(op) => self.op2(op, dst, a, reg(lines[1][part])),
                Simple::Round(op, imm) => {
                    self.asm
                        .vector_imm(op, dst, (0, reg(a)), imm, Masking::None);
                }
                Simple::Fused(op) => {
                    self.op1(VMOVDQA64_LOAD, dst, reg(lines[2][part]));
                    self.op2(op, dst, a, reg(lines[1][part]));
                }
                Simple::Compare(..) => {}
            }
        }
        self.finish(result, inst.dst, &out, is_float);
    }

    fn set_compared(&mut self, inst: &Inst, op: Vector, how: u8, lines: &[Vec<Zmm>]) {
        let masks = [K5, K6, K7, K0];
        for (part, mask) in masks.into_iter().enumerate().take(lines[0].len()) {
            self.compare(op, mask, (lines[0][part], reg(lines[1][part])), how);
        }
        self.join_masks(lines[0].len());
        self.asm.mask_to(RAX, K5);
        self.set_predicate(inst.dst);
    }

    /// Joins the masks of two or four parts in K5.
    fn join_masks(&mut self, parts: usize) {
        if parts == 4 {
            self.asm.mask_join8(K5, K6, K5);
            self.asm.mask_join8(K6, K0, K7);
        }
        self.asm.mask_join16(K5, K6, K5);
    }

    fn copy(&mut self, inst: &Inst) {
        let (_, bank) = inst.op.banks();
        let a = self.operand(bank, inst.a, true);
        let out = self.fresh(bank);
        for (&dst, &a) in out.iter().zip(&a) {
            self.op1(VMOVDQA64_LOAD, dst, reg(a));
        }
        self.finish(bank, inst.dst, &out, false);
    }

    /// The lower halves of registers for each eight lanes of a narrow line. The second and fourth are temporary.
    pub(crate) fn eights(&mut self, line: [Zmm; 2]) -> [Zmm; 4] {
        let upper = self.take_line::<2>();
        for (half, &dst) in upper.iter().enumerate() {
            self.extract_upper(dst, line[half]);
        }
        [line[0], upper[0], line[1], upper[1]]
    }

    pub(crate) fn release_eights(&mut self, eights: [Zmm; 4]) {
        self.release(&[eights[1], eights[3]]);
    }

    /// Lanes 8 to 15 of `src` to lanes 0 to 7 of `dst`.
    pub(crate) fn extract_upper(&mut self, dst: Zmm, src: Zmm) {
        self.asm
            .vector_imm(VEXTRACTI64X4, src, (0, reg(dst)), 1, Masking::None);
    }

    /// `low` and the lower half of `high`, to `dst`.
    pub(crate) fn insert_upper(&mut self, dst: Zmm, low: Zmm, high: Zmm) {
        self.asm
            .vector_imm(VINSERTI64X4, dst, (low, reg(high)), 1, Masking::None);
    }

    /// A shift by a constant: `number` 2 is right, 4 right with sign, 6 left.
    pub(crate) fn shift(&mut self, op: Vector, number: u8, (dst, src): (Zmm, Zmm), bits: u8) {
        self.asm
            .vector_imm(op, number, (dst, reg(src)), bits, Masking::None);
    }

    fn select(&mut self, inst: &Inst) {
        let (_, bank) = inst.op.banks();
        let (a, b) = (
            self.operand(bank, inst.a, true),
            self.operand(bank, inst.b, true),
        );
        let out = self.fresh(bank);
        self.asm.load(Width::W32, RAX, predicate(inst.c));
        self.asm.mask_from(K5, RAX);
        let lanes = 32 / out.len() as u8;
        for (part, &dst) in out.iter().enumerate() {
            if part > 0 {
                self.asm.mask_shift_right(K5, K5, lanes);
            }
            self.op2_where(K5, kind_of(bank).blend, dst, b[part], reg(a[part]));
        }
        self.finish(bank, inst.dst, &out, false);
    }

    fn multiply_add(&mut self, inst: &Inst) {
        let (_, bank) = inst.op.banks();
        let (multiply, add) = match bank {
            Bank::Wide => (VPMULLQ, VPADDQ),
            _ => (VPMULLD, VPADDD),
        };
        let lines = [inst.a, inst.b, inst.c].map(|name| self.operand(bank, name, true));
        let out = self.fresh(bank);
        for (part, &dst) in out.iter().enumerate() {
            self.op2(multiply, dst, lines[0][part], reg(lines[1][part]));
            self.op2(add, dst, dst, reg(lines[2][part]));
        }
        self.finish(bank, inst.dst, &out, false);
    }

    /// The upper halves of products: of even lanes by one multiplication, of odd lanes by another.
    fn multiply_high(&mut self, inst: &Inst, multiply: Vector) {
        let (a, b) = (self.narrow(inst.a), self.narrow(inst.b));
        let out = self.take_line::<2>();
        let [odd_a, odd_b] = self.take_line::<2>();
        self.asm.mov_imm(RAX, 0xaaaa);
        self.asm.mask_from(K5, RAX);
        for (half, &dst) in out.iter().enumerate() {
            self.op2(multiply, dst, a[half], reg(b[half]));
            self.shift(SHIFT_Q_IMM, 2, (dst, dst), 32);
            self.shift(SHIFT_Q_IMM, 2, (odd_a, a[half]), 32);
            self.shift(SHIFT_Q_IMM, 2, (odd_b, b[half]), 32);
            self.op2(multiply, odd_a, odd_a, reg(odd_b));
            self.op2_where(K5, VMOVDQA32_LOAD, dst, 0, reg(odd_a));
        }
        self.release(&[odd_a, odd_b]);
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }

    /// Multiplications look at the lower half of each 64-bit lane only.
    fn multiply_wide(&mut self, inst: &Inst, multiply: Vector, widen: Vector, adds: bool) {
        let operands = [inst.a, inst.b].map(|name| {
            let line = self.narrow(name);
            let is_constant = Name::narrow(name).is_constant();
            // Constants are the same in all lanes, and need no spreading.
            if is_constant {
                return ([line[0]; 4], None);
            }
            let eights = self.eights(line);
            ([eights[0], eights[1], eights[2], eights[3]], Some(eights))
        });
        let c = adds.then(|| self.wide(inst.c));
        let out = self.take_line::<4>();
        let spread = self.take();
        for (part, &dst) in out.iter().enumerate() {
            let mut sources = [dst, spread];
            for ((line, eights), source) in operands.iter().zip(&mut sources) {
                if eights.is_some() {
                    self.op1(widen, *source, reg(line[part]));
                } else {
                    *source = line[part];
                }
            }
            self.op2(multiply, dst, sources[0], reg(sources[1]));
            if let Some(c) = c {
                self.op2(VPADDQ, dst, dst, reg(c[part]));
            }
        }
        self.release(&[spread]);
        for (_, eights) in operands {
            if let Some(eights) = eights {
                self.release_eights(eights);
            }
        }
        self.finish(Bank::Wide, inst.dst, &out, false);
    }

    /// Quotients of 32-bit integers as doubles are exact enough to be cut off. Out of range, the conversion gives what
    /// PTX code sees of a division by zero, except for signed quotients, which are -1.
    fn divide(&mut self, inst: &Inst) {
        let (to_double, from_double, is_signed) = match inst.op {
            Op::DivS32 | Op::RemS32 => (VCVTDQ2PD, VCVTTPD2DQ, true),
            _ => (VCVTUDQ2PD, VCVTTPD2UDQ, false),
        };
        let (a, b) = (self.narrow(inst.a), self.narrow(inst.b));
        let out = self.take_line::<2>();
        let [x, y, upper, ones] = self.take_line::<4>();
        for (half, &dst) in out.iter().enumerate() {
            self.op1(to_double, x, reg(a[half]));
            self.op1(to_double, y, reg(b[half]));
            self.op2(VDIVPD, x, x, reg(y));
            self.op1(from_double, dst, reg(x));
            self.extract_upper(x, a[half]);
            self.extract_upper(y, b[half]);
            self.op1(to_double, x, reg(x));
            self.op1(to_double, y, reg(y));
            self.op2(VDIVPD, x, x, reg(y));
            self.op1(from_double, upper, reg(x));
            self.insert_upper(dst, dst, upper);
            if is_signed {
                self.asm
                    .vector_imm(VPTERNLOGD, ones, (ones, reg(ones)), 0xff, Masking::None);
                self.asm
                    .vector(VPTESTNMD, K5.0, b[half], reg(b[half]), Masking::None);
                self.op2_where(K5, VMOVDQA32_LOAD, dst, 0, reg(ones));
            }
            if matches!(inst.op, Op::RemU32 | Op::RemS32) {
                self.op2(VPMULLD, dst, dst, reg(b[half]));
                self.op2(VPSUBD, dst, a[half], reg(dst));
            }
        }
        self.release(&[x, y, upper, ones]);
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }

    fn not(&mut self, inst: &Inst) {
        let (_, bank) = inst.op.banks();
        let a = self.operand(bank, inst.a, true);
        let out = self.fresh(bank);
        for (&dst, &a) in out.iter().zip(&a) {
            // The truth table of "not the last operand".
            self.asm
                .vector_imm(kind_of(bank).ternary, dst, (a, reg(a)), 0x55, Masking::None);
        }
        self.finish(bank, inst.dst, &out, false);
    }

    /// The low word is the first operand. Shifts by 32 give zero, so both counts may be anything from 0 to 32.
    fn funnel(&mut self, inst: &Inst) {
        let (low, high, n) = (
            self.narrow(inst.a),
            self.narrow(inst.b),
            self.narrow(inst.c),
        );
        let out = self.take_line::<2>();
        let [count, other] = self.take_line::<2>();
        let is_left = matches!(inst.op, Op::FunnelLeftWrap | Op::FunnelLeftClamp);
        let is_clamped = matches!(inst.op, Op::FunnelLeftClamp | Op::FunnelRightClamp);
        for (half, &dst) in out.iter().enumerate() {
            let (limit, restrict) = match is_clamped {
                true => (32, VPMINUD),
                false => (31, VPANDD),
            };
            let limit = self.constant32(limit);
            self.op2(restrict, count, n[half], limit);
            let bits = self.table.constant32(32);
            self.op1(VPBROADCASTD, other, Operand::Memory(bits));
            self.op2(VPSUBD, other, other, reg(count));
            let (up, down) = if is_left {
                (count, other)
            } else {
                (other, count)
            };
            self.op2(VPSLLVD, dst, high[half], reg(up));
            self.op2(VPSRLVD, other, low[half], reg(down));
            self.op2(VPORD, dst, dst, reg(other));
        }
        self.release(&[count, other]);
        self.finish(Bank::Narrow, inst.dst, &out, false);
    }

    fn shift64(&mut self, inst: &Inst, op: Vector) {
        let (a, n) = (self.wide(inst.a), self.narrow(inst.b));
        let n = self.eights(n);
        let out = self.take_line::<4>();
        for (part, &dst) in out.iter().enumerate() {
            self.op1(VPMOVZXDQ, dst, reg(n[part]));
            self.op2(op, dst, a[part], reg(dst));
        }
        self.release_eights(n);
        self.finish(Bank::Wide, inst.dst, &out, false);
    }

    /// Leaves the code before a division whose divisor is zero in a lane that takes part.
    pub(crate) fn check_divisor(&mut self, inst: &Inst) {
        let (bank, test) = match inst.aux {
            0 => (Bank::Narrow, VPTESTNMD),
            _ => (Bank::Wide, VPTESTNMQ),
        };
        let a = self.operand(bank, inst.a, true);
        let exit = self.exit();
        for (part, mask) in [K5, K6, K7, K0].into_iter().enumerate().take(a.len()) {
            self.asm
                .vector(test, mask.0, a[part], reg(a[part]), Masking::None);
        }
        self.join_masks(a.len());
        self.asm.mask_to(RAX, K5);
        if self.is_masked {
            self.asm
                .arithmetic(AND, Width::W32, RAX, crate::assembler::encode::RBX);
        }
        self.asm.test(RAX, RAX);
        self.asm.jump_if(Condition::NotEqual, exit);
    }
}
