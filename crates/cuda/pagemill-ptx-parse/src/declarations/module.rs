//! The outermost level: version, target, variables, functions.

use crate::tokens::error::{Parse, ParseError};
use crate::tokens::parser::Parser;
use crate::tokens::suggest::nearest;
use crate::tokens::token::{Token, shorten};
use pagemill_ptx_ir::ast::{Function, Line, Module, Space, Variable};
use std::collections::HashMap;

/// What a name of the module stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Global {
    Variable(usize),
    /// `None` while its body is being read.
    Function(Option<usize>),
    Alias,
}

/// A module while it is read.
pub(crate) struct ModuleBuilder<'t> {
    module: Module,
    names: HashMap<String, Global>,
    /// Names used before they were declared: they must be by the end.
    pending: Vec<Pending<'t>>,
}

struct Pending<'t> {
    name: &'t str,
    line: Line,
    help: Option<String>,
}

/// Suggestions are made for so many unknown names only: each costs a pass over the labels.
const SUGGESTIONS_MAX: usize = 8;

/// File index and line, and those of where it was inlined.
pub(crate) type Location = ((u32, u32), Option<(u32, u32)>);

impl<'t> ModuleBuilder<'t> {
    /// Whether the module has something called `name` by now.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// The module's variable of that name, if it is declared by now.
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        match self.names.get(name)? {
            Global::Variable(index) => self.module.variables.get(*index),
            _ => None,
        }
    }

    /// Notes a use of `name`, which no function-level declaration explains.
    pub(crate) fn note_symbol(
        &mut self,
        name: &'t str,
        line: Line,
        help: impl FnOnce() -> Option<String>,
    ) {
        if !self.declares(name) {
            let help = if self.pending.len() < SUGGESTIONS_MAX {
                help()
            } else {
                None
            };
            self.pending.push(Pending { name, line, help });
        }
    }

    /// Adds a variable; an `extern` one may be declared again, or defined later.
    pub(crate) fn add_variable(&mut self, variable: Variable) -> Parse<()> {
        let index = self.module.variables.len();
        match self.names.get(&variable.name) {
            None => {
                self.names
                    .insert(variable.name.clone(), Global::Variable(index));
                self.module.variables.push(variable);
                Ok(())
            }
            Some(&Global::Variable(known))
                if self.module.variables[known].is_extern || variable.is_extern =>
            {
                if !variable.is_extern {
                    self.module.variables[known] = variable;
                }
                Ok(())
            }
            Some(_) => Err(declared_twice(&variable.name, variable.line)),
        }
    }

    /// Makes the name of a function known ahead of [`Self::add_function`].
    pub(crate) fn announce_function(&mut self, name: &str) {
        self.names
            .entry(name.to_owned())
            .or_insert(Global::Function(None));
    }

    /// Adds a function; a definition takes the place of its prototype.
    pub(crate) fn add_function(&mut self, name: &str, function: Function) -> Parse<()> {
        match self.names.get(name) {
            None | Some(Global::Function(None)) => {
                let index = self.module.functions.len();
                self.names
                    .insert(name.to_owned(), Global::Function(Some(index)));
                self.module.functions.push(function);
                Ok(())
            }
            Some(&Global::Function(Some(known))) => {
                let earlier = &mut self.module.functions[known];
                if earlier.has_body && function.has_body {
                    return Err(declared_twice(name, function.line));
                }
                if function.has_body {
                    *earlier = function;
                }
                Ok(())
            }
            Some(_) => Err(declared_twice(name, function.line)),
        }
    }

    fn finish(self) -> Parse<Module> {
        let relocated = self.module.variables.iter().flat_map(|variable| {
            variable
                .relocations
                .iter()
                .map(move |relocation| (relocation.symbol.as_str(), variable.line, None))
        });
        let pending = self
            .pending
            .iter()
            .map(|pending| (pending.name, pending.line, pending.help.clone()));
        let unknown = pending
            .chain(relocated)
            .find(|(name, ..)| !self.declares(name));
        let Some((name, line, help)) = unknown else {
            return Ok(self.module);
        };
        let help = help.or_else(|| {
            let mut names: Vec<&str> = self.names.keys().map(String::as_str).collect();
            names.sort_unstable();
            nearest(name, names.into_iter())
        });
        let message = format!(
            "`{}` is declared nowhere: no register, variable, function or label",
            shorten(name)
        );
        Err(ParseError::new(line, message).with_help(help))
    }
}

fn declared_twice(name: &str, line: Line) -> ParseError {
    ParseError::new(line, format!("`{}` is declared twice", shorten(name)))
}

/// `.extern`, `.visible` and the like before a declaration.
#[derive(Clone, Copy, Default)]
struct Linkage {
    is_extern: bool,
}

impl<'t> Parser<'t> {
    /// The whole text.
    pub(crate) fn module(mut self) -> Parse<Module> {
        let mut builder = ModuleBuilder {
            module: Module::default(),
            names: HashMap::new(),
            pending: Vec::new(),
        };
        self.header(&mut builder.module)?;
        let mut linkage = Linkage::default();
        loop {
            match self.token {
                Token::End => return builder.finish(),
                Token::Punct(b';') => self.advance()?,
                Token::Dot(directive) => {
                    linkage = self.module_directive(&mut builder, directive, linkage)?
                }
                _ => return self.unexpected("a directive such as `.global` or `.entry`"),
            }
        }
    }

    /// `.version` and `.target`, which every module begins with.
    fn header(&mut self, module: &mut Module) -> Parse<()> {
        if !self.take_dot("version")? {
            let help = "PTX text starts with `.version`; is this a PTX file?".to_owned();
            return self
                .unexpected("`.version`")
                .map_err(|error: ParseError| error.with_help(Some(help)));
        }
        module.version = self.version()?;
        if !self.take_dot("target")? {
            return self.unexpected("`.target`");
        }
        module.target_sm = self.target()?;
        Ok(())
    }

    /// `9.5`: the lexer sees a decimal float, so the digits are taken from its text.
    fn version(&mut self) -> Parse<(u32, u32)> {
        let Token::Float64(bits) = self.token else {
            return self.unexpected("a version such as `8.0`");
        };
        let text = f64::from_bits(bits).to_string();
        let (major, minor) = text.split_once('.').unwrap_or((&text, "0"));
        match (major.parse(), minor.parse()) {
            (Ok(major), Ok(minor)) => {
                self.advance()?;
                Ok((major, minor))
            }
            _ => self.unexpected("a version such as `8.0`"),
        }
    }

    /// `sm_75, debug`
    fn target(&mut self) -> Parse<u32> {
        let mut sm = None;
        loop {
            let word = self.ident()?;
            let number = word
                .strip_prefix("sm_")
                .or_else(|| word.strip_prefix("compute_"));
            if let Some(number) = number {
                let digits = number.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
                sm = sm.or(digits.parse().ok());
            }
            if !self.take(b',')? {
                break;
            }
        }
        match sm {
            Some(sm) => Ok(sm),
            None => self.fail("`.target` names no architecture such as `sm_75`"),
        }
    }

    fn module_directive(
        &mut self,
        builder: &mut ModuleBuilder<'t>,
        directive: &'t str,
        linkage: Linkage,
    ) -> Parse<Linkage> {
        self.advance()?;
        match directive {
            "extern" => return Ok(Linkage { is_extern: true }),
            "visible" | "weak" | "common" => return Ok(linkage),
            "entry" => self.function(builder, true)?,
            "func" => self.function(builder, false)?,
            "global" => self.module_variables(builder, Space::Global, linkage)?,
            "const" => self.module_variables(builder, Space::Const, linkage)?,
            "shared" | "shared::cta" => self.module_variables(builder, Space::Shared, linkage)?,
            "address_size" => {
                if self.number()? != 64 {
                    return self.fail("only `.address_size 64` is supported");
                }
            }
            "file" => self.file(&mut builder.module)?,
            "section" => self.section()?,
            "loc" => {
                self.location()?;
            }
            "pragma" => self.pragma()?,
            "alias" => self.alias(builder)?,
            _ => {
                return self.fail(format!(
                    "directive `.{}` is not known in a module",
                    shorten(directive)
                ));
            }
        }
        Ok(Linkage::default())
    }

    fn module_variables(
        &mut self,
        builder: &mut ModuleBuilder<'t>,
        space: Space,
        linkage: Linkage,
    ) -> Parse<()> {
        // Old constant banks: `.const[2]`.
        if self.take(b'[')? {
            self.number()?;
            self.expect(b']')?;
        }
        for (_, variable) in self.declarators(space)? {
            if !variable.strides.is_empty() {
                self.arrays
                    .insert(variable.name.clone(), variable.strides.clone());
            }
            builder.add_variable(Variable {
                is_extern: linkage.is_extern,
                ..variable
            })?;
        }
        Ok(())
    }

    /// `.file 1 "path" [, timestamp, size]`
    fn file(&mut self, module: &mut Module) -> Parse<()> {
        let index = self.number()?;
        let Token::Text(path) = self.token else {
            return self.unexpected("a quoted path");
        };
        module.files.push((index, path.to_owned()));
        self.advance()?;
        while self.take(b',')? {
            self.integer_constant()?;
        }
        Ok(())
    }

    /// `.section .debug_info { ... }`: debug data, which nothing here reads.
    fn section(&mut self) -> Parse<()> {
        match self.token {
            Token::Dot(_) | Token::Ident(_) => self.advance()?,
            _ => return self.unexpected("a section name"),
        }
        if self.token != Token::Punct(b'{') {
            return self.unexpected("`{`");
        }
        self.lexer.skip_braces()?;
        self.advance()
    }

    /// `.loc file line column [, function_name label [+ n]] [, inlined_at file line column]`
    pub(crate) fn location(&mut self) -> Parse<Location> {
        let file = self.number()?;
        let line = self.number()?;
        self.number()?;
        let mut inlined_at = None;
        while self.take(b',')? {
            match self.ident()? {
                "function_name" => {
                    self.ident()?;
                    self.addend()?;
                }
                "inlined_at" => {
                    let place = (self.number()?, self.number()?);
                    self.number()?;
                    inlined_at = Some(place);
                }
                _ => return self.unexpected("`function_name` or `inlined_at`"),
            }
        }
        Ok(((file, line), inlined_at))
    }

    /// `.pragma "nounroll";`: hints to a compiler.
    pub(crate) fn pragma(&mut self) -> Parse<()> {
        while let Token::Text(_) = self.token {
            self.advance()?;
            self.take(b',')?;
        }
        self.expect(b';')
    }

    /// `.alias name, function;`
    fn alias(&mut self, builder: &mut ModuleBuilder<'t>) -> Parse<()> {
        let line = self.line;
        let alias = self.ident()?;
        self.expect(b',')?;
        let function = self.ident()?;
        self.expect(b';')?;
        builder.note_symbol(function, line, || None);
        // A prototype of the same name usually comes first.
        builder
            .names
            .entry(alias.to_owned())
            .or_insert(Global::Alias);
        builder
            .module
            .aliases
            .push((alias.to_owned(), function.to_owned()));
        Ok(())
    }
}
