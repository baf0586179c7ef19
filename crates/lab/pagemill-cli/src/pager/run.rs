use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use pagemill_linux::children::{self, AtKill};
use pagemill_linux::process::Usage;
use pagemill_linux::relay::Relay;
use pagemill_linux::userfault::{Feature, Support};
use pagemill_pager::{Announcement, Place, SETUP_VARIABLE, Setup};
use pagemill_report::{OutputDir, ResultSet};

use super::arguments::{RunArguments, WhenStoreFails};
use super::{counts, serve};
use crate::failure::Failure;
use crate::output;
use crate::preload::{find_library, with_library};
use crate::values;

/// From one look at a running program to the next.
const LOOK: Duration = Duration::from_secs(10);

const LIBRARY: &str = "libpagemill_pager_preload.so";

/// A program that has run under the pager.
pub struct Ran {
    /// How it ended.
    pub status: io::Result<ExitStatus>,
    /// What was counted.
    pub set: ResultSet,
}

/// Runs the program with its large memory paged.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let mut setup = setup(arguments)?;
    setup.config().map_err(usage)?;
    // A store that cannot be used is found out before the program starts.
    drop(setup.store().map_err(usage)?);
    check_kernel()?;
    if let Some(out) = &arguments.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    let library = library(arguments.library.as_deref())?;
    let is_to_stderr = arguments.format.is_some();
    let relay = Relay::new();
    let ran = ran(
        &mut setup,
        library,
        &arguments.program,
        is_to_stderr,
        Some(&relay),
    )?;
    drop(relay);
    let status = ran.status.map_err(|error| {
        let program = arguments.program[0].display();
        Failure::Run(format!("cannot run {program}: {error}"))
    })?;
    eprint!("{}", counts::summary(&ran.set));
    output::hand_over(arguments.out.as_deref(), &ran.set, || {
        arguments
            .format
            .map_or(Ok(()), |format| output::print_results(&ran.set, format))
    })?;
    let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// The library that pages a program's memory: `given`, or the one of this command.
pub fn library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    find_library(given, LIBRARY)
}

/// Runs a program as `setup` says, with its standard output `is_to_stderr` or as this process's. Where it is run for its user, with a
/// `relay` of signals, the user hears of a pager that costs more than it gains.
pub fn ran<P: AsRef<OsStr>>(
    setup: &mut Setup,
    library: PathBuf,
    program: &[P],
    is_to_stderr: bool,
    relay: Option<&Relay>,
) -> Result<Ran, Failure> {
    let Some((program, rest)) = program.split_first() else {
        return Err(Failure::Usage("no program to run".to_owned()));
    };
    let program = program.as_ref();
    let name = Path::new(program)
        .file_name()
        .unwrap_or(program)
        .to_string_lossy();
    let announced =
        Announcement::new(&name, setup).map_err(|error| Failure::Run(error.to_string()))?;
    let mut command = with_library(Command::new(program), library)?;
    command.args(rest).env(SETUP_VARIABLE, setup.to_json());
    if is_to_stderr {
        command.stdout(Stdio::from(io::stderr()));
    }
    let setup = &*setup;
    let (measured, is_warned) = std::thread::scope(|scope| {
        let (end, ended) = mpsc::channel();
        let watch = relay.map(|_| scope.spawn(|| warn(setup, &name, ended)));
        let measured = children::measure(&mut command, AtKill::Kill);
        drop(end);
        let watched = watch.and_then(|watch| watch.join().ok());
        (measured, watched.unwrap_or(false))
    });
    let is_ended = matches!(&measured, Ok((status, _)) if status.signal().is_some());
    if is_ended && relay.is_some_and(Relay::is_asked_to_end) {
        announced.end_processes();
    }
    let (status, usage) = match measured {
        Ok((status, usage)) => (Ok(status), usage),
        Err(error) => (Err(error), Usage::default()),
    };
    let set = counts::results(setup, &name, &usage);
    if let Some(warning) = counts::warning(&set).filter(|_| relay.is_some() && !is_warned) {
        eprintln!("{warning}");
    }
    Ok(Ran { status, set })
}

/// Warns while the program runs, once, if the pager costs more than it gains; returns whether it did.
fn warn(setup: &Setup, program: &str, ended: mpsc::Receiver<()>) -> bool {
    let begun = Instant::now();
    while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let usage = Usage {
            wall_ns: begun.elapsed().as_nanos() as u64,
            ..Usage::default()
        };
        if let Some(warning) = counts::warning(&counts::results(setup, program, &usage)) {
            eprintln!("{warning}");
            return true;
        }
    }
    false
}

fn setup(arguments: &RunArguments) -> Result<Setup, Failure> {
    let place = place(&arguments.to)?;
    if let Some(server) = Place::parse(&place).map_err(usage)?.server() {
        serve::check_network(server, &arguments.tenant)?;
    }
    let mut setup = Setup::new(arguments.memory, &place);
    setup.limit_bytes = arguments.limit.unwrap_or(u64::MAX);
    setup.page_bytes = arguments.page_size;
    setup.policy.clone_from(&arguments.policy);
    let gap = arguments.gap_threshold.unwrap_or(0);
    setup.gap_threshold_bytes = u32::try_from(gap).unwrap_or(u32::MAX);
    setup.growth.clone_from(&arguments.growth);
    setup.read_ahead.clone_from(&arguments.read_ahead);
    setup.eviction.clone_from(&arguments.eviction);
    setup.handlers = arguments.handlers;
    setup.record = arguments.record.as_deref().map(absolute).transpose()?;
    setup.waits_for_store = arguments.when_store_fails == WhenStoreFails::Wait;
    setup.verify = !arguments.no_verify;
    setup.least_bytes = arguments.least;
    setup.tenant.clone_from(&arguments.tenant.tenant);
    let token = arguments.tenant.token_file.as_deref();
    setup.token_file = token.map(std::path::absolute).transpose().map_err(usage)?;
    Ok(setup)
}

/// The program may change its folder before it has a fault.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    if path.exists() {
        let path = path.display();
        let text = format!("--record {path}: there is such a file; remove it, or name another");
        return Err(Failure::Usage(text));
    }
    let failed = |error| Failure::Usage(format!("--record {}: {error}", path.display()));
    std::path::absolute(path).map_err(failed)
}

/// As the setup has it: with a number of bytes in place of a size, and a folder that stays the same where the program changes its own.
fn place(text: &str) -> Result<String, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::Usage(format!("--to {text}: {why}"));
    if let Some((size, then)) = text
        .strip_prefix("compressed:")
        .and_then(|rest| rest.split_once(','))
    {
        let bytes = values::size(size).map_err(|why| failed(&why))?;
        return Ok(format!("compressed:{bytes},{}", place(then)?));
    }
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| failed(&error));
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok(format!("unix:{}", absolute(Path::new(path))?.display()));
    }
    match Place::parse(text).map_err(usage)? {
        Place::Folder(folder) => Ok(absolute(&folder)?.display().to_string()),
        _ => Ok(text.to_owned()),
    }
}

pub fn check_kernel() -> Result<(), Failure> {
    let found = Support::probe();
    if !found.is_some_and(|support| support.has(Feature::Move)) {
        return Err(Failure::NoDevice(
            "this kernel cannot move pages for a user's pager: Linux 6.8 or newer with CONFIG_USERFAULTFD is needed".to_owned(),
        ));
    }
    if !found.is_some_and(|support| support.system_calls) {
        return Err(Failure::NoDevice(
            "this user may not answer page faults of system calls: `sudo sysctl vm.unprivileged_userfaultfd=1`, or read and write \
             access to /dev/userfaultfd, allows it"
                .to_owned(),
        ));
    }
    Ok(())
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}
