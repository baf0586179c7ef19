//! Device functions, expanded where they are called, so that execution needs no call stack.

use super::ir::Label;
use super::{Fail, fail};
use crate::ast::{Function, Instruction, Line, Module, Operand, RegisterId, Space, Variable};
use std::collections::HashMap;

/// Instructions a kernel may have after expansion.
const INSTRUCTIONS_MAX: usize = 1 << 20;
/// How deep calls may nest.
const CALL_DEPTH_MAX: usize = 64;

/// Where a name of a function body refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// Offset in the kernel's argument block.
    KernelParam { offset: u32, bytes: u32 },
    /// Offset in the thread's local memory.
    Local(u32),
    /// Index into [`Flat::shared`].
    Shared(usize),
    /// Index into [`Flat::call_params`].
    CallParam(usize),
}

/// One function body expanded at one place.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub function: &'a Function,
    /// First of its registers in the kernel's numbering.
    pub register_base: u32,
    pub storage: HashMap<&'a str, Storage>,
    pub labels: HashMap<&'a str, Label>,
    /// Where `ret` goes; `None` in the kernel itself.
    pub return_label: Option<Label>,
}

/// One instruction of the expanded body.
#[derive(Clone, Debug)]
pub(super) enum FlatInst<'a> {
    /// As written in scope `scope`.
    Plain { scope: usize, inst: &'a Instruction },
    /// A call of something that is not expanded; the name is the callee's.
    System {
        scope: usize,
        inst: &'a Instruction,
        name: &'a str,
        results: &'a [Operand],
        arguments: &'a [Operand],
    },
    /// The call itself: counts as an instruction.
    Call {
        scope: usize,
        inst: &'a Instruction,
        enter: Option<Label>,
    },
    /// A register argument or result: destination and source, each with its scope.
    Pass {
        inst: &'a Instruction,
        to: Side<'a>,
        from: Side<'a>,
    },
    /// A register or literal handed over as a `.param` one.
    PassParam {
        inst: &'a Instruction,
        scope: usize,
        param: usize,
        value: &'a Operand,
    },
    /// The reverse for a result.
    TakeParam {
        inst: &'a Instruction,
        scope: usize,
        param: usize,
        into: &'a Operand,
    },
}

/// One end of a value's way into or out of a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side<'a> {
    /// As written in that scope.
    Operand(usize, &'a Operand),
    /// That register of that scope.
    Register(usize, RegisterId),
}

/// A shared variable of the expanded kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedVariable<'a> {
    pub variable: &'a Variable,
}

/// A kernel with everything it calls.
#[derive(Debug, Default)]
pub(super) struct Flat<'a> {
    pub insts: Vec<FlatInst<'a>>,
    pub scopes: Vec<Scope<'a>>,
    /// Position in `insts` of each label.
    pub labels: Vec<usize>,
    pub register_count: u32,
    pub local_bytes: u64,
    pub shared: Vec<SharedVariable<'a>>,
    /// Parameter variables of calls: what is passed through them stays within the thread.
    pub call_params: Vec<&'a Variable>,
}

/// Expands `kernel`.
pub(super) fn expand<'a>(module: &'a Module, kernel: &'a Function) -> Result<Flat<'a>, Fail> {
    let functions = module
        .functions
        .iter()
        .map(|function| (function.name.as_str(), function))
        .collect();
    let aliases = module
        .aliases
        .iter()
        .map(|(alias, name)| (alias.as_str(), name.as_str()))
        .collect();
    let mut expander = Expander {
        functions,
        aliases,
        active: Vec::new(),
        flat: Flat::default(),
        shared: HashMap::new(),
    };
    let mut storage = HashMap::new();
    for (param, (offset, bytes)) in kernel.params.iter().zip(super::param_layout(kernel)) {
        storage.insert(param.name.as_str(), Storage::KernelParam { offset, bytes });
    }
    expander.function(kernel, storage, None, 0)?;
    Ok(expander.flat)
}

struct Expander<'a> {
    functions: HashMap<&'a str, &'a Function>,
    aliases: HashMap<&'a str, &'a str>,
    active: Vec<&'a str>,
    flat: Flat<'a>,
    shared: HashMap<(&'a str, &'a str), usize>,
}

impl<'a> Expander<'a> {
    /// Appends the body of `function`; its scope's index.
    fn function(
        &mut self,
        function: &'a Function,
        mut storage: HashMap<&'a str, Storage>,
        return_label: Option<Label>,
        frame: u64,
    ) -> Result<usize, Fail> {
        let scope = self.flat.scopes.len();
        let frame = self.variables(function, &mut storage, frame)?;
        let first_label = self.flat.labels.len() as u32;
        self.flat
            .labels
            .resize(self.flat.labels.len() + function.labels.len(), usize::MAX);
        let labels = function
            .labels
            .iter()
            .zip(first_label..)
            .map(|((name, _), id)| (name.as_str(), Label(id)));
        self.flat.scopes.push(Scope {
            function,
            register_base: self.flat.register_count,
            storage,
            labels: labels.collect(),
            return_label,
        });
        self.flat.register_count += function.registers.len() as u32;
        self.active.push(&function.name);
        let mut marks: Vec<(usize, u32)> = function
            .labels
            .iter()
            .zip(first_label..)
            .map(|((_, at), id)| (*at, id))
            .collect();
        marks.sort_unstable();
        let mut marks = marks.into_iter().peekable();
        for (at, inst) in function.body.iter().enumerate() {
            while let Some((_, id)) = marks.next_if(|(mark, _)| *mark <= at) {
                self.flat.labels[id as usize] = self.flat.insts.len();
            }
            self.instruction(scope, inst, frame)?;
        }
        for (_, id) in marks {
            self.flat.labels[id as usize] = self.flat.insts.len();
        }
        self.active.pop();
        Ok(scope)
    }

    /// Gives the variables of `function` their storage; where the next frame may begin.
    fn variables(
        &mut self,
        function: &'a Function,
        storage: &mut HashMap<&'a str, Storage>,
        mut frame: u64,
    ) -> Result<u64, Fail> {
        for variable in &function.variables {
            let place = match variable.space {
                Space::Local => {
                    frame = frame.next_multiple_of(variable.align.max(1));
                    let offset = frame;
                    frame = frame.saturating_add(variable.bytes);
                    if frame > u64::from(u32::MAX / 2) {
                        return Err(fail(
                            variable.line,
                            format!("local variable {} makes the frame too large", variable.name),
                        ));
                    }
                    Storage::Local(offset as u32)
                }
                Space::Shared => Storage::Shared(self.shared_variable(&function.name, variable)),
                Space::Param => {
                    self.flat.call_params.push(variable);
                    Storage::CallParam(self.flat.call_params.len() - 1)
                }
                _ => continue,
            };
            storage.insert(&variable.name, place);
        }
        self.flat.local_bytes = self.flat.local_bytes.max(frame);
        Ok(frame)
    }

    /// A shared variable exists once, however often its function is expanded.
    fn shared_variable(&mut self, function: &'a str, variable: &'a Variable) -> usize {
        let shared = &mut self.flat.shared;
        *self
            .shared
            .entry((function, &variable.name))
            .or_insert_with(|| {
                shared.push(SharedVariable { variable });
                shared.len() - 1
            })
    }

    fn push(&mut self, line: Line, inst: FlatInst<'a>) -> Result<(), Fail> {
        if self.flat.insts.len() >= INSTRUCTIONS_MAX {
            let message = format!(
                "more than {INSTRUCTIONS_MAX} instructions after expanding device functions"
            );
            return Err(fail(line, message)
                .help("compile with fewer inlined call sites, or split the kernel"));
        }
        self.flat.insts.push(inst);
        Ok(())
    }

    fn instruction(&mut self, scope: usize, inst: &'a Instruction, frame: u64) -> Result<(), Fail> {
        if inst.opcode.first().is_some_and(|root| root == "call") {
            return self.call(scope, inst, frame);
        }
        self.push(inst.line, FlatInst::Plain { scope, inst })
    }

    fn call(&mut self, scope: usize, inst: &'a Instruction, frame: u64) -> Result<(), Fail> {
        let line = inst.line;
        let (results, rest): (&[Operand], _) = match inst.operands.as_slice() {
            [Operand::List(results), rest @ ..] => (results, rest),
            rest => (&[], rest),
        };
        let (name, arguments): (&str, &[Operand]) = match rest {
            [Operand::Symbol(name, 0)] => (name, &[]),
            [Operand::Symbol(name, 0), Operand::List(arguments), ..] => (name, arguments),
            _ => {
                return Err(fail(line, "indirect calls are not supported").help(
                    "call the function by its name, or replace the function pointer by a switch",
                ));
            }
        };
        let name = self.aliases.get(name).copied().unwrap_or(name);
        let Some(&function) = self
            .functions
            .get(name)
            .filter(|function| function.has_body)
        else {
            return self.push(
                line,
                FlatInst::System {
                    scope,
                    inst,
                    name,
                    results,
                    arguments,
                },
            );
        };
        if self.active.contains(&name) {
            return Err(fail(
                line,
                format!(
                    "recursive call of {name}: device functions are expanded where they are called"
                ),
            )
            .help("rewrite the recursion as a loop"));
        }
        if self.active.len() >= CALL_DEPTH_MAX {
            return Err(fail(
                line,
                format!("calls nest deeper than {CALL_DEPTH_MAX}"),
            ));
        }
        if function.params.len() != arguments.len() || function.returns.len() != results.len() {
            return Err(fail(
                line,
                format!(
                    "{name} takes {} parameters and returns {}, the call has {} and {}",
                    function.params.len(),
                    function.returns.len(),
                    arguments.len(),
                    results.len()
                ),
            ));
        }
        self.expand_call(scope, inst, function, (results, arguments), frame)
    }

    fn expand_call(
        &mut self,
        scope: usize,
        inst: &'a Instruction,
        function: &'a Function,
        (results, arguments): (&'a [Operand], &'a [Operand]),
        frame: u64,
    ) -> Result<(), Fail> {
        let line = inst.line;
        let skip = self.label();
        self.push(
            line,
            FlatInst::Call {
                scope,
                inst,
                enter: inst.guard.is_some().then_some(skip),
            },
        )?;
        let mut storage = HashMap::new();
        let mut returned = Vec::new();
        // Register results come first in the callee's registers, then register parameters.
        let callee = self.flat.scopes.len();
        let mut next_register = 0;
        for (formal, actual) in function.returns.iter().zip(results) {
            if formal.space == Space::Register {
                let from = Side::Register(callee, RegisterId(next_register));
                returned.push(FlatInst::Pass {
                    inst,
                    to: Side::Operand(scope, actual),
                    from,
                });
                next_register += 1;
                continue;
            }
            let param = self.shared_param(scope, formal, actual);
            if !matches!(actual, Operand::Symbol(..)) {
                returned.push(FlatInst::TakeParam {
                    inst,
                    scope,
                    param,
                    into: actual,
                });
            }
            storage.insert(formal.name.as_str(), Storage::CallParam(param));
        }
        for (formal, actual) in function.params.iter().zip(arguments) {
            if formal.space == Space::Register {
                let to = Side::Register(callee, RegisterId(next_register));
                self.push(
                    line,
                    FlatInst::Pass {
                        inst,
                        to,
                        from: Side::Operand(scope, actual),
                    },
                )?;
                next_register += 1;
                continue;
            }
            let param = self.shared_param(scope, formal, actual);
            if !matches!(actual, Operand::Symbol(..)) {
                self.push(
                    line,
                    FlatInst::PassParam {
                        inst,
                        scope,
                        param,
                        value: actual,
                    },
                )?;
            }
            storage.insert(formal.name.as_str(), Storage::CallParam(param));
        }
        let end = self.label();
        self.function(function, storage, Some(end), frame)?;
        self.flat.labels[end.0 as usize] = self.flat.insts.len();
        for pass in returned {
            self.push(line, pass)?;
        }
        self.flat.labels[skip.0 as usize] = self.flat.insts.len();
        Ok(())
    }

    fn label(&mut self) -> Label {
        self.flat.labels.push(usize::MAX);
        Label(self.flat.labels.len() as u32 - 1)
    }

    /// The variable both sides of a call mean: the caller's own, or a new one where it passes a register or literal.
    fn shared_param(&mut self, scope: usize, formal: &'a Variable, actual: &'a Operand) -> usize {
        if let Operand::Symbol(name, 0) = actual
            && let Some(Storage::CallParam(param)) =
                self.flat.scopes[scope].storage.get(name.as_str())
        {
            return *param;
        }
        self.flat.call_params.push(formal);
        self.flat.call_params.len() - 1
    }
}
