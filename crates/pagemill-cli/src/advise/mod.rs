//! `pagemill advise`: which calls make a program faster, how to run it in less memory, or how to place the data of a pattern.

mod arguments;
mod machines;
mod memory;
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
        (None, _) if arguments.paging.memory_bytes.is_some() => memory::advise(arguments),
        (None, []) => pattern::advise(arguments),
        (None, _) => program::advise(arguments),
    }
}
