//! What lowering refuses, and at which line.

use pagemill_ptx_ir::ast::Line;
use pagemill_ptx_ir::ast::error::PtxError;

/// A [`PtxError`] that does not know yet what its text is called.
#[derive(Debug)]
pub struct Fail {
    pub(crate) line: Line,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Fail {
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    pub(crate) fn help_if_none(self, help: impl FnOnce() -> String) -> Self {
        match self.help {
            Some(_) => self,
            None => self.help(help()),
        }
    }

    /// The error with its place.
    pub fn locate(self, source_name: &str, text: &str) -> PtxError {
        let error = PtxError::new(source_name, self.line, self.message).with_text(text);
        PtxError {
            help: self.help,
            ..error
        }
    }
}

pub(crate) fn fail(line: Line, message: impl Into<String>) -> Fail {
    Fail {
        line,
        message: message.into(),
        help: None,
    }
}
