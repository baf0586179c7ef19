//! Running programs under one of the libraries that replace a part of the C library.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// The library that is `given`, else the one called `name` of this command, made by the crate `package`.
pub fn find_library(given: Option<&Path>, name: &str, package: &str) -> Result<PathBuf, Failure> {
    if let Some(library) = given {
        if !library.is_file() {
            return Err(Failure::Usage(format!("there is no {}", library.display())));
        }
        // Programs that change their folder start others with it.
        return std::path::absolute(library)
            .map_err(|error| Failure::Usage(format!("{}: {error}", library.display())));
    }
    pagemill_linux::library::find(name, package)
        .map_err(|error| Failure::Run(format!("{error}, or name it with --library")))
}

/// `command`, with `library` before whatever else is preloaded.
pub fn with_library(mut command: Command, library: PathBuf) -> Command {
    let mut preload = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    command.env("LD_PRELOAD", preload);
    command
}
