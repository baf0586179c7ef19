//! `pagemill zero`: the pool of clean huge pages.

mod arguments;
pub mod bench;
mod kernel;
mod preload;
mod serve;
mod status;

pub use arguments::{BenchArguments, ZeroArguments};
pub use preload::LIBRARY;

use crate::failure::Failure;
use arguments::ZeroCommand;

/// Carries out one of its commands.
pub fn zero(arguments: &ZeroArguments) -> Result<(), Failure> {
    match &arguments.command {
        ZeroCommand::Serve(arguments) => serve::serve(arguments),
        ZeroCommand::Status(arguments) => status::status(arguments),
        ZeroCommand::Run(arguments) => preload::run(arguments),
    }
}
