//! Calls that are not expanded: values go through the stack, at the caller's stack pointer.

use super::context::{Decoder, class_of};
use crate::expand::inline::Callee;
use crate::expand::params::ParamStorage;
use crate::expand::signature::Signature;
use crate::fail::Fail;
use crate::flow::program::{Aux, CallAux, Value};
use pagemill_ptx_ir::ast::{Operand, RegisterId, Space, Type, Variable};
use pagemill_ptx_ir::op::Op;

// The stack of a thread at a call, upward:
//
//   caller's frame | results, parameters | registers kept | callee's frame |
//                  ^ the caller's pointer, the callee's `arguments`         ^ the callee's pointer
//
// So neither side has to know the frame of the other, and a call by address is one by name.
impl<'a> Decoder<'a> {
    /// Puts the arguments on the stack, calls, and takes the results.
    pub(super) fn real_call(&mut self, scope: usize, call: usize) -> Result<(), Fail> {
        self.scope = scope;
        let call = &self.flat.real_calls[call];
        let Signature {
            returns,
            params,
            offsets,
            bytes,
        } = &call.signature;
        let (returned_at, taken_at) = offsets.split_at(returns.len());
        for ((formal, actual), &at) in params.iter().zip(call.arguments).zip(taken_at) {
            self.put_argument(formal, actual, at)?;
        }
        let stack = self.program.stack();
        let mut srcs = [stack.pointer, stack.frame, stack.arguments]
            .map(Value::Reg)
            .to_vec();
        let target = match &call.callee {
            Callee::Subroutine(subroutine) => CallAux::Subroutine(*subroutine as u32),
            Callee::Address(address, callees) => {
                srcs.push(self.value(address, Type::B64)?);
                let callees = callees.iter();
                CallAux::Address(callees.map(|&(at, number)| (at, number as u32)).collect())
            }
        };
        let aux = Aux::Call {
            target,
            argument_bytes: *bytes,
        };
        self.push(Op::Call, &[], &srcs, aux);
        // Behind the call, which may have used any slot: what is still needed comes back (`saved`).
        self.push(Op::Restore, &[], &[Value::Reg(stack.pointer)], Aux::None);
        for ((formal, actual), &at) in returns.iter().zip(call.results).zip(returned_at) {
            self.take_result(formal, actual, at)?;
        }
        Ok(())
    }

    fn put_argument(
        &mut self,
        formal: &Variable,
        actual: &'a Operand,
        at: u32,
    ) -> Result<(), Fail> {
        let pointer = Value::Reg(self.program.stack().pointer);
        let Some(param) = self.call_param(actual) else {
            let value = self.value(actual, formal.ty)?;
            return self.store_local(pointer, at.into(), formal.ty, value);
        };
        for (offset, ty) in self.pieces(param, formal) {
            let value = self.load_param(param, offset, ty)?;
            self.store_local(pointer, i64::from(at) + offset as i64, ty, value)?;
        }
        Ok(())
    }

    fn take_result(&mut self, formal: &Variable, actual: &'a Operand, at: u32) -> Result<(), Fail> {
        let pointer = Value::Reg(self.program.stack().pointer);
        let Some(param) = self.call_param(actual) else {
            let value = self.load_local(pointer, at.into(), formal.ty)?;
            let dst = self.destination_of(actual, formal.ty)?;
            self.copy(dst, value);
            return Ok(());
        };
        for (offset, ty) in self.pieces(param, formal) {
            let value = self.load_local(pointer, i64::from(at) + offset as i64, ty)?;
            self.store_param(param, offset, ty, value)?;
        }
        Ok(())
    }

    /// The parts in which a call parameter is copied: what is accessed of one in registers, and all of one in memory.
    fn pieces(&self, param: usize, formal: &Variable) -> Vec<(u64, Type)> {
        let ty = |bytes: u64| match bytes {
            1 => Type::B8,
            2 => Type::B16,
            4 => Type::B32,
            _ => Type::B64,
        };
        let placed = self.names.placed;
        if placed.params[param] == ParamStorage::Registers {
            let accesses = placed.accesses[param].iter();
            let inside = accesses.filter(|(offset, bytes)| offset + bytes <= formal.bytes);
            return inside.map(|&(offset, bytes)| (offset, ty(bytes))).collect();
        }
        let bytes = self.flat.call_params[param].bytes.min(formal.bytes);
        let mut pieces = Vec::new();
        let mut offset = 0;
        while offset < bytes {
            // As wide as all calls with this signature may: by the alignment that both sides know.
            let widths = [8, 4, 2];
            let fits = |width: &u64| {
                offset.is_multiple_of(*width)
                    && formal.align.is_multiple_of(*width)
                    && offset + width <= bytes
            };
            let width = widths.into_iter().find(fits).unwrap_or(1);
            pieces.push((offset, ty(width)));
            offset += width;
        }
        pieces
    }

    /// Fills the registers of a subroutine that are parameters.
    pub(super) fn take_register_params(&mut self) -> Result<(), Fail> {
        let arguments = Value::Reg(self.program.stack().arguments);
        for (register, ty, at) in self.register_formals(false) {
            let value = self.load_local(arguments, at.into(), ty)?;
            let dst = self.register(register);
            self.copy(dst, value);
        }
        Ok(())
    }

    /// Ends the kernel, or returns from the subroutine.
    pub(super) fn leave(&mut self) -> Result<(), Fail> {
        let Some(_) = self.flat.scopes[self.scope].subroutine else {
            self.push(Op::Exit, &[], &[], Aux::None);
            return Ok(());
        };
        let stack = self.program.stack();
        for (register, ty, at) in self.register_formals(true) {
            let value = Value::Reg(self.register(register));
            self.store_local(Value::Reg(stack.arguments), at.into(), ty, value)?;
        }
        self.push(Op::Return, &[], &[Value::Reg(stack.arguments)], Aux::None);
        Ok(())
    }

    /// Registers of the current subroutine that are results or parameters, with their type and place.
    fn register_formals(&self, results: bool) -> Vec<(RegisterId, Type, u32)> {
        let Some(number) = self.flat.scopes[self.scope].subroutine else {
            return Vec::new();
        };
        let signature = &self.flat.subroutines[number].signature;
        let formals = signature.returns.iter().chain(signature.params);
        let registers = formals
            .zip(&signature.offsets)
            .enumerate()
            .filter(|(_, (formal, _))| formal.space == Space::Register && formal.name != "_")
            .enumerate();
        registers
            .filter(|(_, (place, _))| (*place < signature.returns.len()) == results)
            .map(|(number, (_, (formal, &at)))| (RegisterId(number as u32), formal.ty, at))
            .filter(|(_, ty, _)| class_of(*ty) != crate::flow::program::Class::Predicate)
            .collect()
    }
}
