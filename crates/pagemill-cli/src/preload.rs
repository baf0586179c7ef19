//! Running programs under one of the libraries that replace a part of the C library.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// The library that is `given`, else the one called `name` beside this program or in `../lib`.
pub fn find_library(given: Option<&Path>, name: &str, package: &str) -> Result<PathBuf, Failure> {
    if let Some(library) = given {
        if !library.is_file() {
            return Err(Failure::Usage(format!("there is no {}", library.display())));
        }
        return Ok(library.to_owned());
    }
    let own = std::env::current_exe()
        .map_err(|error| Failure::Run(format!("cannot find this program: {error}")))?;
    let folder = own.parent().unwrap_or(&own);
    [folder.join(name), folder.join("../lib").join(name)]
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| {
            Failure::Run(format!(
                "there is no {name} beside {}: cargo build -p {package}, or --library",
                own.display()
            ))
        })
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
