//! The token at hand, and steps over it.

use crate::tokens::error::{Parse, ParseError};
use crate::tokens::lexer::Lexer;
use crate::tokens::token::Token;
use pagemill_ptx_ir::ast::Line;
use std::collections::HashMap;

/// Most bytes of initial values in one module; without an initial value a variable costs nothing here.
pub(crate) const INIT_BYTES_MAX: u64 = 64 << 20;

/// How deep parentheses, braces and scopes may nest.
pub(crate) const NESTING_MAX: u32 = 64;

/// The token at hand and what comes after it. Everything else is in the methods' arguments.
pub(crate) struct Parser<'t> {
    pub lexer: Lexer<'t>,
    pub token: Token<'t>,
    /// Line of `token`.
    pub line: Line,
    pub nesting: u32,
    /// Bytes of initial values that variables may still take.
    pub init_bytes_left: u64,
    /// Bytes from one index to the next of the module's arrays, for each dimension.
    pub arrays: HashMap<String, Vec<u64>>,
}

impl<'t> Parser<'t> {
    pub(crate) fn new(text: &'t str) -> Parse<Self> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        let line = lexer.line;
        Ok(Self {
            lexer,
            token,
            line,
            nesting: 0,
            init_bytes_left: INIT_BYTES_MAX,
            arrays: HashMap::new(),
        })
    }

    pub(crate) fn advance(&mut self) -> Parse<()> {
        self.token = self.lexer.next()?;
        self.line = self.lexer.line;
        Ok(())
    }

    /// Steps over `punct` if it is next.
    pub(crate) fn take(&mut self, punct: u8) -> Parse<bool> {
        let found = self.token == Token::Punct(punct);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Steps over `.name` if it is next.
    pub(crate) fn take_dot(&mut self, name: &str) -> Parse<bool> {
        let found = self.token == Token::Dot(name);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(crate) fn expect(&mut self, punct: u8) -> Parse<()> {
        if self.take(punct)? {
            Ok(())
        } else {
            self.unexpected(&format!("`{}`", char::from(punct)))
        }
    }

    pub(crate) fn ident(&mut self) -> Parse<&'t str> {
        let Token::Ident(name) = self.token else {
            return self.unexpected("a name");
        };
        self.advance()?;
        Ok(name)
    }

    /// A plain unsigned number that fits 32 bits.
    pub(crate) fn number(&mut self) -> Parse<u32> {
        match self.token {
            Token::Integer(value) if value <= u64::from(u32::MAX) => {
                self.advance()?;
                Ok(value as u32)
            }
            _ => self.unexpected("a number of at most 32 bits"),
        }
    }

    /// `read` one level deeper; an error beyond [`NESTING_MAX`].
    pub(crate) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.nesting == NESTING_MAX {
            return self.fail(format!("nested deeper than {NESTING_MAX} levels"));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    pub(crate) fn fail<T>(&self, message: impl Into<String>) -> Parse<T> {
        Err(ParseError::new(self.line, message))
    }

    pub(crate) fn unexpected<T>(&self, wanted: &str) -> Parse<T> {
        self.fail(format!(
            "expected {wanted}, found {}",
            self.token.describe()
        ))
    }
}
