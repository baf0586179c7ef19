//! Operands of instructions.

use crate::declarations::expression::Constant;
use crate::statements::body::Body;
use crate::statements::scope::{Meaning, Site};
use crate::statements::special;
use crate::tokens::error::{Parse, ParseError};
use crate::tokens::parser::Parser;
use crate::tokens::token::{Token, shorten};
use pagemill_ptx_ir::ast::{Address, Operand, RegisterId};

impl<'t> Parser<'t> {
    /// One operand, including `a|b`.
    pub(crate) fn operand(&mut self, body: &mut Body<'_, 't>) -> Parse<Operand> {
        let first = self.simple_operand(body)?;
        let may_pair = matches!(first, Operand::Register(_) | Operand::Sink);
        if may_pair && self.take(b'|')? {
            let second = self.simple_operand(body)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn simple_operand(&mut self, body: &mut Body<'_, 't>) -> Parse<Operand> {
        match self.token {
            Token::Ident("WARP_SZ") => self.constant_operand(),
            Token::Ident(name) => self.named_operand(body, name),
            Token::Punct(b'{') => {
                self.advance()?;
                self.nested(|parser| parser.operands_until(body, b'}'))
                    .map(Operand::Vector)
            }
            Token::Punct(b'[') => self.nested(|parser| parser.address(body)),
            Token::Punct(b'!') => self.negated(body),
            Token::Punct(b'(') if body.in_call => {
                self.advance()?;
                self.nested(|parser| parser.operands_until(body, b')'))
                    .map(Operand::List)
            }
            _ => self.constant_operand(),
        }
    }

    fn constant_operand(&mut self) -> Parse<Operand> {
        Ok(match self.constant()? {
            Constant::Integer { value, .. } => Operand::Integer(value),
            Constant::Float32(bits) => Operand::Float32(bits),
            Constant::Float64(bits) => Operand::Float64(bits),
        })
    }

    /// Operands up to `close`, which is stepped over.
    fn operands_until(&mut self, body: &mut Body<'_, 't>, close: u8) -> Parse<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.take(close)? {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(body)?);
            if self.take(close)? {
                return Ok(operands);
            }
            self.expect(b',')?;
        }
    }

    fn negated(&mut self, body: &mut Body<'_, 't>) -> Parse<Operand> {
        // `!` also starts a constant expression: look one token further without committing.
        let mut ahead = self.lexer.clone();
        if !matches!(ahead.next()?, Token::Ident(name) if name != "WARP_SZ") {
            return self.constant_operand();
        }
        self.advance()?;
        Ok(Operand::NegatedRegister(self.register(body)?))
    }

    /// A name that must be a register.
    pub(crate) fn register(&mut self, body: &mut Body<'_, 't>) -> Parse<RegisterId> {
        let line = self.line;
        let name = self.ident()?;
        match body.meaning(name) {
            Some(Meaning::Register(id)) => Ok(id),
            Some(_) => Err(ParseError::new(
                line,
                format!("`{}` is no scalar register", shorten(name)),
            )),
            None => Err(body.scopes.undeclared_register(name, line)),
        }
    }

    fn named_operand(&mut self, body: &mut Body<'_, 't>, name: &'t str) -> Parse<Operand> {
        let line = self.line;
        self.advance()?;
        match body.meaning(name) {
            Some(Meaning::Register(id)) => {
                if let Token::Dot(selector) = self.token {
                    return self.fail(format!(
                        "register selector `.{}` is not supported",
                        shorten(selector)
                    ));
                }
                Ok(Operand::Register(id))
            }
            Some(Meaning::VectorRegister(ids)) => self.vector_register(&ids),
            Some(Meaning::Variable(unique)) => {
                let element = self.element(body, &unique)?;
                let addend = self.addend()?.wrapping_add(element);
                Ok(Operand::Symbol(unique, addend))
            }
            None if name == "_" => Ok(Operand::Sink),
            None => match name.strip_prefix('%') {
                Some(special) if special::is_special(special) => self.special_register(special),
                Some(_) => Err(body.scopes.undeclared_register(name, line)),
                None => {
                    body.scopes.note_forward(
                        name,
                        line,
                        Site::Instruction(body.function.body.len()),
                    );
                    let element = self.element(body, name)?;
                    let addend = self.addend()?.wrapping_add(element);
                    Ok(Operand::Symbol(name.to_owned(), addend))
                }
            },
        }
    }

    /// What an index behind variable `name` adds to its address.
    fn element(&mut self, body: &Body<'_, 't>, name: &str) -> Parse<i64> {
        if self.token != Token::Punct(b'[') {
            return Ok(0);
        }
        self.element_offset(name, body.strides(name))
    }

    fn vector_register(&mut self, ids: &[RegisterId]) -> Parse<Operand> {
        let Token::Dot(component) = self.token else {
            return Ok(Operand::Vector(
                ids.iter().map(|&id| Operand::Register(id)).collect(),
            ));
        };
        let index = match component {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => ids.len(),
        };
        match ids.get(index) {
            Some(&id) => {
                self.advance()?;
                Ok(Operand::Register(id))
            }
            None => self.fail(format!(
                "a vector of {} registers has no `.{}`",
                ids.len(),
                shorten(component)
            )),
        }
    }

    fn special_register(&mut self, name: &str) -> Parse<Operand> {
        let component = match self.token {
            Token::Dot(component @ ("x" | "y" | "z" | "w")) if special::has_components(name) => {
                self.advance()?;
                component.chars().next()
            }
            Token::Dot(component) => {
                return self.fail(format!(
                    "special register `%{name}` has no `.{}`",
                    shorten(component)
                ));
            }
            _ => None,
        };
        Ok(Operand::Special(name.to_owned(), component))
    }

    fn address(&mut self, body: &mut Body<'_, 't>) -> Parse<Operand> {
        self.expect(b'[')?;
        let base = match self.simple_operand(body)? {
            Operand::Symbol(name, offset) => (Operand::Symbol(name, 0), offset),
            base @ (Operand::Register(_) | Operand::Integer(_)) => (base, self.addend()?),
            _ => return self.fail("an address starts with a register, a symbol or an integer"),
        };
        let mut coordinates = Vec::new();
        while self.take(b',')? {
            coordinates.push(self.simple_operand(body)?);
        }
        self.expect(b']')?;
        Ok(Operand::Address(Box::new(Address {
            base: base.0,
            offset: base.1,
            coordinates,
        })))
    }
}
