//! `pagemill mpi`: real MPI programs over the simulated network interface.

mod compute;
mod report;
mod supervise;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use pagemill_fabric::job::PATIENCE_DEFAULT as PATIENCE;
use pagemill_fabric::launch::{self, Behavior, Clocks, ComputeTime, Job};
use pagemill_linux::children::{self, AtKill};

use crate::args::{Clock, MpiArguments};
use crate::failure::Failure;
use crate::preload::find_library;

use supervise::{Stopped, wait_for_stopped};

/// Real time that processes wait for one that computes.
const COMPUTE_PATIENCE: Duration = Duration::from_secs(600);

/// Runs the command; its exit code is ours.
pub fn run(arguments: &MpiArguments) -> Result<ExitCode, Failure> {
    let machine = pagemill_scenario::load_nic_machine(&arguments.machine)?;
    if machine.spec.network.is_some() {
        return Err(Failure::Usage(format!(
            "machine {} has a [network] of switches, which `pagemill mpi` does not simulate: remove the section (then `wire.hops` \
             switches lie between any two nodes), or replay the program with `pagemill run` (`workload.name = \"goal\"`)",
            machine.name
        )));
    }
    let library = find_library(None, launch::LIBRARY, "pagemill-fabric")?;
    let job = Job::new(&machine.spec, &library).map_err(failed)?;
    let behavior = behavior(arguments)?;
    let patience = behavior.patience.unwrap_or(PATIENCE);
    let (program, rest) = split(&arguments.command)?;
    let mut command = Command::new(program);
    command.args(rest);
    job.prepare(&mut command, &behavior);
    // The launcher ends its processes; the counters are still to be shown.
    let _ = ctrlc::set_handler(children::end_all);
    let (status, stopped) = run_supervised(&mut command, &job, patience);
    let status = status.map_err(|error| {
        let program = program.to_string_lossy();
        Failure::Run(format!(
            "cannot start {program}: {error}; `sudo apt-get install openmpi-bin libfabric1` installs Open MPI's launcher"
        ))
    })?;
    let stations = job.stations();
    if stations.is_empty() {
        eprintln!(
            "warning: no process joined the simulated network, so every time shown is this computer's; the program has to use \
             Open MPI 4.1 or later with its component `mtl ofi` (see: ompi_info --param mtl ofi)"
        );
    } else if arguments.report {
        eprint!("{}", report::table(&machine.name, &stations));
    }
    let is_measured = matches!(behavior.compute, ComputeTime::Measured(_));
    for warning in report::warnings(&stations, is_measured) {
        eprintln!("{warning}");
    }
    if let Some(Stopped { rank, process }) = stopped {
        return Err(Failure::Run(format!(
            "rank {rank} (process {process}) was stopped for {} s, and the job was ended: continue it earlier (`kill -CONT {process}`), \
             or set --patience",
            patience.as_secs()
        )));
    }
    if let (Some(path), true) = (&arguments.compute_out, status.success()) {
        compute::keep(&job, path)?;
    }
    Ok(exit_code(status.code(), status.signal()))
}

fn behavior(arguments: &MpiArguments) -> Result<Behavior, Failure> {
    let compute = compute::time_of(arguments)?;
    let patience = arguments.patience_seconds.map(Duration::from_secs);
    // A rank that computes for long makes the others wait.
    let computes = compute != ComputeTime::None;
    Ok(Behavior {
        clocks: match arguments.clock {
            Clock::Mpi => Clocks::Mpi,
            Clock::Program => Clocks::Program,
        },
        compute,
        records_compute: arguments.compute_out.is_some(),
        patience: patience.or_else(|| computes.then_some(COMPUTE_PATIENCE)),
    })
}

/// Runs the launcher to its end, or until a process of the job has been stopped for too long.
fn run_supervised(
    command: &mut Command,
    job: &Job,
    patience: Duration,
) -> (std::io::Result<ExitStatus>, Option<Stopped>) {
    let (end, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        let supervisor = scope.spawn(move || {
            let stopped = wait_for_stopped(|| job.stations(), patience, &ended);
            if stopped.is_some() {
                children::end_all();
            }
            stopped
        });
        let status = children::run(command, AtKill::Terminate);
        drop(end);
        (status, supervisor.join().unwrap_or(None))
    })
}

fn split(command: &[OsString]) -> Result<(&OsString, &[OsString]), Failure> {
    command
        .split_first()
        .ok_or_else(|| Failure::Run("there is no command to run".to_owned()))
}

fn failed(error: launch::LaunchError) -> Failure {
    Failure::Run(error.to_string())
}

/// As a shell would tell it: 128 and the number of the signal.
fn exit_code(code: Option<i32>, signal: Option<i32>) -> ExitCode {
    let told = code.unwrap_or(128 + signal.unwrap_or(0));
    ExitCode::from(u8::try_from(told).unwrap_or(1))
}
