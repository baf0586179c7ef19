//! `.entry` and `.func`: heads, parameters, performance directives.

use crate::declarations::module::ModuleBuilder;
use crate::statements::body::Body;
use crate::statements::scope::Scopes;
use crate::tokens::error::Parse;
use crate::tokens::parser::Parser;
use crate::tokens::token::{Token, shorten};
use pagemill_ptx_ir::ast::{Function, Space, Variable};

impl<'t> Parser<'t> {
    /// A function behind `.entry` or `.func`, up to its `}` or `;`.
    pub(crate) fn function(&mut self, module: &mut ModuleBuilder<'t>, is_entry: bool) -> Parse<()> {
        let line = self.line;
        if self.take_dot("attribute")? {
            return self.fail("`.attribute` on a function is not supported");
        }
        let returns = if !is_entry && self.token == Token::Punct(b'(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let name = self.ident()?;
        let params = if self.token == Token::Punct(b'(') {
            self.parameters()?
        } else {
            Vec::new()
        };
        let mut function = Function {
            name: name.to_owned(),
            is_entry,
            returns: Vec::new(),
            params: Vec::new(),
            registers: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
            has_body: false,
            labels: Vec::new(),
            branch_targets: Vec::new(),
            call_targets: Vec::new(),
            call_prototypes: Vec::new(),
            directives: Vec::new(),
            line,
        };
        let mut scopes = Scopes::new();
        function.returns = declare_parameters(&mut function, &mut scopes, returns)?;
        function.params = declare_parameters(&mut function, &mut scopes, params)?;
        function.directives = self.performance_directives()?;
        if self.take(b';')? {
            return module.add_function(name, function);
        }
        self.expect(b'{')?;
        // Known before its body is read, so that it may name itself.
        module.announce_function(name);
        let function = self.function_body(Body::new(module, function, scopes))?;
        module.add_function(name, function)
    }

    /// `(.param .b32 a, .reg .f32 b)`
    pub(crate) fn parameters(&mut self) -> Parse<Vec<(&'t str, Variable)>> {
        let mut parameters = Vec::new();
        self.expect(b'(')?;
        if self.take(b')')? {
            return Ok(parameters);
        }
        loop {
            let space = match self.token {
                Token::Dot("param") => Space::Param,
                Token::Dot("reg") => Space::Register,
                _ => return self.unexpected("`.param` or `.reg`"),
            };
            self.advance()?;
            parameters.push(self.parameter(space)?);
            if self.take(b')')? {
                return Ok(parameters);
            }
            self.expect(b',')?;
        }
    }

    fn performance_directives(&mut self) -> Parse<Vec<(String, Vec<u32>)>> {
        let mut directives = Vec::new();
        while let Token::Dot(directive) = self.token {
            self.advance()?;
            match directive {
                "pragma" => {
                    self.pragma()?;
                    continue;
                }
                "loc" => {
                    self.location()?;
                    continue;
                }
                "maxntid"
                | "reqntid"
                | "minnctapersm"
                | "maxnctapersm"
                | "maxnreg"
                | "maxclusterrank"
                | "reqnctapercluster"
                | "explicitcluster"
                | "blocksareclusters"
                | "noreturn"
                | "abi_preserve"
                | "abi_preserve_control" => {}
                _ => {
                    return self.fail(format!(
                        "directive `.{}` is not known on a function",
                        shorten(directive)
                    ));
                }
            }
            let mut values = Vec::new();
            while let Token::Integer(_) = self.token {
                values.push(self.number()?);
                if !self.take(b',')? {
                    break;
                }
            }
            directives.push((directive.to_owned(), values));
        }
        Ok(directives)
    }
}

fn declare_parameters<'t>(
    function: &mut Function,
    scopes: &mut Scopes<'t>,
    parameters: Vec<(&'t str, Variable)>,
) -> Parse<Vec<Variable>> {
    let mut declared = Vec::with_capacity(parameters.len());
    for (name, variable) in parameters {
        match variable.space {
            _ if name == "_" => {}
            Space::Register => {
                scopes.declare_register(function, name, variable.ty, variable.line)?
            }
            _ => {
                scopes.declare_variable(name, variable.line, |_| false)?;
            }
        }
        declared.push(variable);
    }
    Ok(declared)
}
