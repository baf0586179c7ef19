//! `pagemill advise`: which calls make a program faster, how to run it in less memory or on other pages, and how to place data.

mod arguments;
mod machines;
mod memory;
mod model;
mod on_gpu;
mod pattern;
mod program;
mod question;
mod simulate;
mod zero;

pub use arguments::AdviseArguments;

use crate::failure::Failure;
use arguments::Question;

/// Answers the question.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
    match &arguments.question {
        Question::Program(arguments) => program::advise(arguments),
        Question::Pattern(arguments) => pattern::advise(arguments),
        Question::Model(arguments) => model::advise(arguments),
        Question::Pager(arguments) => memory::advise(arguments),
        Question::Zero(arguments) => zero::advise(arguments),
    }
}
