//! What a program refers to, recorded as QEMU's user mode runs it.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pagemill_linux::children::{self, AtKill, exit_code};
use pagemill_linux::library::emulator;
use pagemill_linux::scratch::Scratch;

use super::arguments::MrcArguments;
use super::program::find_program;
use super::sources::sources;
use crate::failure::Failure;

/// A trace, for as long as this lives.
pub struct Recording {
    /// The trace file.
    pub trace: PathBuf,
    _folder: Scratch,
}

/// Runs the program that is given in the emulator, whose plugin records it.
pub fn record(arguments: &MrcArguments) -> Result<Recording, Failure> {
    let program = find_program(&arguments.program)?;
    let input = match &arguments.stdin {
        Some(file) => File::open(file)
            .map(Stdio::from)
            .map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?,
        None => Stdio::null(),
    };
    let emulator = emulator("recording a program").map_err(Failure::NoDevice)?;
    let folder = Scratch::new("mrc").map_err(failed)?;
    let plugin = build(&sources()?, folder.path())?;
    let trace = folder.path().join("references.pmtrace");
    let mut command = Command::new(emulator);
    command
        .arg("-plugin")
        .arg(plugin_with_options(arguments, &plugin, &trace))
        .arg(&program)
        .args(&arguments.program[1..])
        .stdin(input)
        .stdout(std::io::stderr());
    let status = children::run(&mut command, AtKill::Kill).map_err(failed)?;
    if !status.success() {
        return Err(Failure::Run(format!(
            "{} ended with exit code {} while it was recorded",
            program.display(),
            exit_code(status)
        )));
    }
    Ok(Recording {
        trace,
        _folder: folder,
    })
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("cannot record the program: {error:#}"))
}

fn plugin_with_options(arguments: &MrcArguments, plugin: &Path, trace: &Path) -> OsString {
    let key = match arguments.all_references {
        true => "trace",
        false => "trace_misses",
    };
    let mut option = plugin.as_os_str().to_owned();
    option.push(format!(
        ",out=/dev/null,line={},{key}=",
        arguments.line_bytes
    ));
    option.push(trace);
    option
}

/// Compiles the plugin: QEMU takes no library of another license than its own, so it is no part of this program.
fn build(kmod: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let plugin = folder.join("plugin_cache.so");
    let source = kmod.join("plugin_cache");
    let output = Command::new("gcc")
        .args(["-std=gnu11", "-O2", "-shared", "-fPIC"])
        .arg("-fvisibility=hidden")
        .arg("-I")
        .arg(kmod.join("uapi"))
        .arg("-o")
        .arg(&plugin)
        .args(["core.c", "plugin.c", "trace.c"].map(|name| source.join(name)))
        .output()
        .map_err(|error| {
            Failure::NoDevice(format!(
                "recording a program needs gcc, which does not start ({error}): sudo apt-get install gcc libc6-dev"
            ))
        })?;
    if output.status.success() {
        return Ok(plugin);
    }
    Err(Failure::Run(format!(
        "cannot compile {}: {}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    )))
}

/// The title of the results.
pub fn title(program: &[OsString]) -> String {
    let words: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
