//! Operands as values and destinations.

use super::context::{Decoder, class_of};
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, RegisterId, Type};
use pagemill_ptx_ir::code::Constant;
use pagemill_ptx_ir::op::Op;

impl<'a> Decoder<'a> {
    pub(super) fn operand(&self, index: usize) -> Result<&'a Operand, Fail> {
        // An operand that no decoder asks for is one too many, and refused by `plain_inst`.
        self.looked_at.set(self.looked_at.get().max(index + 1));
        self.inst.operands.get(index).ok_or_else(|| {
            self.fail(format!(
                "`{}` needs more than {} operands",
                self.inst.opcode.join("."),
                self.inst.operands.len()
            ))
        })
    }

    /// One that may be left out.
    pub(super) fn optional(&self, index: usize) -> Option<&'a Operand> {
        self.looked_at.set(self.looked_at.get().max(index + 1));
        self.inst.operands.get(index)
    }

    /// How many there are, for those that know what each of them is for.
    pub(super) fn operand_count(&self) -> usize {
        self.looked_at.set(self.inst.operands.len());
        self.inst.operands.len()
    }

    pub(super) fn register(&self, register: RegisterId) -> VReg {
        VReg(self.flat.scopes[self.scope].register_base + register.0)
    }

    pub(super) fn register_type(&self, register: RegisterId) -> Type {
        self.flat.scopes[self.scope].function.registers[register.0 as usize].ty
    }

    pub(super) fn high_half(&self, register: VReg) -> Option<VReg> {
        self.high_halves.get(&register).copied()
    }

    pub(super) fn temporary(&mut self, class: Class) -> VReg {
        self.program.register(class)
    }

    /// The register that carries between the `.cc` instructions.
    pub(super) fn carry(&mut self) -> VReg {
        if let Some(carry) = self.carry {
            return carry;
        }
        let carry = self.program.register(Class::Predicate);
        self.carry = Some(carry);
        carry
    }

    pub(super) fn constant(&mut self, class: Class, constant: Constant) -> Result<Value, Fail> {
        let index = match class {
            Class::Wide => self.program.wide.intern(constant).map(Value::Wide),
            _ => self.program.narrow.intern(constant).map(Value::Narrow),
        };
        index.ok_or_else(|| self.fail("the kernel uses too many different constants"))
    }

    pub(super) fn bits(&mut self, class: Class, bits: u64) -> Result<Value, Fail> {
        // Equal constants are one, however their upper bits came about.
        let bits = if class == Class::Wide {
            bits
        } else {
            u64::from(bits as u32)
        };
        self.constant(class, Constant::Bits(bits))
    }

    /// The bits of `value` if it is a literal.
    pub(super) fn literal(&self, value: Value) -> Option<u64> {
        let constant = match value {
            Value::Reg(_) => return None,
            Value::Narrow(index) => &self.program.narrow.constants[usize::from(index)],
            Value::Wide(index) => &self.program.wide.constants[usize::from(index)],
        };
        match constant {
            Constant::Bits(bits) => Some(*bits),
            _ => None,
        }
    }

    /// Source operand `index` as a value of type `ty`, whose register must be of that size.
    pub(super) fn source(&mut self, index: usize, ty: Type) -> Result<Value, Fail> {
        let operand = self.operand(index)?;
        self.value(operand, ty)
    }

    pub(super) fn value(&mut self, operand: &'a Operand, ty: Type) -> Result<Value, Fail> {
        let class = class_of(ty);
        match operand {
            Operand::Register(register) => {
                let found = self.register_type(*register);
                if class_of(found) != class
                    // Registers of 16 and of 32 bits are held alike, and are not the same to PTX.
                    || (class == Class::Narrow && found.bytes() != ty.bytes())
                {
                    return Err(self.wrong_size(*register, ty));
                }
                Ok(Value::Reg(self.register(*register)))
            }
            Operand::Integer(value) => {
                let bits = if ty.bytes() < 4 {
                    value & ((1 << (8 * ty.bytes())) - 1)
                } else {
                    *value
                };
                self.bits(class, bits)
            }
            // A literal may be of the other precision: it stands for the same number.
            Operand::Float32(bits) if ty == Type::F64 => {
                self.bits(class, f64::from(f32::from_bits(*bits)).to_bits())
            }
            Operand::Float32(bits) => self.bits(class, u64::from(*bits)),
            Operand::Float64(bits) if class == Class::Wide => self.bits(class, *bits),
            Operand::Float64(bits) => {
                self.bits(class, u64::from((f64::from_bits(*bits) as f32).to_bits()))
            }
            Operand::Special(name, component) => self.special(name, *component, class),
            Operand::Symbol(name, addend) => self.symbol(name, *addend, class),
            _ => Err(self.fail(format!("{} cannot be a value here", shape_of(operand)))),
        }
    }

    pub(super) fn wrong_size(&self, register: RegisterId, ty: Type) -> Fail {
        let function = self.flat.scopes[self.scope].function;
        let register = &function.registers[register.0 as usize];
        self.fail(format!(
            "register {} of {} bits does not fit `{}`, which works on {} bits here",
            register.name,
            8 * register.ty.bytes(),
            self.inst.opcode.join("."),
            8 * ty.bytes()
        ))
    }

    /// Destination operand `index` of type `ty`; a sink gets a register that is never read.
    pub(super) fn destination(&mut self, index: usize, ty: Type) -> Result<VReg, Fail> {
        let operand = self.operand(index)?;
        self.destination_of(operand, ty)
    }

    pub(super) fn destination_of(&mut self, operand: &'a Operand, ty: Type) -> Result<VReg, Fail> {
        let class = class_of(ty);
        match operand {
            Operand::Register(register) => {
                let found = self.register_type(*register);
                if class_of(found) != class
                    || (class == Class::Narrow && found.bytes() != ty.bytes())
                {
                    return Err(self.wrong_size(*register, ty));
                }
                Ok(self.register(*register))
            }
            Operand::Sink => Ok(self.temporary(class)),
            _ => Err(self.fail("the destination must be a register")),
        }
    }

    /// A predicate source: register and whether it is negated.
    pub(super) fn predicate(&mut self, index: usize) -> Result<(VReg, bool), Fail> {
        match self.operand(index)? {
            Operand::Register(register) if self.register_type(*register) == Type::Pred => {
                Ok((self.register(*register), false))
            }
            Operand::NegatedRegister(register) if self.register_type(*register) == Type::Pred => {
                Ok((self.register(*register), true))
            }
            Operand::Integer(value) => {
                let constant = self.temporary(Class::Predicate);
                self.push(
                    Op::PredicateLogic,
                    &[constant],
                    &[Value::Reg(constant); 2],
                    // True whatever the operands are; false is its negation.
                    Aux::Immediate(0b1111),
                );
                Ok((constant, *value == 0))
            }
            Operand::Special(name, component) => {
                match self.special(name, *component, Class::Predicate)? {
                    Value::Reg(register) => Ok((register, false)),
                    _ => Err(self.fail(format!("%{name} is no predicate"))),
                }
            }
            _ => Err(self.fail(format!("operand {} must be a predicate", index + 1))),
        }
    }
}

/// What kind of operand it is, in words.
fn shape_of(operand: &Operand) -> String {
    match operand {
        Operand::Vector(parts) => format!("a vector of {} operands", parts.len()),
        Operand::Address(_) => "an address in brackets".to_owned(),
        _ => "this kind of operand".to_owned(),
    }
}
