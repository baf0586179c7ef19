use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use super::arguments::PreloadArguments;
use crate::failure::Failure;

const LIBRARY: &str = "libpagemill_zero_preload.so";

/// Replaces this process by the program. Returns only if that fails.
pub fn run(arguments: &PreloadArguments) -> Result<(), Failure> {
    let library = match &arguments.library {
        Some(library) => library.clone(),
        None => find_library()?,
    };
    if !library.is_file() {
        return Err(Failure::Usage(format!("there is no {}", library.display())));
    }
    let Some((program, rest)) = arguments.program.split_first() else {
        return Err(Failure::Usage("no program to run".to_owned()));
    };
    let mut preload = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let socket = arguments
        .socket
        .clone()
        .unwrap_or_else(pagemill_zero_client::socket_path);
    let error = Command::new(program)
        .args(rest)
        .env("LD_PRELOAD", preload)
        .env(pagemill_zero_client::SOCKET_VARIABLE, socket)
        .exec();
    Err(Failure::Run(format!(
        "cannot run {}: {error}",
        program.display()
    )))
}

fn find_library() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::Run(format!("cannot find this program: {error}")))?;
    let folder = own.parent().unwrap_or(&own);
    [folder.join(LIBRARY), folder.join("../lib").join(LIBRARY)]
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| {
            Failure::Run(format!(
                "there is no {LIBRARY} beside {}: cargo build -p pagemill-zero-preload, or --library",
                own.display()
            ))
        })
}
