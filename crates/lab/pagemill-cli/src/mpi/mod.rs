//! `pagemill mpi`: real MPI programs over the simulated network interface.

mod arguments;
mod compute;
mod report;
mod results;
mod supervise;
mod timeline;

pub use arguments::MpiArguments;

use std::ffi::OsString;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use pagemill_fabric::board::StationView;
use pagemill_fabric::job::PATIENCE_DEFAULT as PATIENCE;
use pagemill_fabric::launch::{self, Behavior, Clocks, ComputeTime, Job};
use pagemill_linux::children::{self, AtKill};
use pagemill_nic::{NicMachine, NodeSpec};
use pagemill_report::{OutputDir, PageMap};
use pagemill_run::{result_set, terminal_view};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{Point, PointSpec, Scenario, load_text};
use pagemill_types::Picos;

use crate::failure::Failure;
use crate::output::{RunFormat, hand_over, print_results};
use crate::preload::find_library;
use arguments::Clock;
use supervise::{Stopped, wait_for_stopped};

/// Real time that processes wait for one that computes.
const COMPUTE_PATIENCE: Duration = Duration::from_secs(600);

/// Runs the command, once for each point of a sweep over the machine; its highest exit code is ours.
pub fn run(arguments: &MpiArguments) -> Result<ExitCode, Failure> {
    let scenario = scenario(arguments)?;
    if let Some(out) = &arguments.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    let library = find_library(None, launch::LIBRARY)?;
    let behavior = behavior(arguments)?;
    // The launcher ends its processes; the counters are still to be shown.
    let _ = ctrlc::set_handler(children::end_all);
    let (mut rows, mut maps, mut code) = (Vec::new(), Vec::new(), 0);
    for point in &scenario.points {
        let PointSpec::Mpi(spec) = &point.spec else {
            continue;
        };
        let machine = &spec.machine.spec;
        let job = Job::on_nodes(machine, node(arguments, machine)?, &library).map_err(failed)?;
        code = code.max(run_job(arguments, &job, &spec.machine.name, &behavior)?);
        rows.extend(results::rows(point, &job.stations()));
        maps.extend(table_maps(&job, point, scenario.points.len()));
    }
    let mut set = result_set(&scenario, rows.into_iter());
    set.maps = maps;
    hand_over(arguments.out.as_deref(), &set, || match arguments.format {
        Some(RunFormat::Table) => print_results(&terminal_view(&set, &scenario), RunFormat::Table),
        Some(format) => print_results(&set, format),
        None => Ok(()),
    })?;
    Ok(ExitCode::from(code))
}

/// The maps of the translation tables of a job that is one of `points`, where they are recorded.
fn table_maps(job: &Job, point: &Point, points: usize) -> Vec<PageMap> {
    let title = |rank: u32| match points {
        1 => format!("table of rank {rank}"),
        _ => format!("{point}, table of rank {rank}"),
    };
    let maps = job.table_maps().into_iter();
    let seen = maps.filter(|(_, data)| pagemill_run::has_changes(data));
    seen.map(|(rank, data)| PageMap {
        title: title(rank),
        data,
    })
    .collect()
}

/// The command line as a scenario, with a point for each value of a sweep.
fn scenario(arguments: &MpiArguments) -> Result<Scenario, Failure> {
    let is_of_machine = |set: &&String| set.trim_start().starts_with("machine.");
    if let Some(other) = arguments.sets.iter().find(|set| !is_of_machine(set)) {
        return Err(Failure::Usage(format!(
            "--set {other}: `pagemill mpi` sets values of the machine only, such as --set machine.att.page=\"2 MiB\""
        )));
    }
    // A JSON string is a TOML string.
    let string = |text: &str| serde_json::Value::from(text).to_string();
    let words: Vec<_> = (arguments.command.iter())
        .map(|word| word.to_string_lossy())
        .collect();
    let quoted: Vec<String> = words.iter().map(|word| string(word)).collect();
    let text = format!(
        "title = {}\nkind = \"mpi\"\nmachine = {}\n\n[program]\ncommand = [{}]\n",
        string(&words.join(" ")),
        string(&arguments.machine),
        quoted.join(", ")
    );
    let scenario = load_text(&SourceText::of_options("mpi", &text), &arguments.sets)?;
    let records = [
        ("--compute-out", arguments.compute_out.is_some()),
        ("--timeline", arguments.timeline.is_some()),
    ];
    if let (Some((option, _)), 2..) = (
        records.iter().find(|(_, is_set)| *is_set),
        scenario.points.len(),
    ) {
        return Err(Failure::Usage(format!(
            "{option} is the record of one run, and --set makes {} of them",
            scenario.points.len()
        )));
    }
    for point in &scenario.points {
        check_network(point)?;
    }
    Ok(scenario)
}

/// Which ranks share an interface of `machine`.
fn node(arguments: &MpiArguments, machine: &NicMachine) -> Result<NodeSpec, Failure> {
    let ranks = arguments.ranks_per_node;
    if ranks > machine.ports.count {
        return Err(Failure::Usage(format!(
            "--ranks-per-node {ranks}: an interface of machine {} has {} ports (ports.count), and each rank needs one",
            machine.name, machine.ports.count
        )));
    }
    Ok(NodeSpec {
        ranks,
        latency: Picos::from_nanos(arguments.node_latency_ns),
    })
}

/// Refuses machines with switches.
fn check_network(point: &Point) -> Result<(), Failure> {
    match &point.spec {
        PointSpec::Mpi(spec) if spec.machine.spec.network.is_some() => {
            Err(Failure::Usage(format!(
                "machine {} has a [network] of switches, which `pagemill mpi` does not simulate: remove the section (then `wire.hops` \
                 switches lie between any two nodes), or run a pattern of its messages with `pagemill run` (kind \"nic\")",
                spec.machine.name
            )))
        }
        _ => Ok(()),
    }
}

/// Runs the command as `job`; returns its exit code.
fn run_job(
    arguments: &MpiArguments,
    job: &Job,
    machine: &str,
    behavior: &Behavior,
) -> Result<u8, Failure> {
    let patience = behavior.patience.unwrap_or(PATIENCE);
    let (program, rest) = split(&arguments.command)?;
    let mut command = Command::new(program);
    command.args(rest);
    if arguments.format.is_some() {
        command.stdout(std::io::stderr());
    }
    job.prepare(&mut command, behavior);
    let (status, stopped) = run_supervised(&mut command, job, patience);
    let status = status.map_err(|error| {
        let program = program.to_string_lossy();
        Failure::Run(format!(
            "cannot start {program}: {error}; `sudo apt-get install openmpi-bin libfabric1` installs Open MPI's launcher"
        ))
    })?;
    let stations = job.stations();
    // A launcher that refuses to start has said why.
    if status.success() || !stations.is_empty() {
        print_summary(arguments, machine, behavior, &stations);
    }
    if let Some(Stopped { rank, process }) = stopped {
        return Err(Failure::Run(format!(
            "rank {rank} (process {process}) was stopped for {} s, and the job was ended: continue it earlier (`kill -CONT {process}`), \
             or set --patience",
            patience.as_secs()
        )));
    }
    if let (Some(path), true) = (&arguments.compute_out, status.success()) {
        compute::keep(job, path)?;
    }
    if let (Some(path), true) = (&arguments.timeline, status.success()) {
        timeline::keep(job, path)?;
    }
    Ok(children::exit_code(status))
}

/// Says on standard error what the user has to know of a run that is over.
fn print_summary(
    arguments: &MpiArguments,
    machine: &str,
    behavior: &Behavior,
    stations: &[StationView],
) {
    if stations.is_empty() {
        eprintln!(
            "warning: no process joined the simulated network, so every time shown is this computer's; the program has to use \
             Open MPI 4.1 or later with its component `mtl ofi` (see: ompi_info --param mtl ofi)"
        );
    } else if arguments.report {
        eprint!("{}", report::table(machine, stations));
    }
    let is_measured = matches!(behavior.compute, ComputeTime::Measured(_));
    for warning in report::warnings(stations, is_measured) {
        eprintln!("{warning}");
    }
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
        records_events: arguments.timeline.is_some(),
        records_tables: arguments.out.is_some(),
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
