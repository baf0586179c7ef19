//! Where a program reads from and writes to.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::Stdout;

/// The standard streams of one run of a program; those of this process where nothing is said.
#[derive(Debug, Default)]
pub struct Streams {
    stdin: Option<Stdio>,
    stdout: Option<Stdio>,
    stderr: Option<Stdio>,
}

impl Streams {
    /// Those of the only run, or the last one, whose output the user sees.
    pub fn shown(stdout: Stdout) -> Self {
        Self {
            // Standard output is for results only.
            stdout: (stdout == Stdout::Results).then(|| Stdio::from(std::io::stderr())),
            ..Self::default()
        }
    }

    /// Those of a run that the user does not see. Standard input is read from its start if it is a file, and empty otherwise:
    /// what comes through a pipe comes once.
    pub fn hidden(stdout: Option<File>, stderr: File) -> Self {
        Self {
            stdin: Some(stdin_again()),
            stdout: Some(stdout.map_or_else(Stdio::null, Stdio::from)),
            stderr: Some(stderr.into()),
        }
    }

    pub(super) fn give_to(self, command: &mut Command) {
        if let Some(stdin) = self.stdin {
            command.stdin(stdin);
        }
        if let Some(stdout) = self.stdout {
            command.stdout(stdout);
        }
        if let Some(stderr) = self.stderr {
            command.stderr(stderr);
        }
    }
}

fn stdin_again() -> Stdio {
    let path = "/proc/self/fd/0";
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let again = is_file.then(|| File::open(path).ok()).flatten();
    again.map_or_else(Stdio::null, Stdio::from)
}
