//! Device functions, expanded where they are called, so that execution needs no call stack. What cannot be expanded is a
//! subroutine with a frame on the thread's stack: a function that calls itself, or one that is called by its address.

use crate::built_in::built_in;
use crate::expand::signature::{Signature, param_layout};
use crate::fail::{Fail, fail};
use crate::flow::program::Label;
use pagemill_ptx_ir::ast::{
    Function, Instruction, Line, Module, Operand, RegisterId, Space, Variable,
};
use pagemill_ptx_ir::code::device_calls::find;
use std::collections::{HashMap, HashSet};

/// Instructions a kernel may have after expansion.
const INSTRUCTIONS_MAX: usize = 1 << 20;
/// How deep calls are expanded.
const CALL_DEPTH_MAX: usize = 64;

/// Where a name of a function body refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// Offset in the kernel's argument block.
    KernelParam { offset: u32, bytes: u32 },
    /// Offset in the thread's local memory.
    Local(u32),
    /// Index into [`Flat::shared`].
    Shared(usize),
    /// Index into [`Flat::call_params`].
    CallParam(usize),
    /// Offset in the frame of the subroutine.
    Frame(u32),
    /// Offset in the results and parameters that the subroutine was called with.
    Argument(u32),
}

/// One function body expanded at one place.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub function: &'a Function,
    /// First of its registers in the kernel's numbering.
    pub register_base: u32,
    pub storage: HashMap<&'a str, Storage>,
    pub labels: HashMap<&'a str, Label>,
    /// Where `ret` goes; `None` in the kernel itself, and where a subroutine returns to its caller.
    pub return_label: Option<Label>,
    /// The subroutine that it is part of; `None` in the kernel.
    pub subroutine: Option<usize>,
}

/// A function that is called rather than expanded.
#[derive(Clone, Debug)]
pub(crate) struct Subroutine<'a> {
    pub function: &'a Function,
    pub entry: Label,
    pub signature: Signature<'a>,
    /// Bytes of its variables, and of those of what is expanded in it.
    pub frame_bytes: u64,
}

/// A call that is not expanded.
#[derive(Clone, Debug)]
pub(crate) struct RealCall<'a> {
    pub signature: Signature<'a>,
    pub callee: Callee<'a>,
    pub results: &'a [Operand],
    pub arguments: &'a [Operand],
}

#[derive(Clone, Debug)]
pub(crate) enum Callee<'a> {
    /// Index into [`Flat::subroutines`].
    Subroutine(usize),
    /// By address; with the functions it may reach: address and index into [`Flat::subroutines`].
    Address(&'a Operand, Vec<(u64, usize)>),
}

/// One instruction of the expanded body.
#[derive(Clone, Debug)]
pub(crate) enum FlatInst<'a> {
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
    /// A call that is not expanded, behind its [`FlatInst::Call`].
    Real {
        scope: usize,
        inst: &'a Instruction,
        /// Index into [`Flat::real_calls`].
        call: usize,
    },
    /// Takes the parameters of a subroutine that are registers.
    Enter { scope: usize, inst: &'a Instruction },
    /// The end of the kernel or of a subroutine, where the text does not say so.
    End { scope: usize, inst: &'a Instruction },
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
pub(crate) enum Side<'a> {
    /// As written in that scope.
    Operand(usize, &'a Operand),
    /// That register of that scope.
    Register(usize, RegisterId),
}

/// A shared variable of the expanded kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedVariable<'a> {
    pub variable: &'a Variable,
}

/// A kernel with everything it calls.
#[derive(Debug, Default)]
pub(crate) struct Flat<'a> {
    pub insts: Vec<FlatInst<'a>>,
    pub scopes: Vec<Scope<'a>>,
    /// Position in `insts` of each label.
    pub labels: Vec<usize>,
    pub register_count: u32,
    pub local_bytes: u64,
    pub shared: Vec<SharedVariable<'a>>,
    /// Parameter variables of calls: what is passed through them stays within the thread.
    pub call_params: Vec<&'a Variable>,
    /// The subroutine that each of them belongs to; `None` is the kernel.
    pub call_param_owners: Vec<Option<usize>>,
    pub subroutines: Vec<Subroutine<'a>>,
    pub real_calls: Vec<RealCall<'a>>,
}

/// Why an expansion was given up.
pub(crate) enum Stop {
    Fail(Fail),
    /// This function must be called.
    Call(String),
    /// Every function must be called: all expanded are too much.
    CallAll,
}

impl From<Fail> for Stop {
    fn from(fail: Fail) -> Self {
        Self::Fail(fail)
    }
}

/// Functions that are called rather than expanded.
#[derive(Default)]
struct Called {
    names: HashSet<String>,
    all: bool,
}

/// Expands `kernel`. `pointed` are the functions whose address the module takes, with their addresses.
pub(crate) fn expand<'a>(
    module: &'a Module,
    pointed: &HashMap<&'a str, u64>,
    kernel: &'a Function,
) -> Result<Flat<'a>, Fail> {
    let mut called = Called::default();
    loop {
        match attempt(module, pointed, kernel, &called) {
            Ok(flat) => return Ok(flat),
            Err(Stop::Fail(fail)) => return Err(fail),
            // From the start again: what is expanded already may hold calls of it. Few kernels need a second attempt.
            Err(Stop::Call(name)) => drop(called.names.insert(name)),
            Err(Stop::CallAll) => called.all = true,
        }
    }
}

fn attempt<'a>(
    module: &'a Module,
    pointed: &HashMap<&'a str, u64>,
    kernel: &'a Function,
    called: &Called,
) -> Result<Flat<'a>, Stop> {
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
        pointed,
        called,
        subroutines: HashMap::new(),
        current: None,
    };
    let mut storage = HashMap::new();
    for (param, (offset, bytes)) in kernel.params.iter().zip(param_layout(kernel)) {
        storage.insert(param.name.as_str(), Storage::KernelParam { offset, bytes });
    }
    let scope = expander.function(kernel, storage, None, 0)?;
    let mut done = 0;
    if let Some(inst) = kernel
        .body
        .last()
        .filter(|_| !expander.flat.subroutines.is_empty())
    {
        expander.push(inst.line, FlatInst::End { scope, inst })?;
    }
    while done < expander.flat.subroutines.len() {
        expander.subroutine(done)?;
        done += 1;
    }
    Ok(expander.flat)
}

pub(crate) struct Expander<'a, 'e> {
    pub(crate) functions: HashMap<&'a str, &'a Function>,
    pub(crate) aliases: HashMap<&'a str, &'a str>,
    active: Vec<&'a str>,
    pub(crate) flat: Flat<'a>,
    shared: HashMap<(&'a str, &'a str), usize>,
    pub(crate) pointed: &'e HashMap<&'a str, u64>,
    called: &'e Called,
    /// Index into [`Flat::subroutines`].
    pub(crate) subroutines: HashMap<&'a str, usize>,
    /// The subroutine being expanded.
    pub(crate) current: Option<usize>,
}

impl<'a> Expander<'a, '_> {
    /// Appends the body of `function`; its scope's index.
    pub(crate) fn function(
        &mut self,
        function: &'a Function,
        mut storage: HashMap<&'a str, Storage>,
        return_label: Option<Label>,
        frame: u64,
    ) -> Result<usize, Stop> {
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
            subroutine: self.current,
        });
        // Each expansion has registers of its own, as if the text stood there.
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
                    match self.current {
                        None => Storage::Local(offset as u32),
                        Some(_) => Storage::Frame(offset as u32),
                    }
                }
                Space::Shared => Storage::Shared(self.shared_variable(&function.name, variable)),
                Space::Param => Storage::CallParam(self.call_param(variable)),
                _ => continue,
            };
            storage.insert(&variable.name, place);
        }
        // The most on any path: calls one after the other use the same bytes.
        let most = match self.current {
            None => &mut self.flat.local_bytes,
            Some(subroutine) => &mut self.flat.subroutines[subroutine].frame_bytes,
        };
        *most = frame.max(*most);
        Ok(frame)
    }

    fn call_param(&mut self, variable: &'a Variable) -> usize {
        self.flat.call_params.push(variable);
        self.flat.call_param_owners.push(self.current);
        self.flat.call_params.len() - 1
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

    pub(crate) fn push(&mut self, line: Line, inst: FlatInst<'a>) -> Result<(), Stop> {
        if self.flat.insts.len() >= INSTRUCTIONS_MAX {
            if !self.called.all {
                return Err(Stop::CallAll);
            }
            let message = format!(
                "more than {INSTRUCTIONS_MAX} instructions in the kernel and what it calls"
            );
            return Err(fail(line, message).help("split the kernel").into());
        }
        self.flat.insts.push(inst);
        Ok(())
    }

    fn instruction(&mut self, scope: usize, inst: &'a Instruction, frame: u64) -> Result<(), Stop> {
        if inst.opcode.first().is_some_and(|root| root == "call") {
            return self.call(scope, inst, frame);
        }
        self.push(inst.line, FlatInst::Plain { scope, inst })
    }

    fn call(&mut self, scope: usize, inst: &'a Instruction, frame: u64) -> Result<(), Stop> {
        let line = inst.line;
        let (results, rest): (&[Operand], _) = match inst.operands.as_slice() {
            [Operand::List(results), rest @ ..] => (results, rest),
            rest => (&[], rest),
        };
        let (name, arguments): (&str, &[Operand]) = match rest {
            [Operand::Symbol(name, 0)] => (name, &[]),
            [Operand::Symbol(name, 0), Operand::List(arguments), ..] => (name, arguments),
            [
                address @ Operand::Register(_),
                Operand::List(arguments),
                Operand::Symbol(label, 0),
            ] => {
                return self.call_by_address(scope, inst, address, label, (results, arguments));
            }
            [address @ Operand::Register(_), Operand::Symbol(label, 0)] => {
                return self.call_by_address(scope, inst, address, label, (results, &[]));
            }
            _ => {
                let message =
                    "this call names neither a function nor an address with its prototype";
                return Err(fail(line, message).into());
            }
        };
        let name = self.aliases.get(name).copied().unwrap_or(name);
        let own = built_in(name).and_then(|own| self.functions.get_key_value(own.as_str()));
        let (name, function) = match own {
            Some((own, function)) => (*own, Some(function)),
            None => (name, self.functions.get(name)),
        };
        let Some(&function) = function
            // The library of the device runtime has PTX too, which calls the driver.
            .filter(|function| function.has_body && find(name).is_none())
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
        check_arity(function, line, (results, arguments))?;
        if self.called.all || self.called.names.contains(name) {
            let callee = self.subroutine_of(function, line)?;
            let signature = self.flat.subroutines[callee].signature.clone();
            let callee = Callee::Subroutine(callee);
            let call = RealCall {
                signature,
                callee,
                results,
                arguments,
            };
            return self.real_call(scope, inst, call);
        }
        // It leads to itself, or the nest is too deep to expand: then it needs a stack.
        if self.active.contains(&name) || self.active.len() >= CALL_DEPTH_MAX {
            return Err(Stop::Call(name.to_owned()));
        }
        self.expand_call(scope, inst, function, (results, arguments), frame)
    }

    // `call (r), f, (a, b)` becomes: registers of f = a, b; the text of f, where `ret` branches to its end; r = that of f.
    fn expand_call(
        &mut self,
        scope: usize,
        inst: &'a Instruction,
        function: &'a Function,
        (results, arguments): (&'a [Operand], &'a [Operand]),
        frame: u64,
    ) -> Result<(), Stop> {
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

    pub(crate) fn label(&mut self) -> Label {
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
        self.call_param(formal)
    }
}

/// The call must have as many results and arguments as the function. A function of another source may give nothing where it was
/// declared to give something: like a linker, this leaves what the call takes undefined.
fn check_arity(
    function: &Function,
    line: u32,
    (results, arguments): (&[Operand], &[Operand]),
) -> Result<(), Fail> {
    let gives = function.returns.len();
    if function.params.len() == arguments.len() && (gives == results.len() || gives == 0) {
        return Ok(());
    }
    Err(fail(
        line,
        format!(
            "{} takes {} parameters and returns {}, the call has {} and {}",
            function.name,
            function.params.len(),
            gives,
            arguments.len(),
            results.len()
        ),
    ))
}
