//! Text to tokens, one at a time, without allocation.

use crate::tokens::error::ParseError;
use crate::tokens::number;
use crate::tokens::token::Token;
use pagemill_ptx_ir::ast::Line;

/// A position in PTX text.
#[derive(Clone)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// Line of the token read last.
    pub(crate) line: Line,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    /// The next token; [`Token::End`] again and again at the end.
    pub(crate) fn next(&mut self) -> Result<Token<'t>, ParseError> {
        self.skip_blanks()?;
        let bytes = self.text.as_bytes();
        let Some(&first) = bytes.get(self.at) else {
            return Ok(Token::End);
        };
        match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => Ok(Token::Ident(self.word(1))),
            b'%' if bytes.get(self.at + 1).copied().is_some_and(is_word) => {
                Ok(Token::Ident(self.word(1)))
            }
            b'.' if bytes.get(self.at + 1).copied().is_some_and(is_word) => {
                Ok(Token::Dot(self.dotted()))
            }
            b'0'..=b'9' => self.number(),
            b'"' => self.string(),
            _ => self.operator(first),
        }
    }

    /// Skips to behind the `}` that closes a `{` already read, without looking at what stands between.
    pub(crate) fn skip_braces(&mut self) -> Result<(), ParseError> {
        let start = self.line;
        let mut depth = 1u32;
        while depth > 0 {
            self.skip_blanks()?;
            let Some(&byte) = self.text.as_bytes().get(self.at) else {
                return Err(ParseError::new(start, "the `{` here is never closed"));
            };
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                b'"' => {
                    self.string()?;
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn skip_blanks(&mut self) -> Result<(), ParseError> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' => self.skip_line(),
                b'/' if bytes.get(self.at + 1) == Some(&b'/') => self.skip_line(),
                b'/' if bytes.get(self.at + 1) == Some(&b'*') => self.skip_block_comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(rest.len());
    }

    fn skip_block_comment(&mut self) -> Result<(), ParseError> {
        let Some(length) = self.text[self.at + 2..].find("*/") else {
            return Err(ParseError::new(
                self.line,
                "the comment that starts here is never closed",
            ));
        };
        let end = self.at + 2 + length + 2;
        self.line += self.text[self.at..end]
            .bytes()
            .filter(|&byte| byte == b'\n')
            .count() as Line;
        self.at = end;
        Ok(())
    }

    /// A word whose first `skip` bytes are already known to belong to it.
    fn word(&mut self, skip: usize) -> &'t str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + skip;
        while end < bytes.len() && is_word(bytes[end]) {
            end += 1;
        }
        self.at = end;
        &self.text[start..end]
    }

    /// What stands behind a dot, with any `::` parts.
    fn dotted(&mut self) -> &'t str {
        self.at += 1;
        let start = self.at;
        self.word(1);
        let bytes = self.text.as_bytes();
        while bytes[self.at..].starts_with(b"::")
            && bytes.get(self.at + 2).copied().is_some_and(is_word)
        {
            self.at += 2;
            self.word(1);
        }
        &self.text[start..self.at]
    }

    fn number(&mut self) -> Result<Token<'t>, ParseError> {
        let (token, length) = number::scan(&self.text[self.at..])
            .map_err(|message| ParseError::new(self.line, message))?;
        self.at += length;
        Ok(token)
    }

    fn string(&mut self) -> Result<Token<'t>, ParseError> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut end = start;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(b'\n') | None => {
                    return Err(ParseError::new(self.line, "this string is never closed"));
                }
                Some(_) => end += 1,
            }
        }
        self.at = end + 1;
        Ok(Token::Text(&self.text[start..end]))
    }

    fn operator(&mut self, first: u8) -> Result<Token<'t>, ParseError> {
        const DOUBLES: [&str; 8] = ["<<", ">>", "&&", "||", "==", "!=", "<=", ">="];
        let rest = &self.text.as_bytes()[self.at..];
        if let Some(double) = DOUBLES
            .iter()
            .find(|double| rest.starts_with(double.as_bytes()))
        {
            self.at += 2;
            return Ok(Token::Operator(double));
        }
        if b"+-*/%()[]{}<>,;:|&^~!?=@.".contains(&first) {
            self.at += 1;
            return Ok(Token::Punct(first));
        }
        let character = self.text[self.at..].chars().next().unwrap_or('\u{fffd}');
        Err(ParseError::new(
            self.line,
            format!("unexpected character {character:?}"),
        ))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

#[cfg(test)]
mod tests;
