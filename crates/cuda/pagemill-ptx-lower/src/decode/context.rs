//! What every opcode family needs: operands by kind, destinations, emission.

use crate::expand::inline::Flat;
use crate::expand::params::Placed;
use crate::fail::{Fail, fail};
use crate::flow::program::{Aux, Class, Label, Micro, Program, VReg, Value};
use pagemill_ptx_ir::address::window;
use pagemill_ptx_ir::ast::{Instruction, Space, Type};
use pagemill_ptx_ir::code::device_calls::Launchable;
use pagemill_ptx_ir::info::{InstructionClass, InstructionInfo};
use pagemill_ptx_ir::op::Op;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

/// A decoded kernel body.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub program: Program,
    pub infos: Vec<InstructionInfo>,
}

/// Where the shared variables of a kernel lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedLayout {
    /// By index in [`Flat::shared`].
    pub offsets: Vec<u32>,
    /// Module-level shared variables that the kernel names.
    pub module: HashMap<String, u32>,
    pub bytes: u32,
}

/// What the decoder looks names up in.
pub(crate) struct Names<'a> {
    /// Index and space of each module-level variable.
    pub variables: &'a HashMap<&'a str, (u32, Space)>,
    pub shared: &'a SharedLayout,
    /// Addresses of the functions that have one.
    pub functions: &'a HashMap<&'a str, u64>,
    pub module: &'a pagemill_ptx_ir::ast::Module,
    /// What kernels of the module can launch.
    pub kernels: &'a Arc<[Launchable]>,
    pub placed: &'a Placed,
}

/// State of decoding one kernel.
pub(super) struct Decoder<'a> {
    pub flat: &'a Flat<'a>,
    pub names: &'a Names<'a>,
    pub program: Program,
    pub infos: Vec<InstructionInfo>,
    /// High halves of 128-bit registers.
    pub high_halves: HashMap<VReg, VReg>,
    /// Held by the carry instructions.
    pub carry: Option<VReg>,
    pub scope: usize,
    pub inst: &'a Instruction,
    /// Operands of it that were looked at, from the first on.
    pub looked_at: Cell<usize>,
    pub guard: Option<(VReg, bool)>,
    /// Opcodes already seen, so that equal ones share their text.
    pub opcodes: HashMap<String, Arc<str>>,
    /// Registers that stand for parts of call parameters, by parameter and offset.
    pub param_registers: HashMap<(usize, u64), VReg>,
}

pub(super) fn class_of(ty: Type) -> Class {
    match ty {
        Type::Pred => Class::Predicate,
        ty if ty.bytes() >= 8 => Class::Wide,
        _ => Class::Narrow,
    }
}

impl<'a> Decoder<'a> {
    /// What follows counts as part of the instruction before it.
    pub(super) fn attach(&mut self, scope: usize) {
        self.scope = scope;
        self.guard = None;
    }

    /// Starts a PTX instruction: its info and its guard.
    pub(super) fn begin(&mut self, scope: usize) {
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
        // Computed for all lanes: those that the guard leaves out need a predicate that does not hold.
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
        function: pagemill_ptx_ir::code::ScalarFn,
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
        function: pagemill_ptx_ir::code::ScalarFn,
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
        // Negations go into the table, so that the machine has one form for all: bit a + 2 b of it is the result.
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

/// The generic address of offset 0 of `space`'s window.
pub(super) fn window_base(space: Space) -> u64 {
    match space {
        Space::Shared => window::SHARED,
        Space::Local => window::LOCAL,
        Space::Param => window::PARAM,
        _ => 0,
    }
}
