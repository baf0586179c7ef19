//! Standard output, which carries results and nothing else.

use std::io::{self, Write};

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
