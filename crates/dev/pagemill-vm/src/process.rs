//! Running other programs.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// How a person would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Runs to the end; what it prints is progress, and goes to stderr.
///
/// # Errors
/// It cannot be started, or its exit code is not 0.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .stdout(io::stderr())
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs to the end and returns what it wrote to stdout.
///
/// # Errors
/// It cannot be started, or its exit code is not 0; then stderr is quoted.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed ({}):\n{}",
            shown(command),
            output.status,
            stderr.trim_end()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` wrote no UTF-8", shown(command)))
}

/// Whether `program arguments` can be started, and exits with 0.
pub fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let quiet = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    quiet.is_ok_and(|output| output.status.success())
}
