//! `pagemill color`: cache colors for programs that run.

mod arguments;
mod backend;
mod hold;
pub mod probe;
mod run;
mod serve;
mod status;

pub use arguments::{ColorArguments, ProbeArguments};

use std::path::PathBuf;

use crate::failure::Failure;
use arguments::ColorCommand;

/// Carries out one of its commands.
pub fn color(arguments: &ColorArguments) -> Result<(), Failure> {
    match &arguments.command {
        ColorCommand::Run(arguments) => run::run(arguments),
        ColorCommand::Serve(arguments) => serve::serve(arguments),
        ColorCommand::Status(arguments) => status::status(arguments),
        ColorCommand::Hold(arguments) => hold::hold(arguments),
    }
}

/// The coordinator's socket: what the command line says, else the usual one.
fn socket(given: &Option<PathBuf>) -> PathBuf {
    given.clone().unwrap_or_else(pagemill_color::socket_path)
}
