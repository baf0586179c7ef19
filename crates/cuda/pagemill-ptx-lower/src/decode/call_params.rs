//! Parameters of expanded calls: registers, or local memory where accesses disagree.

use super::context::{Decoder, class_of};
use super::memory::{
    Form, class_for, is_signed, load_memory, mask_to_register, memory_aux, stored_value,
    wide_destination,
};
use crate::expand::params::ParamStorage;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::{AccessKind, CacheHint};
use pagemill_ptx_ir::info::InstructionClass;
use pagemill_ptx_ir::op::Op;

pub(super) fn load<'a>(
    decoder: &mut Decoder<'a>,
    form: &Form,
    targets: &[&'a Operand],
    param: usize,
    offset: u64,
) -> Result<(), Fail> {
    // The opcode says memory, and a register is moved: calls that are expanded cost no access.
    decoder.info().class = InstructionClass::Integer;
    if let Some((base, at)) = decoder.param_memory(param)? {
        let offset = at.wrapping_add(offset as i64);
        return load_memory(decoder, form, targets, Space::Local, base, offset);
    }
    for (index, &target) in (0u64..).zip(targets) {
        let (class, _) = class_for(decoder, target, form.ty)?;
        let value = decoder.load_param(param, offset + index * form.ty.bytes(), form.ty)?;
        let dst = wide_destination(decoder, target, class)?;
        let value = widen(decoder, value, form.ty, class)?;
        decoder.copy(dst, value);
        mask_to_register(decoder, target, form.ty, dst)?;
    }
    Ok(())
}

/// A parameter's raw bits as a load of `ty` gives them in a register of `class`.
fn widen(decoder: &mut Decoder<'_>, value: Value, ty: Type, class: Class) -> Result<Value, Fail> {
    let value = match ty {
        Type::S8 => decoder.fresh(Op::SignExtend8, Class::Narrow, &[value]),
        Type::S16 => decoder.fresh(Op::SignExtend16, Class::Narrow, &[value]),
        _ => value,
    };
    Ok(match class {
        Class::Wide if ty.bytes() < 8 && is_signed(ty) => {
            decoder.fresh(Op::SignExtend32, class, &[value])
        }
        Class::Wide if ty.bytes() < 8 => decoder.fresh(Op::ZeroExtend32, class, &[value]),
        _ => value,
    })
}

pub(super) fn store<'a>(
    decoder: &mut Decoder<'a>,
    form: &Form,
    sources: &[&'a Operand],
    param: usize,
    offset: u64,
) -> Result<(), Fail> {
    decoder.info().class = InstructionClass::Integer;
    for (index, &source) in (0u64..).zip(sources) {
        let offset = offset + index * form.ty.bytes();
        let (class, bytes) = class_for(decoder, source, form.ty)?;
        let value = stored_value(decoder, source, form.ty, class, bytes)?;
        let value = match (class, form.ty.bytes()) {
            (Class::Wide, 1..8) => decoder.fresh(Op::Truncate64, Class::Narrow, &[value]),
            _ => value,
        };
        decoder.store_param(param, offset, form.ty, value)?;
    }
    Ok(())
}

impl<'a> Decoder<'a> {
    /// Both halves of a 128-bit register.
    pub(super) fn halves(&mut self, operand: &Operand) -> Result<[VReg; 2], Fail> {
        let Operand::Register(register) = operand else {
            return Err(self.fail("a 128-bit operand must be a register"));
        };
        let low = self.register(*register);
        let high = self
            .high_half(low)
            .ok_or_else(|| self.fail("a 128-bit operand must be a .b128 register"))?;
        Ok([low, high])
    }

    /// The bits at `offset` of a call parameter, zero-extended.
    pub(super) fn load_param(
        &mut self,
        param: usize,
        offset: u64,
        ty: Type,
    ) -> Result<Value, Fail> {
        let class = if ty.bytes() == 8 {
            Class::Wide
        } else {
            Class::Narrow
        };
        match self.param_memory(param)? {
            None => Ok(Value::Reg(self.param_register(param, offset, class))),
            Some((base, at)) => self.load_local(base, at.wrapping_add(offset as i64), ty),
        }
    }

    /// Where a call parameter lies in local memory: an address and an offset. `None` if it is in registers.
    fn param_memory(&mut self, param: usize) -> Result<Option<(Value, i64)>, Fail> {
        Ok(match self.names.placed.params[param] {
            ParamStorage::Registers => None,
            ParamStorage::Local(offset) => Some((self.bits(Class::Wide, offset.into())?, 0)),
            ParamStorage::Frame(offset) => {
                Some((Value::Reg(self.program.stack().frame), offset.into()))
            }
        })
    }

    /// The bits at `base + offset` of local memory, zero-extended.
    pub(super) fn load_local(&mut self, base: Value, offset: i64, ty: Type) -> Result<Value, Fail> {
        let class = class_of(ty);
        let dst = self.temporary(class);
        let (kind, hint) = (AccessKind::Load, CacheHint::Default);
        let aux = memory_aux(self, kind, Space::Local, offset, ty, class, 1, hint)?;
        self.push(Op::Load, &[dst], &[base], Aux::Memory(aux));
        Ok(Value::Reg(dst))
    }

    pub(super) fn store_local(
        &mut self,
        base: Value,
        offset: i64,
        ty: Type,
        value: Value,
    ) -> Result<(), Fail> {
        let class = class_of(ty);
        let (kind, hint) = (AccessKind::Store, CacheHint::Default);
        let aux = memory_aux(self, kind, Space::Local, offset, ty, class, 1, hint)?;
        self.push(Op::Store, &[], &[base, value], Aux::Memory(aux));
        Ok(())
    }

    pub(super) fn store_param(
        &mut self,
        param: usize,
        offset: u64,
        ty: Type,
        value: Value,
    ) -> Result<(), Fail> {
        let class = if ty.bytes() == 8 {
            Class::Wide
        } else {
            Class::Narrow
        };
        if self.is_in_registers(param) {
            let register = self.param_register(param, offset, class);
            let value = match ty.bytes() {
                // Held as a load of it is, zero-extended.
                bytes @ 1..4 => {
                    let mask = self.bits(Class::Narrow, (1 << (8 * bytes)) - 1)?;
                    self.fresh(Op::And32, Class::Narrow, &[value, mask])
                }
                _ => value,
            };
            self.copy(register, value);
            return Ok(());
        }
        match self.param_memory(param)? {
            None => Err(self.bad_form()),
            Some((base, at)) => self.store_local(base, at.wrapping_add(offset as i64), ty, value),
        }
    }
}
