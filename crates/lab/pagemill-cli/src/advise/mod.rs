//! `pagemill advise`: which calls make a program faster, how to run it in less memory or on other pages, and how to place data.

mod arguments;
mod machines;
mod memory;
mod model;
mod pattern;
mod program;
mod question;
mod simulate;
mod zero;

pub use arguments::AdviseArguments;

use std::path::Path;

use crate::failure::Failure;
use arguments::Question;

/// Answers the question.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
    match &arguments.question {
        Some(Question::Program(arguments)) => program::advise(arguments),
        Some(Question::Pattern(arguments)) => pattern::advise(arguments),
        Some(Question::Model(arguments)) => model::advise(arguments),
        Some(Question::Pager(arguments)) => memory::advise(arguments),
        Some(Question::Zero(arguments)) => zero::advise(arguments),
        None => Err(unnamed(&arguments.unnamed)),
    }
}

/// A question as it was asked before questions had names, with its name.
fn unnamed(words: &[String]) -> Failure {
    let own = words.split(|word| word == "--").next().unwrap_or_default();
    let has = |option: &str| {
        let value = format!("{option}=");
        own.iter()
            .position(|word| word == option || word.starts_with(&value))
    };
    let mut words = words.to_vec();
    let question = match (has("--pattern"), has("--memory")) {
        (Some(at), _) => {
            // The pattern is the first argument now.
            let option = words.remove(at);
            let pattern = match option.split_once('=') {
                Some((_, pattern)) => pattern.to_owned(),
                None if at < words.len() => words.remove(at),
                None => "PATTERN".to_owned(),
            };
            words.insert(0, pattern);
            "pattern"
        }
        (None, Some(_)) => "pager",
        (None, None) if own.iter().any(|word| is_model(word)) => "model",
        (None, None) => {
            // The `--` of a program without options was taken for the end of ours.
            if own.len() == words.len() {
                words.insert(0, "--".to_owned());
            }
            "program"
        }
    };
    Failure::renamed(&format!("advise {question}"), &words)
}

fn is_model(word: &str) -> bool {
    [".gguf", ".safetensors", ".json"]
        .iter()
        .any(|end| word.ends_with(end))
        || Path::new(word).is_dir()
}
