//! Runs the command as a user does.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pagemill_linux::userfault::{Feature, Support};
use pagemill_testkit::skip;

/// The command in `folder`, without a terminal.
pub fn pagemill(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagemill"));
    command
        .current_dir(folder)
        .env_remove("NO_COLOR")
        // Jobs that start at once trip over each other in the folder that Open MPI makes for all of a user's.
        .env("OMPI_MCA_orte_tmpdir_base", folder);
    command
}

/// `options` on `machine`, whose figures a test states, unless they name one.
#[cfg(feature = "cuda")]
pub fn on<'a>(machine: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    match options.contains(&"--machine") {
        true => options.to_vec(),
        false => [options, &["--machine", machine]].concat(),
    }
}

/// Huge pages are one stock for the whole machine: one test at a time takes from it.
pub fn stock() -> MutexGuard<'static, ()> {
    static STOCK: Mutex<()> = Mutex::new(());
    STOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether programs can be paged here; counts a skip if not.
pub fn has_userfault() -> bool {
    let found = Support::probe();
    let is_there = found.is_some_and(|found| found.system_calls && found.has(Feature::Move));
    if !is_there {
        skip("there is no userfaultfd with UFFDIO_MOVE for this user");
    }
    is_there
}

/// Compiles the C program `source` into the file `name` of `folder`; counts a skip where there is no compiler.
pub fn compile(folder: &Path, name: &str, source: &str) -> bool {
    let file = format!("{name}.c");
    std::fs::write(folder.join(&file), source).expect("written");
    let compiled = Command::new("cc")
        // An allocation that is not used otherwise is one nevertheless.
        .args(["-O1", "-fno-builtin", "-o", name, &file])
        .current_dir(folder)
        .status();
    let Ok(compiled) = compiled else {
        skip("there is no C compiler");
        return false;
    };
    assert!(compiled.success(), "{file} does not compile");
    true
}

/// What a finished command left.
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the command with `arguments` in `folder`.
pub fn run_in(folder: &Path, arguments: &[&str]) -> Finished {
    let output = pagemill(folder)
        .args(arguments)
        .output()
        .expect("the command starts");
    Finished::from(output)
}

/// Runs the command with `arguments`.
pub fn run(arguments: &[&str]) -> Finished {
    run_in(&std::env::temp_dir(), arguments)
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Finished {
    /// Standard output of a command that has to succeed, and to say nothing else.
    pub fn result(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// Standard error of a command that has to end with `code` and without results.
    pub fn error(self, code: i32) -> String {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (Some(code), ""),
            "{}",
            self.stderr
        );
        self.stderr
    }
}

/// Names in a folder, hidden ones too, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}
