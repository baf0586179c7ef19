//! `pagemill advise`: which calls make a program faster, or how to place the data of a pattern.

mod arguments;
mod machines;
mod model;
mod pattern;
mod program;
mod question;
mod simulate;

pub use arguments::AdviseArguments;

use crate::failure::Failure;

/// Answers the question.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
    match (&arguments.model, arguments.program.command.as_slice()) {
        (Some(path), _) => model::advise(arguments, path),
        (None, []) => pattern::advise(arguments),
        (None, _) => program::advise(arguments),
    }
}
