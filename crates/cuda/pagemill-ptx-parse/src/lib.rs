//! PTX text to [`pagemill_ptx_ir::ast`].
//!
//! One pass over the text, one token of look-ahead, no backtracking. Nesting is limited, and what a few bytes can
//! declare (`%r<4000000000>`, `.b8 x[99999999999]`) costs nothing until it is used, so hostile text stays cheap.

#![forbid(unsafe_code)]

mod declarations;
mod statements;
mod tokens;

#[cfg(test)]
mod tests;

use pagemill_ptx_ir::ast::Module;
use pagemill_ptx_ir::ast::error::PtxError;
use tokens::parser::Parser;

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
