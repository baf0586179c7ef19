//! What lowering refuses, and at which line.

use crate::PtxError;
use crate::ast::Line;

/// A [`PtxError`] that does not know yet what its text is called.
#[derive(Debug)]
pub(crate) struct Fail {
    pub line: Line,
    pub message: String,
    pub help: Option<String>,
}

impl Fail {
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    pub(super) fn help_if_none(self, help: impl FnOnce() -> String) -> Self {
        match self.help {
            Some(_) => self,
            None => self.help(help()),
        }
    }

    /// The error with its place.
    pub(crate) fn locate(self, source_name: &str, text: &str) -> PtxError {
        let error = PtxError::new(source_name, self.line, self.message).with_text(text);
        PtxError {
            help: self.help,
            ..error
        }
    }
}

pub(super) fn fail(line: Line, message: impl Into<String>) -> Fail {
    Fail {
        line,
        message: message.into(),
        help: None,
    }
}
