//! Running programs under one of the libraries that replace a part of the C library.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use memchr::memmem;

use crate::failure::Failure;

/// The library that is `given`, else the one called `name` of this command.
pub fn find_library(given: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    if let Some(library) = given {
        if !library.is_file() {
            return Err(Failure::Usage(format!("there is no {}", library.display())));
        }
        // Programs that change their folder start others with it.
        return std::path::absolute(library)
            .map_err(|error| Failure::Usage(format!("{}: {error}", library.display())));
    }
    pagemill_linux::library::find(name)
        .map_err(|error| Failure::Run(format!("{error}, or name it with --library")))
}

/// Runtimes that know all of a program's memory, by a symbol of programs that are built with them.
const RUNTIMES: [(&[u8], &str); 4] = [
    (b"\0__tsan_init\0", "ThreadSanitizer"),
    (b"\0__msan_init\0", "MemorySanitizer"),
    (b"\0__hwasan_init\0", "HWAddressSanitizer"),
    (b"\0__lsan_init\0", "LeakSanitizer"),
];

/// Behind a file's headers, what starts it, if it is linked with musl; further on it is a text, as compilers have it.
const MUSL_LOADER: &[u8] = b"\0/lib/ld-musl-";

/// Bytes at the start of a program's file in which the names of its symbols are.
const NAMES_BYTES: u64 = 4 << 20;

/// Refuses a program whose runtime has to come before any library that replaces functions.
fn check_program(program: &OsStr) -> Result<(), Failure> {
    let path = Path::new(program);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut found = match path.components().count() {
        1 => std::env::split_paths(&folders)
            .map(|folder| folder.join(path))
            .collect(),
        _ => vec![path.to_owned()],
    };
    found.retain(|path| path.is_file());
    let mut bytes = Vec::new();
    if let Some(Ok(file)) = found.first().map(File::open) {
        // What cannot be read is the kernel's to refuse.
        let _ = file.take(NAMES_BYTES).read_to_end(&mut bytes);
    }
    let has = |name: &[u8]| memmem::find(&bytes, name).is_some();
    if memmem::find(&bytes, MUSL_LOADER).is_some_and(|at| at < 4096) {
        return Err(Failure::NoDevice(format!(
            "{} is built for musl, and the library that replaces memory for glibc: run it plainly, or build it for glibc",
            path.display()
        )));
    }
    let runtime = RUNTIMES.iter().find(|(name, _)| has(name));
    runtime.map_or(Ok(()), |(_, runtime)| {
        let program = path.display();
        Err(Failure::NoDevice(format!(
            "{program} is built with {runtime}, whose runtime has to come before any library that replaces memory: run it plainly, or \
             build it without"
        )))
    })
}

/// `command`, with `library` before whatever else is preloaded.
pub fn with_library(mut command: Command, library: PathBuf) -> Result<Command, Failure> {
    check_program(command.get_program())?;
    let mut preload = library.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    command.env("LD_PRELOAD", preload);
    Ok(command)
}
