//! One run of a program with the library in front of the driver.

use std::fs::File;
use std::process::Command;

use pagemill_gpu::recording::{self, RECORD, Recording};
use pagemill_gpu::{FRONT_FOLDER, FRONT_MANAGED, FrontReport, HINTS_FILE, Hints};
use pagemill_linux::children::{self, AtKill};
use pagemill_linux::scratch::Scratch;
use pagemill_report::ResultSet;
use pagemill_report::table::{TableStyle, render};

use super::arguments::ShownArguments;
use super::bench::failure;
use crate::failure::Failure;
use crate::output::{RunFormat, hand_over, note, print_results};
use crate::preload::{find_library, with_library};

const LIBRARY: &str = "libpagemill_gpu_front.so";

/// Where the program's output goes.
#[derive(Debug)]
pub enum Watched {
    /// Where the user sees it.
    Shown,
    /// Standard output to standard error: standard output is for results.
    OnStandardError,
    /// Into this file, to be compared.
    In(File),
}

impl Watched {
    /// Beside results in a form, if there is one.
    pub fn beside(format: Option<RunFormat>) -> Self {
        match format {
            Some(_) => Self::OnStandardError,
            None => Self::Shown,
        }
    }
}

/// Shows results: standard output is theirs in a form that was asked for, else the program's.
pub fn show(shown: &ShownArguments, set: &ResultSet) -> Result<(), Failure> {
    hand_over(shown.out.as_deref(), set, || match shown.format {
        Some(format) => print_results(set, format),
        None => {
            note(render(set, &TableStyle::for_stderr()).trim_end());
            Ok(())
        }
    })
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    /// As a shell says it: 128 plus the signal if one ended it.
    pub exit_code: u8,
    /// One for each process that used the driver and came to its end.
    pub reports: Vec<FrontReport>,
}

/// Runs `command` on the GPU with `hints`; `managed`: with managed memory where it asks for memory of the GPU.
///
/// # Errors
/// There is no GPU, or the program cannot be started.
pub fn run_in_front(
    command: &[String],
    hints: Option<&Hints>,
    managed: bool,
    watched: Watched,
) -> Result<Ran, Failure> {
    let folder = folder()?;
    if let Some(hints) = hints {
        let text = hints.text().map_err(Failure::Run)?;
        std::fs::write(folder.path().join(HINTS_FILE), text).map_err(failed)?;
    }
    let variables: &[_] = if managed {
        &[(FRONT_MANAGED, "1")]
    } else {
        &[]
    };
    run(command, &folder, variables, watched)
}

/// Runs `command` on the GPU as it is; answers with what CUPTI recorded of each process as well.
///
/// # Errors
/// As [`run_in_front`].
pub fn recorded_in_front(
    command: &[String],
    watched: Watched,
) -> Result<(Ran, Vec<(u32, Recording)>), Failure> {
    let folder = folder()?;
    let ran = run(command, &folder, &[(RECORD, "1")], watched)?;
    let recordings = recording::read_all(folder.path()).map_err(Failure::Run)?;
    Ok((ran, recordings))
}

fn failed(error: std::io::Error) -> Failure {
    Failure::Run(error.to_string())
}

/// A folder for what goes to and fro, where there is a GPU.
fn folder() -> Result<Scratch, Failure> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Failure::NoDevice(
            "pagemill gpu puts a library in front of the driver that is made for x86-64 alone"
                .to_owned(),
        ));
    }
    pagemill_gpu::probe().map_err(failure)?;
    Scratch::new("gpu").map_err(|error| Failure::Run(error.to_string()))
}

fn run(
    command: &[String],
    folder: &Scratch,
    variables: &[(&str, &str)],
    watched: Watched,
) -> Result<Ran, Failure> {
    let library = find_library(None, LIBRARY)?;
    let mut child = with_library(Command::new(&command[0]), library)?;
    child
        .args(&command[1..])
        .env(FRONT_FOLDER, folder.path())
        .envs(variables.iter().copied());
    match watched {
        Watched::Shown => {}
        Watched::OnStandardError => {
            child.stdout(std::io::stderr());
        }
        Watched::In(file) => {
            child.stdout(file);
        }
    }
    let status = children::run(&mut child, AtKill::Kill)
        .map_err(|error| Failure::Usage(format!("cannot start {}: {error}", command[0])))?;
    let reports = FrontReport::read_all(folder.path()).map_err(Failure::Run)?;
    Ok(Ran {
        exit_code: children::exit_code(status),
        reports,
    })
}
