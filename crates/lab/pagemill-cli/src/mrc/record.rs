//! What a program's heap refers to, recorded in the virtual machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pagemill_linux::scratch::Scratch;
use pagemill_vm::{Files, Machine, Outcome, Plugin, Provided, Suite, Test, Traced, Workshop};

use super::arguments::MrcArguments;
use super::program::Program;
use super::sources::{folder, sources};
use crate::failure::Failure;
use crate::preload::find_library;

const LIBRARY: &str = "libpagemill_color_preload.so";
const PAGE_BYTES: u64 = 4096;
const TEST: &str = "program";

/// The guest has memory at addresses below 4 GiB only, where the plugin knows whose it is.
const MEMORY_MIB_MAX: u64 = 3072;
const MEMORY_MIB_MIN: u64 = 256;

/// A trace, for as long as this lives.
pub struct Recording {
    /// The trace file.
    pub trace: PathBuf,
    _folder: Scratch,
}

/// Runs the program that is given in the virtual machine.
pub fn record(arguments: &MrcArguments) -> Result<Recording, Failure> {
    let program = Program::find(&arguments.program)?;
    let suite = suite(arguments)?;
    let library = find_library(None, LIBRARY)?;
    let workshop = Workshop {
        sources: sources()?,
        folder: folder()?,
        packages: None,
    };
    let kernel = match workshop.kernel().map_err(failed)? {
        Provided::Kernel(kernel) => kernel,
        Provided::Not(reason) => return Err(missing(&reason)),
    };
    if let Some(reason) = suite.cannot_run_on(&kernel.release) {
        return Err(missing(&reason));
    }
    let kept = Scratch::new_in(&workshop.folder, "mrc").map_err(failed)?;
    let work = kept.path();
    let files = files(arguments, &program, &library, work)?;
    let suite = with_output(suite, work);
    eprintln!("running {} in the virtual machine", program.shown());
    let booted = workshop.boot(&suite, &kernel, files, work, &mut |_| ());
    show_output(work);
    let report = booted.map_err(failed)?;
    if let Some(problem) = report.problem(suite.test.len()) {
        let limit = arguments.time_limit_s;
        return Err(Failure::Run(format!(
            "{problem} (--time-limit is {limit} s)\nthe end of the guest's console:\n{}",
            report.console
        )));
    }
    match report.outcome(TEST) {
        Outcome::Passed => Ok(Recording {
            trace: pagemill_vm::trace(work),
            _folder: kept,
        }),
        Outcome::Failed(reason) | Outcome::Skipped(reason) => Err(Failure::Run(format!(
            "{} did not end well in the virtual machine: {reason}",
            program.shown()
        ))),
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("cannot record the program: {error:#}"))
}

fn missing(reason: &str) -> Failure {
    Failure::NoDevice(format!(
        "a program is recorded in a virtual machine, and there is none: {reason}"
    ))
}

/// One boot of one CPU, with a module that has the colors of the cache.
fn suite(arguments: &MrcArguments) -> Result<Suite, Failure> {
    if arguments.page_bytes != PAGE_BYTES {
        return Err(Failure::Usage(format!(
            "--page is {} bytes, and pages of the virtual machine have {PAGE_BYTES}",
            arguments.page_bytes
        )));
    }
    let memory_mib = arguments.memory_bytes >> 20;
    if !(MEMORY_MIB_MIN..=MEMORY_MIB_MAX).contains(&memory_mib) {
        return Err(Failure::Usage(format!(
            "--memory is {memory_mib} MiB, and has to be from {MEMORY_MIB_MIN} to {MEMORY_MIB_MAX}"
        )));
    }
    let MrcArguments {
        cache_bytes,
        ways,
        line_bytes,
        ..
    } = arguments;
    let module = "pagemill_color";
    Ok(Suite {
        name: "mrc".to_owned(),
        modules: vec![module.to_owned()],
        programs: vec!["plugin_cache/guest/cache_count.c".into()],
        kernels: ["6.1", "6.12"].map(str::to_owned).to_vec(),
        setup: vec![format!(
            "insmod /modules/{module}.ko observe=1 cache_bytes={cache_bytes} ways={ways} line_bytes={line_bytes}"
        )],
        machine: Machine {
            memory_mib: memory_mib as u32,
            timeout_s: arguments.time_limit_s.into(),
            ..Machine::default()
        },
        plugin: Some(Plugin {
            source: "plugin_cache".into(),
            args: vec![
                format!("l1=32768:8,l2={cache_bytes}:{ways}"),
                format!("line={line_bytes}"),
            ],
            trace: Some(if arguments.all_references {
                Traced::References
            } else {
                Traced::FirstMisses
            }),
            curves: false,
        }),
        test: vec![Test {
            name: TEST.to_owned(),
            run: "sh /suite/program".to_owned(),
        }],
        ..Suite::default()
    })
}

/// A third serial port takes what the program writes.
fn with_output(mut suite: Suite, work: &Path) -> Suite {
    let file = format!("file:{}", output(work).display());
    suite.machine.qemu = vec!["-serial".to_owned(), file];
    suite
}

fn output(work: &Path) -> PathBuf {
    work.join("output")
}

fn show_output(work: &Path) {
    use std::io::Write;
    // A closed standard error leaves no place for a message; without a boot there is no output.
    if let Ok(bytes) = std::fs::read(output(work)) {
        let _ = std::io::stderr().write_all(&bytes);
    }
}

/// The program, its libraries, the files that its arguments name, and how it is run.
fn files(
    arguments: &MrcArguments,
    program: &Program,
    library: &Path,
    work: &Path,
) -> Result<Files, Failure> {
    let mut files = Files::default();
    let script = work.join("program.sh");
    std::fs::write(&script, program.script(arguments.stdin.is_some()))
        .map_err(|error| Failure::Run(format!("cannot write {}: {error}", script.display())))?;
    let mut add = |place: &str, file: &Path| files.add(place, file).map_err(failed);
    add("suite/program", &script)?;
    add(&format!("lib/{LIBRARY}"), library)?;
    if let Some(stdin) = &arguments.stdin {
        add("suite/stdin", &existing(stdin)?)?;
    }
    for path in program.files() {
        files.add_where_it_is(&path).map_err(failed)?;
    }
    for path in &arguments.with {
        files.add_where_it_is(&existing(path)?).map_err(failed)?;
    }
    Ok(files)
}

fn existing(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .ok()
        .filter(|path| path.exists())
        .ok_or_else(|| Failure::Usage(format!("there is no {}", path.display())))
}

/// The title of the results.
pub fn title(program: &[OsString]) -> String {
    let words: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
