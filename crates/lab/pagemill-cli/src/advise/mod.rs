//! `pagemill advise`: which calls make a program faster, how to run it in less memory or on other pages, and how to place data.

mod arguments;
mod machines;
mod memory;
mod on_gpu;
mod pattern;
mod program;
mod question;
mod simulate;
mod zero;

pub use arguments::AdviseArguments;

use crate::failure::Failure;
use crate::shell::typed;
use arguments::Question;

/// Answers the question.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
    match &arguments.question {
        Question::Program(arguments) => program::advise(arguments),
        Question::Pattern(arguments) => pattern::advise(arguments),
        Question::Model(arguments) => Err(model(&arguments.words)),
        Question::Pager(arguments) => memory::advise(arguments),
        Question::Zero(arguments) => zero::advise(arguments),
    }
}

/// The line that sizes a model.
fn model(words: &[String]) -> Failure {
    let model = words.first().map_or("model.gguf", String::as_str);
    let mut options = words.iter().skip_while(|word| *word != "--machine");
    let machine = options.nth(1).map_or("rtx5090", String::as_str);
    Failure::Usage(format!(
        "language models are sized by an example in pagemill's sources, which needs two packages of Python:\n  \
         pip install gguf safetensors && python3 examples/model_size.py {} --machine {}",
        typed(model),
        typed(machine)
    ))
}
