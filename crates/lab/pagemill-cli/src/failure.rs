use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use pagemill_report::OutputDirError;
use pagemill_run::StoreError;
use pagemill_scenario::InputErrors;

/// What a shell reports for a process that Ctrl-C ended.
pub const INTERRUPTED: u8 = 130;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong; nothing was run and nothing was written.
    Input(InputErrors),
    /// The directory for the results cannot be used; nothing was run.
    BadOutput(OutputDirError),
    /// What was asked for cannot be done with these arguments or files; nothing was run.
    Usage(String),
    /// The real device that was asked for is not there.
    NoDevice(String),
    /// A run began and did not end well; no results were written.
    Run(String),
    /// Ctrl-C ended the run; what was done until then was shown.
    Interrupted(String),
    /// The user's own program ended with this code; its results were shown.
    Program(u8),
}

impl Failure {
    /// The exit code of the process.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Input(_) | Self::BadOutput(_) | Self::Usage(_) => ExitCode::from(2),
            Self::NoDevice(_) => ExitCode::from(3),
            Self::Run(_) => ExitCode::from(1),
            Self::Interrupted(_) => ExitCode::from(INTERRUPTED),
            Self::Program(code) => ExitCode::from(*code),
        }
    }

    /// Prints it for the user, on standard error.
    pub fn report(&self) {
        let text = match self {
            Self::Input(errors) => errors.render(has_color()),
            Self::BadOutput(error) => format!("error: {error}"),
            Self::Usage(message) | Self::NoDevice(message) | Self::Run(message) => {
                format!("error: {message}")
            }
            Self::Interrupted(message) => message.clone(),
            Self::Program(code) => format!("the program ended with exit code {code}"),
        };
        // A closed standard error leaves no place for a message.
        let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
    }
}

impl From<InputErrors> for Failure {
    fn from(errors: InputErrors) -> Self {
        Self::Input(errors)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Results(error) => Self::BadOutput(error),
            other => Self::Run(other.to_string()),
        }
    }
}

fn has_color() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !refused
}
