use std::fmt;
use std::io::IsTerminal;
use std::process::ExitCode;

use miette::{GraphicalReportHandler, GraphicalTheme};
use pagemill_report::OutputDirError;
use pagemill_scenario::{InputErrors, Problem};

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong; nothing was run and nothing was written.
    Input(InputErrors),
    /// The directory for the results cannot be used; nothing was run.
    BadOutput(OutputDirError),
    /// A run began and did not end well; no results were written.
    Run(String),
}

impl Failure {
    /// The exit code of the process.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Input(_) | Self::BadOutput(_) => ExitCode::from(2),
            Self::Run(_) => ExitCode::from(1),
        }
    }

    /// Tells the user, on standard error.
    pub fn report(&self) {
        let text = match self {
            Self::Input(errors) => errors.problems().iter().map(show).collect::<Vec<_>>().join("\n"),
            Self::BadOutput(error) => format!("Error: {error}"),
            Self::Run(message) => format!("Error: {message}"),
        };
        eprintln!("{}", text.trim_end());
    }
}

impl From<InputErrors> for Failure {
    fn from(errors: InputErrors) -> Self {
        Self::Input(errors)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(errors) => errors.fmt(f),
            Self::BadOutput(error) => error.fmt(f),
            Self::Run(message) => f.write_str(message),
        }
    }
}

/// A problem with the part of the file it is about.
fn show(problem: &Problem) -> String {
    let has_color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let theme = if has_color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100).with_context_lines(1);
    let mut text = String::new();
    match handler.render_report(&mut text, problem) {
        Ok(()) => text,
        Err(_) => problem.to_string(),
    }
}
