//! `pagemill pager`: runs programs with less memory than they use.

mod arguments;
mod counts;
pub mod probe;
pub mod run;
mod serve;
mod top;

pub use arguments::{PagerArguments, ProbeArguments};

use std::process::ExitCode;

use crate::failure::Failure;
use arguments::PagerCommand;

/// Carries out one of its commands; a program's exit code is that of `run`.
pub fn pager(arguments: &PagerArguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        PagerCommand::Run(arguments) => run::run(arguments),
        PagerCommand::Serve(arguments) => serve::serve(arguments).map(|()| ExitCode::SUCCESS),
        PagerCommand::Top(arguments) => top::top(arguments).map(|()| ExitCode::SUCCESS),
        PagerCommand::Status(arguments) => serve::status(arguments).map(|()| ExitCode::SUCCESS),
    }
}
