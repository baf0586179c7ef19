//! What every opcode family needs: operands by kind, destinations, emission.

use super::super::inline::{Flat, FlatInst};
use super::super::params::Placed;
use super::super::program::{Aux, Class, Label, Micro, Program, VReg, Value};
use super::super::{Fail, fail};
use super::modifiers::Modifiers;
use crate::ast::{Instruction, Space, Type};
use crate::ir::code::Launchable;
use crate::ir::info::{InstructionClass, InstructionInfo};
use crate::ir::op::Op;
use crate::window;
use std::cell::Cell;
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
    /// Addresses of the functions that have one.
    pub functions: &'a HashMap<&'a str, u64>,
    pub module: &'a crate::ast::Module,
    /// What kernels of the module can launch.
    pub kernels: &'a Arc<[Launchable]>,
    pub placed: &'a Placed,
}

/// State of decoding one kernel.
pub(super) struct Decoder<'a> {
    pub flat: &'a Flat<'a>,
    pub names: &'a Names<'a>,
    pub program: Program,
    infos: Vec<InstructionInfo>,
    /// High halves of 128-bit registers.
    pub high_halves: HashMap<VReg, VReg>,
    /// Held by the carry instructions.
    pub carry: Option<VReg>,
    pub scope: usize,
    pub inst: &'a Instruction,
    /// Operands of it that were looked at, from the first on.
    pub looked_at: Cell<usize>,
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
        looked_at: Cell::new(0),
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

pub(super) fn class_of(ty: Type) -> Class {
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
        | FlatInst::Real { inst, .. }
        | FlatInst::Enter { inst, .. }
        | FlatInst::End { inst, .. }
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
        let subroutines = flat.subroutines.iter().zip(&self.names.placed.frame_bytes);
        self.program.subroutines = subroutines
            .map(|(subroutine, &bytes)| (subroutine.entry, bytes))
            .collect();
        Ok(())
    }

    fn flat_inst(&mut self, inst: &FlatInst<'a>) -> Result<(), Fail> {
        self.inst = ast_of(inst);
        self.looked_at.set(0);
        self.guard = None;
        match *inst {
            FlatInst::Plain { scope, inst } => {
                self.begin(scope);
                self.plain_inst(inst)
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
                    // A guarded call: all other lanes go around it.
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
            FlatInst::Real { scope, call, .. } => self.real_call(scope, call),
            FlatInst::Enter { scope, .. } => {
                self.attach(scope);
                self.take_register_params()
            }
            FlatInst::End { scope, .. } => {
                self.attach(scope);
                self.leave()
            }
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

    /// Decodes an instruction by its row of the table, which has to make something of each part and operand of it.
    fn plain_inst(&mut self, inst: &'a Instruction) -> Result<(), Fail> {
        let mut modifiers = Modifiers::new(&inst.opcode);
        let Some(row) = super::find(modifiers.name) else {
            return Err(self.unknown_opcode());
        };
        self.info().class = row.class;
        (row.decode)(self, &mut modifiers)
            .map_err(|error| error.help_if_none(|| supported(row)))?;
        if let Some(left) = modifiers.left() {
            let message = format!("`.{left}` is not supported on `{}`", inst.opcode.join("."));
            return Err(fail(inst.line, message).help(supported(row)));
        }
        // The last operand is then how caches shall treat the bytes.
        let is_hinted = inst.opcode.iter().any(|part| part == "L2::cache_hint");
        let known = self.looked_at.get() + usize::from(is_hinted);
        let given = inst.operands.len();
        if given > known && !modifiers.are_ignored() {
            let opcode = inst.opcode.join(".");
            let message =
                format!("`{opcode}` with {given} operands is not supported: it takes {known}");
            return Err(fail(inst.line, message).help(supported(row)));
        }
        Ok(())
    }

    /// What follows counts as part of the instruction before it.
    fn attach(&mut self, scope: usize) {
        self.scope = scope;
        self.guard = None;
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
            caller: inst.caller,
            reads: Vec::new(),
            writes: Vec::new(),
            is_erased: false,
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

    pub(super) fn label(&self, name: &str) -> Result<Label, Fail> {
        let scope = &self.flat.scopes[self.scope];
        scope
            .labels
            .get(name)
            .copied()
            .ok_or_else(|| self.fail(format!("label `{name}` is not defined in this function")))
    }

    /// A label of the decoder's own, to be set.
    pub(super) fn new_label(&mut self) -> Label {
        self.program.labels.push(usize::MAX);
        Label(self.program.labels.len() as u32 - 1)
    }

    /// `label` stands before what is emitted next.
    pub(super) fn set_label(&mut self, label: Label) {
        self.program.labels[label.0 as usize] = self.program.micros.len();
    }

    /// Lanes that the instruction's guard leaves out go on at `label`; what follows has no guard.
    pub(super) fn skip_unless_guarded(&mut self, label: Label) {
        if let Some((register, negated)) = self.guard.take() {
            self.push_guarded(Op::Branch, Aux::Target(label), Some((register, !negated)));
        }
    }

    /// What follows counts, waits and orders as an instruction `opcode` of its own.
    pub(super) fn continue_as(&mut self, opcode: &str) {
        let info = InstructionInfo {
            opcode: Arc::from(opcode),
            reads: Vec::new(),
            writes: Vec::new(),
            ..self.info().clone()
        };
        self.infos.push(info);
    }

    // Emission.

    pub(super) fn push(&mut self, op: Op, dsts: &[VReg], srcs: &[Value], aux: Aux) {
        let guard = self.guard;
        self.emit(op, dsts, srcs, aux, guard);
    }

    pub(super) fn push_guarded(&mut self, op: Op, aux: Aux, guard: Option<(VReg, bool)>) {
        self.emit(op, &[], &[], aux, guard);
    }

    /// The same, only where `condition` holds as well as the instruction's guard.
    pub(super) fn push_if(
        &mut self,
        condition: VReg,
        op: Op,
        dsts: &[VReg],
        srcs: &[Value],
        aux: Aux,
    ) {
        let Some((guard, negated)) = self.guard else {
            return self.emit(op, dsts, srcs, aux, Some((condition, false)));
        };
        let both = self.temporary(Class::Predicate);
        self.guard = None;
        self.logic(both, (guard, negated), (condition, false), 0b1000);
        self.emit(op, dsts, srcs, aux, Some((both, false)));
        self.guard = Some((guard, negated));
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

    pub(super) fn class(&self, value: Value) -> Class {
        match value {
            Value::Reg(register) => self.program.class(register),
            Value::Narrow(_) => Class::Narrow,
            Value::Wide(_) => Class::Wide,
        }
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
        function: crate::ir::code::ScalarFn,
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
        function: crate::ir::code::ScalarFn,
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
