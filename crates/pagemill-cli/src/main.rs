//! The command `pagemill`.
#![forbid(unsafe_code)]

mod args;
mod cuda;
mod doctor;
mod failure;
mod list;
mod output;
mod run;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command, TextFormat};

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Cuda(arguments) => cuda::cuda(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Doctor(arguments) => match arguments.format {
            TextFormat::Table => output::print_text(&doctor::table()),
            TextFormat::Json => output::print_json(&doctor::json()),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            failure.exit_code()
        }
    }
}
