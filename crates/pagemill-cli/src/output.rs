//! Standard output, which carries results and nothing else, and the files of `--out`.

use std::io::{self, Write};
use std::path::Path;

use pagemill_report::table::TableStyle;
use pagemill_report::{OutputDir, OutputDirError, ResultSet, csv, html, json, table};

use crate::args::RunFormat;
use crate::failure::Failure;

/// Writes to standard output. A reader that has gone away, as `head` does, is no failure.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
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

/// Replaces the directory `out` by the files of `set`.
pub fn write_results(out: &Path, set: &ResultSet) -> Result<(), Failure> {
    let written = stage_results(out, set).and_then(OutputDir::commit);
    written.map_err(|error| Failure::Run(error.to_string()))
}

/// The files of `set`, to which others may be added before they replace the directory `out`.
pub fn stage_results(out: &Path, set: &ResultSet) -> Result<OutputDir, OutputDirError> {
    let mut files = OutputDir::stage(out)?;
    files.write("results.json", |file| json::write(set, file))?;
    files.write("results.csv", |file| csv::write(set, file))?;
    files.write("report.html", |file| html::write(set, file))?;
    Ok(files)
}
