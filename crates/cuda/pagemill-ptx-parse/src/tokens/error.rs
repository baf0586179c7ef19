//! What is wrong with a text, and at which line.

use pagemill_ptx_ir::ast::Line;

/// A [`PtxError`] that does not know yet what its text is called.
#[derive(Debug)]
pub(crate) struct ParseError {
    pub line: Line,
    pub message: String,
    pub help: Option<String>,
}

impl ParseError {
    pub(crate) fn new(line: Line, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn with_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }
}

pub(crate) type Parse<T> = Result<T, ParseError>;
