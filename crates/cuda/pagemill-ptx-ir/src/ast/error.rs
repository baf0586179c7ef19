//! What is wrong with a PTX text, and where.

use super::Line;
use std::fmt;

/// A PTX text that cannot be loaded: a syntax error, an unknown name, or an instruction that is not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PtxError {
    /// What the text was called by the caller, usually its file name.
    pub source_name: String,
    /// Line of the text, from 1; 0 when no single line is to blame.
    pub line: Line,
    /// What was found and what was wanted.
    pub message: String,
    /// What to do about it, when that is known.
    pub help: Option<String>,
    /// The line itself, trimmed and shortened, when the text was at hand.
    pub source_line: Option<String>,
}

/// Longest piece of the offending line that a message repeats, in characters.
const SOURCE_LINE_CHARS: usize = 160;

impl PtxError {
    /// An error at `line` of the text called `source_name`.
    pub fn new(source_name: &str, line: Line, message: impl Into<String>) -> Self {
        Self {
            source_name: source_name.to_owned(),
            line,
            message: message.into(),
            help: None,
            source_line: None,
        }
    }

    /// The same error with a next step for the reader.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// The same error showing its line of `text`.
    #[must_use]
    pub fn with_text(self, text: &str) -> Self {
        let index = (self.line as usize).checked_sub(1);
        let found = index
            .and_then(|index| text.lines().nth(index))
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let source_line = found.map(|line| line.chars().take(SOURCE_LINE_CHARS).collect());
        Self {
            source_line,
            ..self
        }
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.source_name, self.message)?,
            line => write!(f, "{}:{line}: {}", self.source_name, self.message)?,
        }
        if let Some(source_line) = &self.source_line {
            write!(f, "\n    {source_line}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
