//! What every opcode family needs: operands by kind, destinations, emission.

use super::super::inline::{Flat, FlatInst, Side, Storage};
use super::super::ir::{Aux, Class, Label, Micro, Program, ServiceAux, VReg, Value};
use super::super::params::ParamStorage;
use super::super::{Fail, fail};
use super::modifiers::Modifiers;
use crate::ast::{Instruction, Operand, RegisterId, Space, Type};
use crate::code::{ClockPart, Constant, LaneMask, Preset};
use crate::exec::op::Op;
use crate::kernel::{InstructionClass, InstructionInfo};
use crate::window;
use std::collections::HashMap;
use std::sync::Arc;

/// A decoded kernel body.
#[derive(Debug)]
pub(in super::super) struct Decoded {
    pub program: Program,
    pub infos: Vec<InstructionInfo>,
}

/// Where the shared variables of a kernel lie.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct SharedLayout {
    /// By index in [`Flat::shared`].
    pub offsets: Vec<u32>,
    /// Module-level shared variables that the kernel names.
    pub module: HashMap<String, u32>,
    pub bytes: u32,
}

/// What the decoder looks names up in.
pub(in super::super) struct Names<'a> {
    /// Index and space of each module-level variable.
    pub variables: &'a HashMap<&'a str, (u32, Space)>,
    pub shared: &'a SharedLayout,
    pub params: &'a [ParamStorage],
}

/// State of decoding one kernel.
pub(super) struct Decoder<'a> {
    pub flat: &'a Flat<'a>,
    pub names: &'a Names<'a>,
    pub program: Program,
    infos: Vec<InstructionInfo>,
    /// High halves of 128-bit registers.
    high_halves: HashMap<VReg, VReg>,
    /// Held by the carry instructions.
    carry: Option<VReg>,
    pub scope: usize,
    pub inst: &'a Instruction,
    guard: Option<(VReg, bool)>,
    /// Opcodes already seen, so that equal ones share their text.
    opcodes: HashMap<String, Arc<str>>,
    /// Registers that stand for parts of call parameters, by parameter and offset.
    pub param_registers: HashMap<(usize, u64), VReg>,
}

/// Turns the expanded kernel into micro-operations.
pub(in super::super) fn decode<'a>(
    flat: &'a Flat<'a>,
    names: &'a Names<'a>,
) -> Result<Decoded, Fail> {
    let mut program = Program::default();
    let mut high_halves = HashMap::new();
    for scope in &flat.scopes {
        for register in &scope.function.registers {
            program.register(class_of(register.ty));
        }
    }
    for scope in &flat.scopes {
        for (register, id) in scope.function.registers.iter().zip(scope.register_base..) {
            if register.ty == Type::B128 {
                high_halves.insert(VReg(id), program.register(Class::Wide));
            }
        }
    }
    program.labels = vec![usize::MAX; flat.labels.len()];
    let Some(first) = flat.insts.first() else {
        return Ok(Decoded {
            program,
            infos: Vec::new(),
        });
    };
    let mut decoder = Decoder {
        flat,
        names,
        program,
        infos: Vec::new(),
        high_halves,
        carry: None,
        scope: 0,
        inst: ast_of(first),
        guard: None,
        opcodes: HashMap::new(),
        param_registers: HashMap::new(),
    };
    decoder.body()?;
    Ok(Decoded {
        program: decoder.program,
        infos: decoder.infos,
    })
}

fn class_of(ty: Type) -> Class {
    match ty {
        Type::Pred => Class::Predicate,
        ty if ty.bytes() >= 8 => Class::Wide,
        _ => Class::Narrow,
    }
}

fn ast_of<'a>(inst: &FlatInst<'a>) -> &'a Instruction {
    match inst {
        FlatInst::Plain { inst, .. }
        | FlatInst::System { inst, .. }
        | FlatInst::Call { inst, .. }
        | FlatInst::Pass { inst, .. }
        | FlatInst::PassParam { inst, .. }
        | FlatInst::TakeParam { inst, .. } => inst,
    }
}

impl<'a> Decoder<'a> {
    fn body(&mut self) -> Result<(), Fail> {
        let flat = self.flat;
        let mut marks: Vec<(usize, usize)> = flat
            .labels
            .iter()
            .copied()
            .enumerate()
            .map(|(id, at)| (at, id))
            .collect();
        marks.sort_unstable();
        let mut marks = marks.into_iter().peekable();
        for (at, inst) in flat.insts.iter().enumerate() {
            while let Some((_, id)) = marks.next_if(|(mark, _)| *mark <= at) {
                self.program.labels[id] = self.program.micros.len();
            }
            self.flat_inst(inst)?;
        }
        let end = self.program.micros.len();
        for (_, id) in marks {
            self.program.labels[id] = end;
        }
        Ok(())
    }

    fn flat_inst(&mut self, inst: &FlatInst<'a>) -> Result<(), Fail> {
        self.inst = ast_of(inst);
        self.guard = None;
        match *inst {
            FlatInst::Plain { scope, inst } => {
                self.begin(scope);
                let mut modifiers = Modifiers::new(&inst.opcode);
                let Some(row) = super::find(modifiers.name) else {
                    return Err(self.unknown_opcode());
                };
                self.info().class = row.class;
                (row.decode)(self, &mut modifiers)
                    .map_err(|error| error.help_if_none(|| supported(row)))?;
                if let Some(left) = modifiers.left() {
                    let message =
                        format!("`.{left}` is not supported on `{}`", inst.opcode.join("."));
                    return Err(fail(inst.line, message).help(supported(row)));
                }
                Ok(())
            }
            FlatInst::System {
                scope,
                name,
                results,
                arguments,
                ..
            } => {
                self.begin(scope);
                self.info().class = InstructionClass::Control;
                self.system_call(name, results, arguments)
            }
            FlatInst::Call { scope, enter, .. } => {
                self.begin(scope);
                self.info().class = InstructionClass::Control;
                match enter {
                    // A guarded call: everybody else goes around it.
                    Some(skip) => {
                        let (register, negated) = self.guard.take().unwrap_or((VReg(0), false));
                        self.push_guarded(
                            Op::Branch,
                            Aux::Target(skip),
                            Some((register, !negated)),
                        );
                    }
                    None => self.push(Op::Nop, &[], &[], Aux::None),
                }
                Ok(())
            }
            FlatInst::Pass { to, from, .. } => self.pass(to, from),
            FlatInst::PassParam {
                scope,
                param,
                value,
                ..
            } => self.pass_param(scope, param, value),
            FlatInst::TakeParam {
                scope, param, into, ..
            } => self.take_param(scope, param, into),
        }
    }

    /// Starts a PTX instruction: its info and its guard.
    fn begin(&mut self, scope: usize) {
        self.scope = scope;
        let inst = self.inst;
        self.guard = inst
            .guard
            .map(|guard| (self.register(guard.register), guard.negated));
        let text = inst.opcode.join(".");
        let opcode = self
            .opcodes
            .entry(text)
            .or_insert_with_key(|text| Arc::from(text.as_str()))
            .clone();
        self.infos.push(InstructionInfo {
            class: InstructionClass::Integer,
            opcode,
            line: inst.line,
            source: inst.source,
            reads: Vec::new(),
            writes: Vec::new(),
            block_leader: false,
            slot: None,
            wait_mask: 0,
        });
    }

    pub(super) fn info(&mut self) -> &mut InstructionInfo {
        self.infos
            .last_mut()
            .expect("every instruction begins with its info")
    }

    fn unknown_opcode(&self) -> Fail {
        let name = self.inst.opcode.first().map_or("", String::as_str);
        let near = super::OPCODES
            .iter()
            .map(|row| (strsim::damerau_levenshtein(row.name, name), row.name))
            .min();
        let error = self.fail(format!(
            "instruction `{}` is not supported",
            self.inst.opcode.join(".")
        ));
        match near {
            Some((distance, near)) if distance <= 1 && name.len() > 2 => error.help(format!("did you mean `{near}`?")),
            _ => error.help("recompile for compute_75 without features of newer architectures, or rewrite this statement"),
        }
    }

    pub(super) fn fail(&self, message: impl Into<String>) -> Fail {
        fail(self.inst.line, message)
    }

    /// The instruction cannot be decoded in this form.
    pub(super) fn bad_form(&self) -> Fail {
        self.fail(format!(
            "`{}` is not supported in this form",
            self.inst.opcode.join(".")
        ))
    }

    // Operands.

    pub(super) fn operand(&self, index: usize) -> Result<&'a Operand, Fail> {
        self.inst.operands.get(index).ok_or_else(|| {
            self.fail(format!(
                "`{}` needs more than {} operands",
                self.inst.opcode.join("."),
                self.inst.operands.len()
            ))
        })
    }

    pub(super) fn operand_count(&self) -> usize {
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
        let bits = if class == Class::Wide {
            bits
        } else {
            u64::from(bits as u32)
        };
        self.constant(class, Constant::Bits(bits))
    }

    /// Whether `value` is a literal other than zero.
    pub(super) fn is_known_not_zero(&self, value: Value) -> bool {
        let constant = match value {
            Value::Reg(_) => return false,
            Value::Narrow(index) => &self.program.narrow.constants[usize::from(index)],
            Value::Wide(index) => &self.program.wide.constants[usize::from(index)],
        };
        matches!(constant, Constant::Bits(bits) if *bits != 0)
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
            _ => Err(self.fail(format!("operand {operand:?} cannot be a value here"))),
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

    /// Destination operand `index` of type `ty`; a sink gets a register that nobody reads.
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
                    Aux::Immediate(0b1111),
                );
                Ok((constant, *value == 0))
            }
            _ => Err(self.fail(format!("operand {} must be a predicate", index + 1))),
        }
    }

    fn special(
        &mut self,
        name: &str,
        component: Option<char>,
        class: Class,
    ) -> Result<Value, Fail> {
        let axis = match component {
            None | Some('x') => Some(0),
            Some('y') => Some(1),
            Some('z') => Some(2),
            Some(_) => None,
        };
        let narrow = match (name, axis) {
            ("tid", Some(axis)) => self.preset(Preset::ThreadIndex(axis)),
            ("ctaid", Some(axis)) => self.preset(Preset::BlockIndex(axis)),
            ("ntid", Some(axis)) => self.constant(Class::Narrow, Constant::BlockDim(axis))?,
            ("nctaid", Some(axis)) => self.constant(Class::Narrow, Constant::GridDim(axis))?,
            (
                "tid" | "ctaid" | "gridid" | "smid" | "clusterid" | "cluster_ctaid"
                | "cluster_ctarank",
                _,
            ) => self.bits(Class::Narrow, 0)?,
            (
                "ntid" | "nctaid" | "nsmid" | "nclusterid" | "cluster_nctaid" | "cluster_nctarank",
                _,
            ) => self.bits(Class::Narrow, 1)?,
            ("laneid", _) => self.preset(Preset::Lane),
            ("warpid", _) => self.preset(Preset::Warp),
            ("nwarpid", _) => self.constant(Class::Narrow, Constant::WarpsPerBlock)?,
            ("lanemask_eq", _) => self.preset(Preset::LaneMask(LaneMask::Equal)),
            ("lanemask_le", _) => self.preset(Preset::LaneMask(LaneMask::LessEqual)),
            ("lanemask_lt", _) => self.preset(Preset::LaneMask(LaneMask::Less)),
            ("lanemask_ge", _) => self.preset(Preset::LaneMask(LaneMask::GreaterEqual)),
            ("lanemask_gt", _) => self.preset(Preset::LaneMask(LaneMask::Greater)),
            ("dynamic_smem_size", _) => {
                self.constant(Class::Narrow, Constant::DynamicSharedBytes)?
            }
            ("total_smem_size", _) => self.constant(Class::Narrow, Constant::TotalSharedBytes)?,
            ("clock" | "globaltimer_lo", _) => self.clock(ClockPart::Low),
            ("clock_hi" | "globaltimer_hi", _) => self.clock(ClockPart::High),
            ("clock64" | "globaltimer", _) => {
                let whole = self.clock(ClockPart::Whole);
                return match class {
                    Class::Wide => Ok(whole),
                    _ => Err(self.fail(format!("%{name} needs a 64-bit register"))),
                };
            }
            _ => return Err(self.fail(format!("special register %{name} is not supported"))),
        };
        match class {
            Class::Narrow => Ok(narrow),
            Class::Wide => {
                let wide = self.temporary(Class::Wide);
                self.push(Op::ZeroExtend32, &[wide], &[narrow], Aux::None);
                Ok(Value::Reg(wide))
            }
            Class::Predicate => Err(self.fail(format!("%{name} is no predicate"))),
        }
    }

    fn preset(&mut self, preset: Preset) -> Value {
        Value::Reg(self.program.preset(preset))
    }

    fn clock(&mut self, part: ClockPart) -> Value {
        let class = if part == ClockPart::Whole {
            Class::Wide
        } else {
            Class::Narrow
        };
        let dst = self.temporary(class);
        self.push(
            Op::Service,
            &[dst],
            &[],
            Aux::Service(ServiceAux::Clock(part)),
        );
        Value::Reg(dst)
    }

    /// What the name `name` stands for in the current scope.
    pub(super) fn storage(&self, name: &str) -> Option<Storage> {
        self.flat.scopes[self.scope].storage.get(name).copied()
    }

    /// The address of `name` in its own space.
    fn symbol(&mut self, name: &str, addend: i64, class: Class) -> Result<Value, Fail> {
        let place = |offset: u32| u64::from(offset).wrapping_add(addend as u64);
        let bits = match self.storage(name) {
            Some(Storage::KernelParam { offset, .. }) => place(offset),
            Some(Storage::Local(offset)) => place(offset),
            Some(Storage::Shared(index)) => place(self.names.shared.offsets[index]),
            Some(Storage::CallParam(index)) => match self.names.params[index] {
                ParamStorage::Local(offset) => place(offset),
                ParamStorage::Registers => {
                    return Err(self.fail(format!("the address of {name} cannot be taken here")));
                }
            },
            None => return self.module_symbol(name, addend, class),
        };
        self.bits(class, bits)
    }

    fn module_symbol(&mut self, name: &str, addend: i64, class: Class) -> Result<Value, Fail> {
        if let Some(offset) = self.names.shared.module.get(name) {
            return self.bits(class, u64::from(*offset).wrapping_add(addend as u64));
        }
        match self.names.variables.get(name) {
            Some((index, Space::Global | Space::Const)) => self.constant(
                class,
                Constant::Symbol {
                    index: *index,
                    addend,
                },
            ),
            _ => Err(self
                .fail(format!("`{name}` has no address that can be used here"))
                .help("function pointers, textures and surfaces are not supported")),
        }
    }

    pub(super) fn label(&self, name: &str) -> Result<Label, Fail> {
        let scope = &self.flat.scopes[self.scope];
        scope
            .labels
            .get(name)
            .copied()
            .ok_or_else(|| self.fail(format!("label `{name}` is not defined in this function")))
    }

    // Emission.

    pub(super) fn push(&mut self, op: Op, dsts: &[VReg], srcs: &[Value], aux: Aux) {
        let guard = self.guard;
        self.emit(op, dsts, srcs, aux, guard);
    }

    pub(super) fn push_guarded(&mut self, op: Op, aux: Aux, guard: Option<(VReg, bool)>) {
        self.emit(op, &[], &[], aux, guard);
    }

    fn emit(
        &mut self,
        op: Op,
        dsts: &[VReg],
        srcs: &[Value],
        aux: Aux,
        guard: Option<(VReg, bool)>,
    ) {
        let info = self.infos.len() as u32 - 1;
        let micro = Micro {
            op,
            dsts: dsts.to_vec(),
            srcs: srcs.to_vec(),
            guard,
            aux,
            info,
        };
        let entry = &mut self.infos[info as usize];
        entry
            .reads
            .extend(micro.sources().map(|register| register.0));
        entry.writes.extend(dsts.iter().map(|register| register.0));
        self.program.micros.push(micro);
    }

    /// `dst = op(srcs)`.
    pub(super) fn op(&mut self, op: Op, dst: VReg, srcs: &[Value]) {
        self.push(op, &[dst], srcs, Aux::None);
    }

    /// `op(srcs)` into a new register.
    pub(super) fn fresh(&mut self, op: Op, class: Class, srcs: &[Value]) -> Value {
        let dst = self.temporary(class);
        self.op(op, dst, srcs);
        Value::Reg(dst)
    }

    /// A lane function that has no vector form.
    pub(super) fn scalar(
        &mut self,
        function: crate::code::ScalarFn,
        immediate: u32,
        dst: VReg,
        srcs: &[Value],
    ) {
        self.push(
            Op::Scalar,
            &[dst],
            srcs,
            Aux::Scalar {
                function,
                immediate,
            },
        );
    }

    pub(super) fn scalar_fresh(
        &mut self,
        function: crate::code::ScalarFn,
        immediate: u32,
        class: Class,
        srcs: &[Value],
    ) -> Value {
        let dst = self.temporary(class);
        self.scalar(function, immediate, dst, srcs);
        Value::Reg(dst)
    }

    /// `dst = table[a, b]` on predicates.
    pub(super) fn logic(&mut self, dst: VReg, a: (VReg, bool), b: (VReg, bool), table: u32) {
        let mut folded = 0;
        for index in 0..4u32 {
            let input = (index & 1 ^ u32::from(a.1)) | ((index >> 1 ^ u32::from(b.1)) << 1);
            folded |= (table >> input & 1) << index;
        }
        self.push(
            Op::PredicateLogic,
            &[dst],
            &[Value::Reg(a.0), Value::Reg(b.0)],
            Aux::Immediate(folded),
        );
    }

    // Calls.

    /// Moves a register argument or result between scopes.
    fn pass(&mut self, to: Side<'a>, from: Side<'a>) -> Result<(), Fail> {
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

    pub(super) fn copy(&mut self, dst: VReg, value: Value) {
        match (self.program.class(dst), value) {
            (Class::Predicate, Value::Reg(source)) => {
                self.logic(dst, (source, false), (source, false), 0b1000)
            }
            (Class::Wide, value) => self.op(Op::Move64, dst, &[value]),
            (_, value) => self.op(Op::Move32, dst, &[value]),
        }
    }
}

fn supported(row: &super::SupportedOpcode) -> String {
    format!("supported: {} {}", row.name, row.forms)
}

/// The generic address of offset 0 of `space`'s window.
pub(super) fn window_base(space: Space) -> u64 {
    match space {
        Space::Shared => window::SHARED,
        Space::Local => window::LOCAL,
        Space::Param => window::PARAM,
        _ => 0,
    }
}
