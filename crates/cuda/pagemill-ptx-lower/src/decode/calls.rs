//! Calls: values on their way in and out, and functions that the system provides.

use super::context::Decoder;
use crate::expand::inline::{Side, Storage};
use crate::expand::params::ParamStorage;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, ServiceAux, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Type};
use pagemill_ptx_ir::code::device_calls::{Argument, Callee, find};
use pagemill_ptx_ir::op::Op;

impl<'a> Decoder<'a> {
    /// Moves a register argument or result between scopes.
    pub(super) fn pass(&mut self, to: Side<'a>, from: Side<'a>) -> Result<(), Fail> {
        let known = |decoder: &Self, side: Side<'_>| {
            let (scope, register) = match side {
                Side::Register(scope, register) => (scope, register),
                Side::Operand(scope, Operand::Register(register)) => (scope, *register),
                Side::Operand(..) => return None,
            };
            let registers = &decoder.flat.scopes[scope].function.registers;
            registers
                .get(register.0 as usize)
                .map(|register| register.ty)
        };
        // A literal has no type of its own: it has that of the register at the other end.
        let ty = known(self, to).or(known(self, from)).unwrap_or(Type::B32);
        let value = match from {
            Side::Register(scope, register) => {
                self.scope = scope;
                Value::Reg(self.register(register))
            }
            Side::Operand(scope, operand) => {
                self.scope = scope;
                self.value(operand, ty)?
            }
        };
        let dst = match to {
            Side::Register(scope, register) => {
                self.scope = scope;
                self.register(register)
            }
            Side::Operand(scope, operand) => {
                self.scope = scope;
                self.destination_of(operand, ty)?
            }
        };
        self.copy(dst, value);
        Ok(())
    }

    /// A call of a function that has no body here.
    pub(super) fn system_call(
        &mut self,
        name: &str,
        results: &'a [Operand],
        arguments: &'a [Operand],
    ) -> Result<(), Fail> {
        match (name, arguments) {
            // `printf` as nvcc calls it: the values lie one behind the other in the thread's memory.
            ("vprintf", [format, values]) => {
                let srcs = [self.argument(format, Type::B64)?, self.argument(values, Type::B64)?];
                let dst = self.temporary(Class::Narrow);
                self.push(Op::Service, &[dst], &srcs, Aux::Service(ServiceAux::Print));
                match results {
                    [result] => self.store_result(result, Type::B32, Value::Reg(dst)),
                    _ => Ok(()),
                }
            }
            ("malloc", [bytes]) => {
                let srcs = [self.argument(bytes, Type::B64)?];
                let dst = self.temporary(Class::Wide);
                self.push(Op::Service, &[dst], &srcs, Aux::Service(ServiceAux::Malloc));
                match results {
                    [result] => self.store_result(result, Type::B64, Value::Reg(dst)),
                    _ => Ok(()),
                }
            }
            ("free", [address]) => {
                let srcs = [self.argument(address, Type::B64)?];
                self.push(Op::Service, &[], &srcs, Aux::Service(ServiceAux::Free));
                Ok(())
            }
            ("__assertfail", [message, file, line, function, ..]) => {
                let srcs = [
                    self.argument(message, Type::B64)?,
                    self.argument(file, Type::B64)?,
                    self.argument(line, Type::B32)?,
                    self.argument(function, Type::B64)?,
                ];
                self.push(Op::Service, &[], &srcs, Aux::Service(ServiceAux::AssertFail));
                Ok(())
            }
            _ => match find(name) {
                Some(callee) => self.runtime_call(name, callee, results, arguments),
                None => Err(self
                .fail(format!("function `{name}` is called and not defined"))
                .help("of the system functions, vprintf, malloc, free, __assertfail and most of the device runtime are supported; link everything else into one PTX text")),
            }
        }
    }

    /// A call of the device runtime.
    fn runtime_call(
        &mut self,
        name: &str,
        callee: Callee,
        results: &'a [Operand],
        arguments: &'a [Operand],
    ) -> Result<(), Fail> {
        if callee.arguments.len() != arguments.len() {
            let (wanted, given) = (callee.arguments.len(), arguments.len());
            return Err(self.fail(format!(
                "`{name}` of the device runtime takes {wanted} arguments, the call has {given}"
            )));
        }
        let mut numbers = Vec::new();
        for (kind, operand) in callee.arguments.iter().zip(arguments) {
            match (kind, self.call_param(operand)) {
                (Argument::Narrow, _) => numbers.push(self.argument(operand, Type::B32)?),
                (Argument::Wide, _) => numbers.push(self.argument(operand, Type::B64)?),
                // By value: three numbers of four bytes in one parameter.
                (Argument::Dim3, Some(param)) => {
                    for axis in 0..3 {
                        numbers.push(self.load_param(param, 4 * axis, Type::B32)?);
                    }
                }
                (Argument::Dim3, None) => {
                    return Err(self.fail("three numbers are passed in a .param variable"));
                }
            }
        }
        // Only a kernel that may launch others carries their list.
        self.program.kernels = self.names.kernels.clone();
        let (class, ty) = match callee.result {
            Argument::Wide => (Class::Wide, Type::B64),
            _ => (Class::Narrow, Type::B32),
        };
        let dst = self.temporary(class);
        let service = Aux::Service(ServiceAux::Runtime(callee.function));
        self.push(Op::Service, &[dst], &numbers, service);
        match results {
            [result] => self.store_result(result, ty, Value::Reg(dst)),
            _ => Ok(()),
        }
    }

    /// The value passed to a system function.
    fn argument(&mut self, operand: &'a Operand, ty: Type) -> Result<Value, Fail> {
        match self.call_param(operand) {
            Some(param) => self.load_param(param, 0, ty),
            None => self.value(operand, ty),
        }
    }

    fn store_result(&mut self, operand: &'a Operand, ty: Type, value: Value) -> Result<(), Fail> {
        match self.call_param(operand) {
            Some(param) => self.store_param(param, 0, ty, value),
            None => {
                let dst = self.destination_of(operand, ty)?;
                self.copy(dst, value);
                Ok(())
            }
        }
    }

    pub(super) fn call_param(&self, operand: &Operand) -> Option<usize> {
        match operand {
            Operand::Symbol(name, 0) => match self.storage(name)? {
                Storage::CallParam(param) => Some(param),
                _ => None,
            },
            _ => None,
        }
    }

    /// A register or literal handed over as parameter `param`.
    pub(super) fn pass_param(
        &mut self,
        scope: usize,
        param: usize,
        operand: &'a Operand,
    ) -> Result<(), Fail> {
        self.scope = scope;
        let ty = self.flat.call_params[param].ty;
        let value = self.value(operand, ty)?;
        self.store_param(param, 0, ty, value)
    }

    pub(super) fn take_param(
        &mut self,
        scope: usize,
        param: usize,
        into: &'a Operand,
    ) -> Result<(), Fail> {
        self.scope = scope;
        let ty = self.flat.call_params[param].ty;
        let value = self.load_param(param, 0, ty)?;
        let dst = self.destination_of(into, ty)?;
        self.copy(dst, value);
        Ok(())
    }

    /// The register that stands for the part of `param` at `offset`.
    pub(super) fn param_register(&mut self, param: usize, offset: u64, class: Class) -> VReg {
        if let Some(register) = self.param_registers.get(&(param, offset)) {
            return *register;
        }
        let register = self.temporary(class);
        self.param_registers.insert((param, offset), register);
        register
    }

    pub(super) fn is_in_registers(&self, param: usize) -> bool {
        self.names.placed.params[param] == ParamStorage::Registers
    }
}
