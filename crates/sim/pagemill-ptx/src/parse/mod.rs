//! PTX text to [`crate::ast`].
//!
//! One pass over the text, one token of look-ahead, no backtracking. Nesting is limited, and what a few bytes can
//! declare (`%r<4000000000>`, `.b8 x[99999999999]`) costs nothing until it is used, so hostile text stays cheap.

mod body;
mod expression;
mod function;
mod lexer;
mod module;
mod number;
mod operand;
mod scope;
mod special;
mod suggest;
mod variable;

#[cfg(test)]
mod tests;

use crate::PtxError;
use crate::ast::{Line, Module};
use lexer::{Lexer, Token};
use std::collections::HashMap;

/// Parses one PTX translation unit. `source_name` is only for messages.
///
/// # Errors
/// The first thing in `text` that is no PTX, or that names what is not declared.
pub fn parse(source_name: &str, text: &str) -> Result<Module, PtxError> {
    let parsed = Parser::new(text).and_then(Parser::module);
    parsed.map_err(|error| {
        let located = PtxError::new(source_name, error.line, error.message).with_text(text);
        PtxError {
            help: error.help,
            ..located
        }
    })
}

/// A [`PtxError`] that does not know yet what its text is called.
#[derive(Debug)]
struct ParseError {
    line: Line,
    message: String,
    help: Option<String>,
}

impl ParseError {
    fn new(line: Line, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
            help: None,
        }
    }

    fn with_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }
}

type Parse<T> = Result<T, ParseError>;

/// How deep parentheses, braces and scopes may nest.
const NESTING_MAX: u32 = 64;

/// The token at hand and what comes after it. Everything else is in the methods' arguments.
struct Parser<'t> {
    lexer: Lexer<'t>,
    token: Token<'t>,
    /// Line of `token`.
    line: Line,
    nesting: u32,
    /// Bytes of initial values that variables may still take.
    init_bytes_left: u64,
    /// Bytes from one index to the next of the module's arrays, for each dimension.
    arrays: HashMap<String, Vec<u64>>,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Parse<Self> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        let line = lexer.line;
        Ok(Self {
            lexer,
            token,
            line,
            nesting: 0,
            init_bytes_left: variable::INIT_BYTES_MAX,
            arrays: HashMap::new(),
        })
    }

    fn advance(&mut self) -> Parse<()> {
        self.token = self.lexer.next()?;
        self.line = self.lexer.line;
        Ok(())
    }

    /// Steps over `punct` if it is next.
    fn take(&mut self, punct: u8) -> Parse<bool> {
        let found = self.token == Token::Punct(punct);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Steps over `.name` if it is next.
    fn take_dot(&mut self, name: &str) -> Parse<bool> {
        let found = self.token == Token::Dot(name);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, punct: u8) -> Parse<()> {
        if self.take(punct)? {
            Ok(())
        } else {
            self.unexpected(&format!("`{}`", char::from(punct)))
        }
    }

    fn ident(&mut self) -> Parse<&'t str> {
        let Token::Ident(name) = self.token else {
            return self.unexpected("a name");
        };
        self.advance()?;
        Ok(name)
    }

    /// A plain unsigned number that fits 32 bits.
    fn number(&mut self) -> Parse<u32> {
        match self.token {
            Token::Integer(value) if value <= u64::from(u32::MAX) => {
                self.advance()?;
                Ok(value as u32)
            }
            _ => self.unexpected("a number of at most 32 bits"),
        }
    }

    /// `read` one level deeper; an error beyond [`NESTING_MAX`].
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.nesting == NESTING_MAX {
            return self.fail(format!("nested deeper than {NESTING_MAX} levels"));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    fn fail<T>(&self, message: impl Into<String>) -> Parse<T> {
        Err(ParseError::new(self.line, message))
    }

    fn unexpected<T>(&self, wanted: &str) -> Parse<T> {
        self.fail(format!(
            "expected {wanted}, found {}",
            self.token.describe()
        ))
    }
}
