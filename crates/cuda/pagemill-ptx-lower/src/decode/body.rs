//! Decodes a kernel's body, instruction by instruction, by the table of opcodes.

use super::context::{Decoded, Decoder, Names, class_of};
use super::modifiers::Modifiers;
use super::{OPCODES, SupportedOpcode, find};
use crate::expand::inline::{Flat, FlatInst};
use crate::fail::{Fail, fail};
use crate::flow::program::{Aux, Class, Program, VReg};
use pagemill_ptx_ir::ast::{Instruction, Type};
use pagemill_ptx_ir::info::InstructionClass;
use pagemill_ptx_ir::op::Op;
use std::cell::Cell;
use std::collections::HashMap;

/// Turns the expanded kernel into micro-operations.
pub(crate) fn decode<'a>(flat: &'a Flat<'a>, names: &'a Names<'a>) -> Result<Decoded, Fail> {
    let mut program = Program::default();
    let mut high_halves = HashMap::new();
    for scope in &flat.scopes {
        for register in &scope.function.registers {
            program.register(class_of(register.ty));
        }
    }
    for scope in &flat.scopes {
        for (register, id) in scope.function.registers.iter().zip(scope.register_base..) {
            // The register itself is the lower half of its 128 bits.
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
        let Some(row) = find(modifiers.name) else {
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

    fn unknown_opcode(&self) -> Fail {
        let name = self.inst.opcode.first().map_or("", String::as_str);
        let near = OPCODES
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
}

fn supported(row: &SupportedOpcode) -> String {
    format!("supported: {} {}", row.name, row.forms)
}
