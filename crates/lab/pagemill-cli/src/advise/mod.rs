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

use std::io::Write;
use std::path::Path;

use clap::Parser;

use crate::failure::{Failure, new_name};
use arguments::Question;

/// Answers the question.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
    match &arguments.question {
        Some(question) => answer(question),
        None => answer(&named(&arguments.unnamed)),
    }
}

fn answer(question: &Question) -> Result<(), Failure> {
    match question {
        Question::Program(arguments) => program::advise(arguments),
        Question::Pattern(arguments) => pattern::advise(arguments),
        Question::Model(arguments) => model::advise(arguments),
        Question::Pager(arguments) => memory::advise(arguments),
        Question::Zero(arguments) => zero::advise(arguments),
    }
}

#[derive(Parser)]
struct Named {
    #[command(subcommand)]
    question: Question,
}

/// The question of `words`, which lack its name. Prints the new spelling; words that are no question end the process.
fn named(words: &[String]) -> Question {
    let words = with_name(words);
    // A closed standard error leaves no place for a message.
    let _ = writeln!(std::io::stderr(), "{}", new_name("advise", &words));
    let all = std::iter::once("pagemill advise").chain(words.iter().map(String::as_str));
    Named::try_parse_from(all).map_or_else(|error| error.exit(), |named| named.question)
}

/// A question as it was asked before questions had names, with its name.
fn with_name(words: &[String]) -> Vec<String> {
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
    words.insert(0, question.to_owned());
    words
}

fn is_model(word: &str) -> bool {
    [".gguf", ".safetensors", ".json"]
        .iter()
        .any(|end| word.ends_with(end))
        || Path::new(word).is_dir()
}
