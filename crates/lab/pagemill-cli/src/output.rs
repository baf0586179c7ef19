//! Standard output, which carries results and nothing else, and the files of `--out`.

use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use pagemill_report::table::TableStyle;
use pagemill_report::{OutputDir, ResultSet, csv, json, table};

use crate::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    Table,
    Json,
    Csv,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    Table,
    Json,
}

/// Writes to standard output. A reader that has gone away, as `head` does, is no failure.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    written(write(&mut out).and_then(|()| out.flush()))
}

/// Writes help or a version that was asked for, in color where standard output is a terminal.
pub fn print_help(asked: &clap::Error) -> Result<(), Failure> {
    written(asked.print().and_then(|()| io::stdout().flush()))
}

fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::Run(format!(
            "cannot write to standard output: {error}"
        ))),
        Ok(()) => Ok(()),
    }
}

/// Writes text to standard output.
pub fn print_text(text: &str) -> Result<(), Failure> {
    print(|out| out.write_all(text.as_bytes()))
}

/// Writes a line about the run to standard error.
pub fn note(text: &str) {
    // A closed standard error leaves no place for a message.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes JSON to standard output, a line per element.
pub fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(|out| writeln!(out, "{value:#}"))
}

/// Writes results to standard output.
pub fn print_results(set: &ResultSet, format: RunFormat) -> Result<(), Failure> {
    match format {
        RunFormat::Table => print_text(&table::render(set, &TableStyle::for_stdout())),
        RunFormat::Json => print(|out| json::write(set, out)),
        RunFormat::Csv => print(|out| csv::write(set, out)),
    }
}

/// Writes a file that is whole or not there.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::Run(format!("cannot write {}: {error}", path.display()));
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    let mut out = io::BufWriter::new(&mut file);
    write(&mut out).and_then(|()| out.flush()).map_err(failed)?;
    drop(out);
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Refuses a file that cannot be made, before anything runs: its folder is not there, or it is a folder itself.
pub fn check_file(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => Err(Failure::Usage(format!(
            "cannot write {}: there is no folder {}; make it first",
            path.display(),
            folder.display()
        ))),
        _ if path.is_dir() => Err(Failure::Usage(format!(
            "cannot write {}: it is a folder; name a file in it",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses a directory for results that cannot be made, before anything runs.
pub fn check_out(out: Option<&Path>) -> Result<(), Failure> {
    out.map_or(Ok(()), OutputDir::check)
        .map_err(Failure::BadOutput)
}

/// Prints `set` by `print`, then replaces the directory `out` by its files. If one of the two fails, the other is done all the same:
/// what took hours to compute is not lost for want of a folder or a reader.
pub fn hand_over(
    out: Option<&Path>,
    set: &ResultSet,
    print: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let printed = print();
    if let Some(out) = out {
        let written = pagemill_run::write_results(out, set);
        written.map_err(|error| Failure::Run(error.to_string()))?;
    }
    printed
}
