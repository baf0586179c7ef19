use std::os::unix::process::CommandExt;
use std::process::Command;

use super::arguments::PreloadArguments;
use crate::failure::Failure;
use crate::preload::{find_library, with_library};

pub const LIBRARY: &str = "libpagemill_zero_preload.so";

/// Replaces this process by the program. Returns only if that fails.
pub fn run(arguments: &PreloadArguments) -> Result<(), Failure> {
    let given = arguments.library.as_deref();
    let library = find_library(given, LIBRARY)?;
    let Some((program, rest)) = arguments.program.split_first() else {
        return Err(Failure::Usage("no program to run".to_owned()));
    };
    let socket = arguments
        .socket
        .clone()
        .unwrap_or_else(pagemill_zero_client::socket_path);
    let error = with_library(Command::new(program), library)?
        .args(rest)
        .env(pagemill_zero_client::SOCKET_VARIABLE, socket)
        .env("PAGEMILL_ZERO_SOURCE", arguments.source.name())
        .exec();
    Err(Failure::Run(format!(
        "cannot run {}: {error}",
        program.display()
    )))
}
