//! What stands between the braces of a function: declarations, labels, instructions, scopes.

use crate::declarations::module::ModuleBuilder;
use crate::statements::scope::{Meaning, Scopes, Site};
use crate::tokens::error::{Parse, ParseError};
use crate::tokens::parser::Parser;
use crate::tokens::suggest::nearest;
use crate::tokens::token::{Token, shorten};
use pagemill_ptx_ir::ast::{Function, Guard, Instruction, Line, Operand, Prototype, Space, Type};
use std::collections::HashMap;

/// A function whose body is being read.
pub(crate) struct Body<'b, 't> {
    pub(crate) module: &'b mut ModuleBuilder<'t>,
    pub(crate) function: Function,
    pub(crate) scopes: Scopes<'t>,
    /// The nearest `.loc`: (file index, line).
    source: Option<(u32, u32)>,
    /// Where what lies there was inlined, outermost.
    caller: Option<(u32, u32)>,
    callers: HashMap<(u32, u32), (u32, u32)>,
    /// Whether the operands being read are a `call`'s, where `(` opens a list.
    pub(crate) in_call: bool,
}

impl<'b, 't> Body<'b, 't> {
    pub(crate) fn new(
        module: &'b mut ModuleBuilder<'t>,
        function: Function,
        scopes: Scopes<'t>,
    ) -> Self {
        Self {
            module,
            function,
            scopes,
            source: None,
            caller: None,
            callers: HashMap::new(),
            in_call: false,
        }
    }

    /// Notes a `.loc`. The place where something was inlined may itself have been inlined: then a `.loc` before told where.
    fn locate(&mut self, source: (u32, u32), inlined_at: Option<(u32, u32)>) {
        let outermost = |place| self.callers.get(&place).copied().unwrap_or(place);
        self.source = Some(source);
        self.caller = inlined_at.map(outermost);
        match self.caller {
            Some(caller) => self.callers.insert(source, caller),
            None => self.callers.remove(&source),
        };
    }

    pub(crate) fn meaning(&mut self, name: &'t str) -> Option<Meaning> {
        self.scopes.meaning(&mut self.function, name)
    }

    /// Bytes from one index to the next, for each dimension of variable or parameter `name`, if it is declared by now.
    /// Only an `[` behind the name asks for them, which is rare.
    pub(crate) fn strides(&self, name: &str) -> Option<Vec<u64>> {
        let function = &self.function;
        let mut own = [&function.variables, &function.params, &function.returns]
            .into_iter()
            .flatten();
        let variable = own.find(|variable| variable.name == name);
        let variable = variable.or_else(|| self.module.variable(name));
        variable.map(|variable| variable.strides.clone())
    }

    /// Gives label operands their final names and hands what is no label to the module.
    fn resolve_names(&mut self) {
        let function = &mut self.function;
        let unresolved = self.scopes.resolve(|site, renamed| match site {
            Site::Instruction(index) => {
                if let Some(instruction) = function.body.get_mut(index) {
                    instruction
                        .operands
                        .iter_mut()
                        .for_each(|operand| rename_symbols(operand, renamed));
                }
            }
            Site::BranchTargets(index) => {
                let targets = &mut function.branch_targets[index].1;
                targets
                    .iter_mut()
                    .for_each(|target| rename_symbol(target, renamed));
            }
        });
        let labels = || function.labels.iter().map(|(label, _)| label.as_str());
        for (name, line) in unresolved {
            // The suggestion costs a pass over all labels, so it is made only for what is not declared later either.
            self.module
                .note_symbol(name, line, || nearest(name, labels()));
        }
    }
}

fn rename_symbols(operand: &mut Operand, renamed: &HashMap<&str, &str>) {
    match operand {
        Operand::Symbol(symbol, _) => rename_symbol(symbol, renamed),
        Operand::Address(address) => rename_symbols(&mut address.base, renamed),
        Operand::Vector(operands) | Operand::List(operands) => {
            operands
                .iter_mut()
                .for_each(|operand| rename_symbols(operand, renamed));
        }
        _ => {}
    }
}

fn rename_symbol(symbol: &mut String, renamed: &HashMap<&str, &str>) {
    if let Some(label) = renamed.get(symbol.as_str()) {
        *symbol = (*label).to_owned();
    }
}

impl<'t> Parser<'t> {
    /// A function body behind its `{`, with its `}`.
    pub(crate) fn function_body(&mut self, mut body: Body<'_, 't>) -> Parse<Function> {
        let opened = body.function.line;
        loop {
            match self.token {
                Token::Punct(b'{') => {
                    body.scopes.open(self.line)?;
                    self.advance()?;
                }
                Token::Punct(b'}') => {
                    self.advance()?;
                    if !body.scopes.close() {
                        body.resolve_names();
                        body.function.has_body = true;
                        return Ok(body.function);
                    }
                }
                Token::Punct(b';') => self.advance()?,
                Token::Dot(directive) => self.body_directive(&mut body, directive)?,
                Token::Punct(b'@') => self.guarded(&mut body)?,
                Token::Ident(word) => self.label_or_instruction(&mut body, word)?,
                Token::End => {
                    let name = shorten(&body.function.name);
                    return Err(ParseError::new(
                        opened,
                        format!("the body of `{name}` is never closed"),
                    ));
                }
                _ => return self.unexpected("an instruction, a label or a directive"),
            }
        }
    }

    fn body_directive(&mut self, body: &mut Body<'_, 't>, directive: &'t str) -> Parse<()> {
        self.advance()?;
        match directive {
            "reg" => self.register_declaration(body),
            "shared" | "shared::cta" => self.body_variables(body, Space::Shared),
            "local" => self.body_variables(body, Space::Local),
            "param" => self.body_variables(body, Space::Param),
            "global" => self.static_variables(body, Space::Global),
            "const" => self.static_variables(body, Space::Const),
            "loc" => {
                let (source, inlined_at) = self.location()?;
                body.locate(source, inlined_at);
                Ok(())
            }
            "pragma" => self.pragma(),
            _ => self.fail(format!(
                "directive `.{}` is not known in a function",
                shorten(directive)
            )),
        }
    }

    /// `.reg .b32 %r<57>, %x;`
    fn register_declaration(&mut self, body: &mut Body<'_, 't>) -> Parse<()> {
        let mut lanes = 1;
        if let Token::Dot(vector @ ("v2" | "v4")) = self.token {
            lanes = if vector == "v2" { 2 } else { 4 };
            self.advance()?;
        }
        let Token::Dot(type_name) = self.token else {
            return self.unexpected("a register type");
        };
        let Some(ty) = Type::from_name(type_name) else {
            return self.fail(format!("`.{}` is no register type", shorten(type_name)));
        };
        self.advance()?;
        loop {
            let line = self.line;
            let name = self.ident()?;
            if self.take(b'<')? {
                let count = u64::from(self.number()?);
                self.expect(b'>')?;
                body.scopes.declare_range(name, ty, count, line)?;
            } else if lanes > 1 {
                body.scopes
                    .declare_vector_register(&mut body.function, name, (ty, lanes), line)?;
            } else {
                body.scopes
                    .declare_register(&mut body.function, name, ty, line)?;
            }
            if !self.take(b',')? {
                return self.expect(b';');
            }
        }
    }

    fn body_variables(&mut self, body: &mut Body<'_, 't>, space: Space) -> Parse<()> {
        for (name, mut variable) in self.declarators(space)? {
            let module = &body.module;
            variable.name = body
                .scopes
                .declare_variable(name, variable.line, |unique| module.declares(unique))?;
            body.function.variables.push(variable);
        }
        Ok(())
    }

    /// Variables that outlive the call: they become the module's, under a name of their own.
    fn static_variables(&mut self, body: &mut Body<'_, 't>, space: Space) -> Parse<()> {
        for (name, mut variable) in self.declarators(space)? {
            let module = &body.module;
            variable.name = body
                .scopes
                .declare_variable(name, variable.line, |unique| module.declares(unique))?;
            body.module.add_variable(variable)?;
        }
        Ok(())
    }

    fn guarded(&mut self, body: &mut Body<'_, 't>) -> Parse<()> {
        let line = self.line;
        self.expect(b'@')?;
        let negated = self.take(b'!')?;
        let register = self.register(body)?;
        let Token::Ident(word) = self.token else {
            return self.unexpected("an instruction");
        };
        self.advance()?;
        self.instruction(body, word, Some(Guard { register, negated }), line)
    }

    fn label_or_instruction(&mut self, body: &mut Body<'_, 't>, word: &'t str) -> Parse<()> {
        let line = self.line;
        self.advance()?;
        if self.take(b':')? {
            self.label(body, word, line)
        } else {
            self.instruction(body, word, None, line)
        }
    }

    fn label(&mut self, body: &mut Body<'_, 't>, name: &'t str, line: Line) -> Parse<()> {
        let label = body.scopes.declare_label(name, line)?;
        match self.token {
            Token::Dot("branchtargets") => {
                self.advance()?;
                let targets = self.name_list(
                    body,
                    Site::BranchTargets(body.function.branch_targets.len()),
                )?;
                body.function.branch_targets.push((label, targets));
            }
            Token::Dot("calltargets") => {
                self.advance()?;
                let targets = self.name_list(body, Site::Instruction(usize::MAX))?;
                body.function.call_targets.push((label, targets));
            }
            Token::Dot("callprototype") => {
                self.advance()?;
                let prototype = self.prototype(label)?;
                body.function.call_prototypes.push(prototype);
            }
            _ => body.function.labels.push((label, body.function.body.len())),
        }
        Ok(())
    }

    /// `(.param .b32 _) _ (.param .b64 _, .param .b64 _) .noreturn;`
    fn prototype(&mut self, label: String) -> Parse<Prototype> {
        let mut lists = [Vec::new(), Vec::new()];
        if self.token == Token::Punct(b'(') {
            lists[0] = self.parameters()?;
        }
        self.ident()?;
        if self.token == Token::Punct(b'(') {
            lists[1] = self.parameters()?;
        }
        while !matches!(self.token, Token::Punct(b';') | Token::End) {
            self.advance()?;
        }
        self.expect(b';')?;
        let [returns, params] =
            lists.map(|list| list.into_iter().map(|(_, variable)| variable).collect());
        Ok(Prototype {
            label,
            returns,
            params,
        })
    }

    fn name_list(&mut self, body: &mut Body<'_, 't>, site: Site) -> Parse<Vec<String>> {
        let mut names = Vec::new();
        loop {
            let line = self.line;
            let name = self.ident()?;
            body.scopes.note_forward(name, line, site);
            names.push(name.to_owned());
            if !self.take(b',')? {
                break;
            }
        }
        self.expect(b';')?;
        Ok(names)
    }

    fn instruction(
        &mut self,
        body: &mut Body<'_, 't>,
        mnemonic: &str,
        guard: Option<Guard>,
        line: Line,
    ) -> Parse<()> {
        let mut opcode = vec![mnemonic.to_owned()];
        while let Token::Dot(part) = self.token {
            opcode.push(part.to_owned());
            self.advance()?;
        }
        body.in_call = mnemonic == "call";
        let mut operands = Vec::new();
        if self.token != Token::Punct(b';') {
            operands.push(self.operand(body)?);
            while self.take(b',')? {
                operands.push(self.operand(body)?);
            }
        }
        if self.token != Token::Punct(b';') {
            return self.unexpected(&format!("`,` or `;` in `{}`", shorten(mnemonic)));
        }
        self.advance()?;
        let (source, caller) = (body.source, body.caller);
        body.function.body.push(Instruction {
            guard,
            opcode,
            operands,
            line,
            source,
            caller,
        });
        Ok(())
    }
}
