//! Arithmetic in the rounding modes `.rz`, `.rm` and `.rp`, which vector instructions carry within themselves.

use crate::assembler::encode::{Rounded, Zmm};
use crate::emit::emitter::Emitter;
use crate::emit::lanes::reg;
use crate::emit::vectors::*;
use pagemill_ptx_ir::code::{Bank, ScalarFn};
use pagemill_ptx_ir::functions::rounding::{self, Operation};
use pagemill_ptx_ir::op::Inst;

/// What one scalar instruction computes, and how it rounds.
#[derive(Clone, Copy)]
pub(crate) struct Directed {
    operation: u32,
    mode: Rounded,
    is_wide: bool,
}

impl Directed {
    fn is(self, operation: Operation) -> bool {
        self.operation == operation as u32
    }

    /// Registers that are read.
    fn operands(self) -> usize {
        match self.operation {
            operation if operation == Operation::Fma as u32 => 3,
            operation if operation == Operation::Sqrt as u32 => 1,
            operation if operation == Operation::Narrow as u32 => 1,
            _ => 2,
        }
    }
}

impl Emitter<'_> {
    /// The operation of a scalar instruction, if it is one of these.
    pub(crate) fn directed(&self, inst: &Inst) -> Option<Directed> {
        let scalar = &self.code.scalars[inst.aux as usize];
        let is = |function: ScalarFn| std::ptr::fn_addr_eq(scalar.function, function);
        let is_wide = is(rounding::double);
        if !is_wide && !is(rounding::single) {
            return None;
        }
        let directed = Directed {
            operation: scalar.immediate >> 2,
            mode: Rounded::of_ptx(scalar.immediate & 3),
            is_wide,
        };
        let bank = if is_wide { Bank::Wide } else { Bank::Narrow };
        let result = match directed.is(Operation::Narrow) {
            true => Bank::Narrow,
            false => bank,
        };
        let operands = &scalar.operands[..directed.operands()];
        let fits = scalar.result == result && operands.iter().all(|&operand| operand == bank);
        (fits && (is_wide || !directed.is(Operation::Narrow))).then_some(directed)
    }

    pub(crate) fn directed_operation(&mut self, inst: &Inst, directed: Directed) {
        let bank = match directed.is_wide {
            true => Bank::Wide,
            false => Bank::Narrow,
        };
        let lines: Vec<Vec<Zmm>> = [inst.a, inst.b, inst.c][..directed.operands()]
            .iter()
            .map(|&name| self.operand(bank, name, false))
            .collect();
        if directed.is(Operation::Narrow) {
            return self.narrow_directed(inst, &lines[0], directed.mode);
        }
        let out = self.fresh(bank);
        let [add, sub, mul, div, fma, root] = match directed.is_wide {
            true => [VADDPD, VSUBPD, VMULPD, VDIVPD, VFMADD231PD, VSQRTPD],
            false => [VADDPS, VSUBPS, VMULPS, VDIVPS, VFMADD231PS, VSQRTPS],
        };
        for (part, &dst) in out.iter().enumerate() {
            let (op, first, last) = match lines.as_slice() {
                [a] => (root, 0, a[part]),
                [a, b] if directed.is(Operation::Add) => (add, a[part], b[part]),
                [a, b] if directed.is(Operation::Sub) => (sub, a[part], b[part]),
                [a, b] if directed.is(Operation::Mul) => (mul, a[part], b[part]),
                [a, b] => (div, a[part], b[part]),
                [a, b, c, ..] => {
                    self.op1(VMOVDQA64_LOAD, dst, reg(c[part]));
                    (fma, a[part], b[part])
                }
                [] => continue,
            };
            self.asm.vector_rounded(op, dst, first, last, directed.mode);
        }
        self.finish(bank, inst.dst, &out, true);
    }

    /// Double to single precision.
    fn narrow_directed(&mut self, inst: &Inst, a: &[Zmm], mode: Rounded) {
        let out = self.take_line::<2>();
        let upper = self.take();
        for (half, &dst) in out.iter().enumerate() {
            self.asm
                .vector_rounded(VCVTPD2PS, dst, 0, a[2 * half], mode);
            self.asm
                .vector_rounded(VCVTPD2PS, upper, 0, a[2 * half + 1], mode);
            self.insert_upper(dst, dst, upper);
        }
        self.release(&[upper]);
        self.finish(Bank::Narrow, inst.dst, &out, true);
    }
}
