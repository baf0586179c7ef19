//! Running other programs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The `cargo` that runs us, in the workspace's root.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(crate::workspace::root());
    command
}

/// How a person would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Runs to the end; an exit code other than 0 is an error.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs to the end and returns what it wrote to stdout; an exit code other than 0 is an error that quotes stderr.
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

/// Runs to the end, showing stdout line by line and giving each line to `see`; tells whether the exit code was 0.
pub fn watch(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    command.stdout(Stdio::piped());
    let cannot = format!("cannot run `{}`", shown(command));
    let mut child = command.spawn().context(cannot.clone())?;
    let stdout = child.stdout.take().expect("stdout is piped");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = String::from_utf8_lossy(&line.context(cannot.clone())?).into_owned();
        println!("{line}");
        see(&line);
    }
    Ok(child.wait().context(cannot)?.success())
}

/// Whether `program arguments` can be started and exits with 0.
pub fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let quiet = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    quiet.is_ok_and(|output| output.status.success())
}
