//! Functions that are called rather than expanded, and the calls that reach them.

use crate::expand::inline::{Callee, Expander, FlatInst, RealCall, Stop, Storage, Subroutine};
use crate::expand::signature::Signature;
use crate::fail::{Fail, fail};
use pagemill_ptx_ir::ast::{Function, Instruction, Line, Operand, Space};
use std::collections::HashMap;

impl<'a> Expander<'a, '_> {
    /// The subroutine of `function`, which is expanded later.
    pub(crate) fn subroutine_of(
        &mut self,
        function: &'a Function,
        line: Line,
    ) -> Result<usize, Fail> {
        if let Some(&known) = self.subroutines.get(function.name.as_str()) {
            return Ok(known);
        }
        let signature = Signature::new(&function.returns, &function.params);
        let signature = signature.ok_or_else(|| too_many(line, &function.name))?;
        let entry = self.label();
        let index = self.flat.subroutines.len();
        self.flat.subroutines.push(Subroutine {
            function,
            entry,
            signature,
            frame_bytes: 0,
        });
        self.subroutines.insert(&function.name, index);
        Ok(index)
    }

    /// Appends the body of a subroutine.
    pub(crate) fn subroutine(&mut self, index: usize) -> Result<(), Stop> {
        let subroutine = self.flat.subroutines[index].clone();
        let function = subroutine.function;
        self.flat.labels[subroutine.entry.0 as usize] = self.flat.insts.len();
        self.current = Some(index);
        let formals = function.returns.iter().chain(&function.params);
        let storage = formals
            .zip(&subroutine.signature.offsets)
            .filter(|(formal, _)| formal.space != Space::Register)
            .map(|(formal, &offset)| (formal.name.as_str(), Storage::Argument(offset)))
            .collect();
        let scope = self.flat.scopes.len();
        let by_register = |formal: &pagemill_ptx_ir::ast::Variable| formal.space == Space::Register;
        if let Some(inst) = function.body.first()
            && function.params.iter().any(by_register)
        {
            self.push(inst.line, FlatInst::Enter { scope, inst })?;
        }
        self.function(function, storage, None, 0)?;
        match function.body.last() {
            Some(inst) => self.push(inst.line, FlatInst::End { scope, inst }),
            None => Err(fail(
                function.line,
                format!("function {} has no instructions", function.name),
            )
            .into()),
        }
    }

    /// A call that is not expanded.
    pub(crate) fn real_call(
        &mut self,
        scope: usize,
        inst: &'a Instruction,
        call: RealCall<'a>,
    ) -> Result<(), Stop> {
        let skip = self.label();
        // Lanes that do not call go around all of it, the handing over of values too.
        let enter = inst.guard.is_some().then_some(skip);
        self.push(inst.line, FlatInst::Call { scope, inst, enter })?;
        self.flat.real_calls.push(call);
        let call = self.flat.real_calls.len() - 1;
        self.push(inst.line, FlatInst::Real { scope, inst, call })?;
        self.flat.labels[skip.0 as usize] = self.flat.insts.len();
        Ok(())
    }

    /// `call (results), address, (arguments), label`, where the label is that of a prototype or of a list of functions.
    pub(crate) fn call_by_address(
        &mut self,
        scope: usize,
        inst: &'a Instruction,
        address: &'a Operand,
        label: &str,
        (results, arguments): (&'a [Operand], &'a [Operand]),
    ) -> Result<(), Stop> {
        let function = self.flat.scopes[scope].function;
        let mut prototypes = function.call_prototypes.iter();
        let prototype = prototypes.find(|prototype| prototype.label == label);
        let listed = function.call_targets.iter().find(|(own, _)| own == label);
        let by_name = |name: &String| self.defined(name);
        let (signature, candidates): (_, Vec<&'a Function>) = match (prototype, listed) {
            (Some(prototype), _) => {
                // A prototype does not say which functions it stands for: all whose address is taken may be meant.
                let pointed = self.pointed.keys().filter_map(|name| self.defined(name));
                let signature = Signature::new(&prototype.returns, &prototype.params);
                (signature, pointed.collect())
            }
            (None, Some((_, names))) => {
                let candidates: Vec<_> = names.iter().filter_map(by_name).collect();
                let first = candidates.first();
                let signature = first.map(|first| Signature::new(&first.returns, &first.params));
                (signature.flatten(), candidates)
            }
            (None, None) => {
                let message = format!("`{label}` is no label of a .callprototype or .calltargets");
                return Err(fail(inst.line, message).into());
            }
        };
        let signature = signature.ok_or_else(|| too_many(inst.line, label))?;
        let (returned, taken) = (signature.returns.len(), signature.params.len());
        if (results.len(), arguments.len()) != (returned, taken) {
            let message = format!(
                "{label} takes {taken} parameters and returns {returned}, the call has {} and {}",
                arguments.len(),
                results.len()
            );
            return Err(fail(inst.line, message).into());
        }
        let callees = self.callees(&signature, candidates, inst.line)?;
        let callee = Callee::Address(address, callees);
        let call = RealCall {
            signature,
            callee,
            results,
            arguments,
        };
        self.real_call(scope, inst, call)
    }

    /// Those of `candidates` that a call with this signature can reach, by address.
    fn callees(
        &mut self,
        signature: &Signature<'a>,
        mut candidates: Vec<&'a Function>,
        line: Line,
    ) -> Result<Vec<(u64, usize)>, Fail> {
        candidates.sort_unstable_by_key(|function| &function.name);
        candidates.dedup_by_key(|function| &function.name);
        let mut callees = Vec::new();
        for function in candidates {
            let Some(&address) = self.pointed.get(function.name.as_str()) else {
                continue;
            };
            let own = Signature::new(&function.returns, &function.params);
            if !function.is_entry && own.is_some_and(|own| own.fits(signature)) {
                callees.push((address, self.subroutine_of(function, line)?));
            }
        }
        callees.sort_unstable();
        Ok(callees)
    }

    /// The function of that name, or that the alias of that name stands for, if it has a body.
    fn defined(&self, name: &str) -> Option<&'a Function> {
        let name = self.aliases.get(name).copied().unwrap_or(name);
        let function = self.functions.get(name).copied();
        function.filter(|function| function.has_body)
    }
}

fn too_many(line: Line, name: &str) -> Fail {
    fail(
        line,
        format!("{name} has too many bytes of parameters for a call"),
    )
}

/// The addresses of functions: of each that `module` uses otherwise than to call it by its name.
pub fn addresses(module: &pagemill_ptx_ir::ast::Module) -> HashMap<&str, u64> {
    let mut addresses = HashMap::new();
    let all = module.functions.iter().zip(1u64..);
    let place: HashMap<&str, (&str, u64)> = all
        .map(|(function, number)| {
            // In a window of its own: code has no bytes to load, and an address that was never taken reaches no function.
            let address = pagemill_ptx_ir::address::window::FUNCTION + 16 * number;
            (function.name.as_str(), (function.name.as_str(), address))
        })
        .collect();
    let targets: HashMap<&str, &str> = module
        .aliases
        .iter()
        .map(|(alias, name)| (alias.as_str(), name.as_str()))
        .collect();
    let mut note = |name: &str| {
        let target = targets.get(name).copied().unwrap_or(name);
        if let Some(&(own, address)) = place.get(target) {
            addresses.insert(own, address);
        }
    };
    let variables = module.variables.iter();
    for relocation in variables.flat_map(|variable| &variable.relocations) {
        note(&relocation.symbol);
    }
    for function in &module.functions {
        for inst in &function.body {
            uses(inst).for_each(&mut note);
        }
        let listed = function.call_targets.iter().flat_map(|(_, names)| names);
        listed.for_each(|name| note(name));
    }
    addresses
}

/// Names that stand as operands, without the function that a call names.
fn uses(inst: &Instruction) -> impl Iterator<Item = &str> {
    let is_call = inst.opcode.first().is_some_and(|root| root == "call");
    let operands = inst.operands.iter();
    operands.flat_map(move |operand| match operand {
        Operand::Symbol(name, _) if !is_call => vec![name.as_str()],
        Operand::List(parts) | Operand::Vector(parts) => {
            let names = parts.iter().filter_map(|part| match part {
                Operand::Symbol(name, _) => Some(name.as_str()),
                _ => None,
            });
            names.collect()
        }
        _ => Vec::new(),
    })
}
